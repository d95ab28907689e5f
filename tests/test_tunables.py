"""Parameters that a source declares: read, restricted, put in."""

import re

import pytest

from hone.tunables import BadDeclarationError, declared, evaluate, with_first_values

SOURCE = """// A kernel.
// tune: BLOCK in 64, 128, 256
// tune: VEC in 1, 2, 4
// where: BLOCK * VEC <= 256
// where: VEC > 1 || BLOCK == 64
// threads: BLOCK
// shared: BLOCK * VEC * 4
#include <cstdint>
// where: this is a comment of the code
extern "C" void launch(float* x) { x[0] = BLOCK * VEC; }
"""


def test_points_are_those_that_all_conditions_allow():
    space = declared(SOURCE)
    assert [tuple(point.values()) for point in space.points] == [(64, 1), (64, 2), (64, 4), (128, 2)]
    assert space.first == space.points[0]
    assert (space.threads, space.shared) == ("BLOCK", "BLOCK * VEC * 4")


def test_values_become_defines_and_every_other_line_stays():
    space = declared(SOURCE)
    made = space.at({"BLOCK": 128, "VEC": 2}).split("\n")
    before = SOURCE.split("\n")
    assert made[1].startswith("#define BLOCK 128 ")
    assert made[2].startswith("#define VEC 2 ")
    assert [line for number, line in enumerate(made) if number not in (1, 2)] == [*before[:1], *before[3:]]
    assert declared("\n".join(made)) is None
    assert with_first_values(SOURCE) == space.at(space.first)


@pytest.mark.parametrize("source", ["", "int x;\n", "// tuned: a\n// where: b\nint x;\n", "int x; // tune: A in 1\n"])
def test_a_source_without_parameters_is_itself(source):
    assert declared(source) is None
    assert with_first_values(source) == source


def test_a_condition_may_exclude_the_first_values():
    assert declared("// tune: A in 1, 2\n// where: A % 2 == 0\n").first == {"A": 2}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("A + 2 * B", 12), ("-A", -4), ("B / 3", 1), ("A % 3", 1), ("1 < A < 5", 1), ("A != 4 || !(B == 4)", 0),
        ("A == 4 && B == 4", 1), ("!A", 0), ("(A + B) * 2", 16),
    ],
)  # fmt: skip
def test_expressions_are_those_of_c(expression, value):
    assert evaluate(expression, {"A": 4, "B": 4}) == value


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("// tune: A\n", "line 1: `tune: A` is not of the form"),
        ("// tune: A in 1, x\n", "line 1"),
        ("// tune: A in 1\n// tune: A in 2\n", "A is declared twice"),
        ("// tune: A in 1\n// where: B > 1\n", "B is no parameter; there are A"),
        ("// tune: A in 1\n// where: A >\n", "is no expression"),
        ("// tune: A in 1\n// where: A > 1\n", "no choice of values"),
        ("// tune: A in 0, 1\n// where: 4 / A > 1\n", "divides by 0"),
        ("// tune: A in 1\n// where: __import__('os')\n", "are allowed"),
        ("// tune: A in 1\n// where: A ** 9999999\n", "are allowed"),
        ("// tune: A in 1\n// where: A.real\n", "are allowed"),
        ("// tune: A in 1\n// threads: A\n// threads: A\n", "`threads:` is there 2 times"),
        ("\n".join(f"// tune: P{n} in {','.join(map(str, range(20)))}" for n in range(5)), "are more than"),
    ],
)
def test_a_declaration_that_cannot_be_read_says_why(source, words):
    with pytest.raises(BadDeclarationError, match=re.escape(words)):
        declared(source)

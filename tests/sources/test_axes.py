"""Formulas of axes: known sizes, and what is said about texts that are none."""

import pytest

from hone.sources.axes import FormulaError, multiple, names_in, size_of


@pytest.mark.parametrize(
    ("formula", "sizes", "expected"),
    [
        ("2 * hidden", {"hidden": 7}, 14),
        ("hidden / 128", {"hidden": 384}, 3),
        ("(tokens + 63) // 64", {"tokens": 65}, 2),
        ("tokens * k + experts * 15 - 1", {"tokens": 3, "k": 2, "experts": 4}, 65),
    ],
)
def test_sizes(formula, sizes, expected):
    assert size_of(formula, sizes) == expected
    assert names_in(formula) == set(sizes)


@pytest.mark.parametrize("formula", ["2 *", "hidden ** 2", "abs(x)", "x.real", "1.5 * x", "[x]", "x if y else z", ""])
def test_what_is_no_formula(formula):
    with pytest.raises(FormulaError, match="is no formula"):
        names_in(formula)


@pytest.mark.parametrize(
    ("formula", "said"),
    [("x / 3", "x / 3 is not whole"), ("x - 9", "is -1 at x = 8"), ("x // 0", "at x = 8"), ("x * y", "y is not known")],
)
def test_sizes_that_it_does_not_give(formula, said):
    with pytest.raises(FormulaError, match=said.replace("/", "[/]")):
        size_of(formula, {"x": 8})


def test_multiples_of_one_axis():
    assert multiple("2 * hidden") == (2, "hidden")
    assert multiple("hidden / 2") is None

"""The testing role's answer is checked entry by entry, and never decides anything by being wrong."""

import json

import pytest

from hone.methods.astra.suite import MOST_WORKLOADS, BadEntryError, Limits, make_suite
from hone.records import Definition, Tolerance
from tests.methods.astra.conftest import workload

VISIBLE = [
    workload(4, 8), workload(100, 64),
    workload(16, 32, "float16").model_copy(update={"tolerance": Tolerance(atol=0.01, rtol=0.02)}),
]  # fmt: skip


def fenced(value):
    return f"I choose these.\n\n```json\n{value if isinstance(value, str) else json.dumps(value)}\n```\n"


def entry(rows, columns, dtype="float32", **more):
    return {"axes": {"rows": rows, "columns": columns}, "dtype": dtype, **more}


def test_good_entries_become_workloads_with_the_tolerance_of_their_type(kernel):
    suite, found = make_suite(kernel, VISIBLE, fenced([entry(7, 9), entry(50, 33, "float16")]))
    assert (suite.origin, suite.problems) == ("answer", ())
    assert [item.name for item in found] == ["rows7_columns9_float32", "rows50_columns33_float16"]
    assert found[1].tolerance == VISIBLE[2].tolerance
    assert suite.workloads == tuple(item.id for item in found)


def test_a_visible_workload_is_itself(kernel):
    _, found = make_suite(kernel, VISIBLE, fenced([entry(100, 64)]))
    assert found == [VISIBLE[1]]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (entry(7, 9, "float64"), "dtype 'float64' is none of float16, float32"),
        (entry(7, 9, ["float32"]), "dtype"),
        ({"axes": {"rows": 7}, "dtype": "float32"}, "the size of columns is missing"),
        ({"axes": {"rows": 7, "columns": 9, "depth": 2}, "dtype": "float32"}, "'depth' is no axis"),
        (entry(0, 9), "whole number"),
        (entry(True, 9), "whole number"),
        (entry(7.0, 9), "whole number"),
        (entry(10**400, 9), "whole number"),
        (entry(7, 9, tolerance=1), "not of the form"),
        (entry(101, 64 * 2), "more than"),
        ([7, 9], "not of the form"),
        (None, "not of the form"),
    ],
)
def test_a_bad_entry_is_left_out_and_named(kernel, bad, words):
    suite, found = make_suite(kernel, VISIBLE, fenced([bad, entry(7, 9)]))
    assert [item.axes for item in found] == [{"rows": 7, "columns": 9}]
    (problem,) = suite.problems
    assert problem.startswith("entry 1: ")
    assert words in problem


def test_equal_entries_count_once_and_there_are_at_most_so_many(kernel):
    entries = [entry(7, 9), entry(7, 9), *(entry(rows, 8) for rows in range(1, 12))]
    suite, found = make_suite(kernel, VISIBLE, fenced(entries))
    assert len(found) == MOST_WORKLOADS == len({item.id for item in found})
    assert any("is there already" in problem for problem in suite.problems)
    assert any("at most" in problem for problem in suite.problems)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Large ones, I should think.",
        fenced("{"),
        fenced("[]"),
        fenced({"axes": {}}),
        fenced("[1]"),
        fenced("[" * 5000),
    ],
)
def test_an_unusable_answer_falls_back_to_the_visible_workloads(kernel, answer):
    suite, found = make_suite(kernel, VISIBLE, answer)
    assert suite.origin == "visible_workloads"
    assert found == VISIBLE
    assert suite.problems


def test_the_first_list_counts_whatever_stands_around_it(kernel):
    answer = "```\nnot json\n```\n" + fenced({"a": 1}) + fenced([entry(7, 9)]) + fenced([entry(8, 9)])
    assert [item.axes["rows"] for item in make_suite(kernel, VISIBLE, answer)[1]] == [7]


def wide(kernel, *sizes):
    """The kernel with axes tokens, half, full = 2 * half, and lanes = 4, and visible workloads of (tokens, half)."""
    axes = {"tokens": 4, "full": 16, "half": 8, "lanes": 4}
    shape = {"shape": ("tokens", "full"), "dtype": "float32"}
    changes = {
        "axes": axes,
        "inputs": [{"name": "x", **shape}],
        "outputs": [{"name": "out", **shape}],
        "parameters": [],
    }
    made = Definition.model_validate({**kernel.model_dump(), **changes})
    visible = [
        workload(1, 1).model_copy(update={"axes": {"tokens": tokens, "full": 2 * half, "half": half, "lanes": 4}})
        for tokens, half in sizes
    ]
    return made, visible


def test_sizes_that_follow_others_may_be_left_out_but_not_wrong(kernel):
    made, visible = wide(kernel, (4, 8), (100, 24), (7, 64))
    limits = Limits(made, visible)
    assert (limits.free, limits.fixed, limits.multiples) == (["tokens", "half"], {"lanes": 4}, {"full": (2, "half")})
    entries = [{"axes": {"tokens": 5, "half": 9}}, {"axes": {"tokens": 5, "half": 9, "full": 17}}]
    suite, found = make_suite(made, visible, fenced(entries))
    assert [item.axes for item in found] == [{"tokens": 5, "full": 18, "half": 9, "lanes": 4}]
    assert suite.problems == ("entry 2: full = 17, but it must be 18 here",)


def test_one_visible_workload_tells_nothing_of_the_others(kernel):
    made, visible = wide(kernel, (4, 8))
    assert Limits(made, visible).free == list(made.axes)


def limits_of(kernel, sizes, formula):
    """Of a kernel whose `columns` have a formula, with visible workloads of these (rows, columns)."""
    changed = kernel.model_copy(update={"formulas": {"columns": formula}})
    return Limits(changed, [workload(rows, columns) for rows, columns in sizes])


@pytest.mark.parametrize("sizes", [[(512, 4)], [(256, 2), (1024, 8)]], ids=["one example", "two examples"])
def test_an_axis_with_a_formula_follows_and_is_never_asked_for(kernel, sizes):
    limits = limits_of(kernel, sizes, "rows / 128")
    assert (limits.free, limits.rules, limits.multiples) == (["rows"], {"columns": "rows / 128"}, {})
    assert limits.workload({"axes": {"rows": 384}}).axes == {"rows": 384, "columns": 3}
    with pytest.raises(BadEntryError, match="rows / 128 is not whole"):
        limits.workload({"axes": {"rows": 200}})
    with pytest.raises(BadEntryError, match="columns = 4, but it must be 3"):
        limits.workload({"axes": {"rows": 384, "columns": 4}})


def test_a_formula_that_is_a_multiple_is_said_like_one(kernel):
    limits = limits_of(kernel, [(4, 8)], "2 * rows")
    assert (limits.free, limits.rules, limits.multiples) == (["rows"], {}, {"columns": (2, "rows")})

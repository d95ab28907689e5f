"""`hone compare`: two runs, problem by problem."""

import math

import pytest
from rich.console import Console

from hone.core.errors import RecordError
from hone.records import Status
from hone.tables.run_comparison import compare_answers, compare_trainings, comparison

from .world import World, definition, settings_for

PROBLEMS = [definition(1, number) for number in range(1, 5)]


def made(folder, outcomes, **experiments):
    """Tables of a run whose problems were answered so, in order; each outcome as in World.add."""
    world = World(settings_for({1: 4}, **(experiments or {"one": {}})), PROBLEMS)
    for problem, outcome in zip(PROBLEMS, outcomes, strict=True):
        world.add((problem.name, 0, 0), outcome, **({"experiment": next(iter(experiments))} if experiments else {}))
    return world.make(folder)


def printed(first, second):
    """What `hone compare` says."""
    console = Console(width=160, record=True)
    console.print(*comparison(first, second))
    return console.export_text()


def test_problems_are_paired(tmp_path):
    first = made(tmp_path / "a", [2.0, 1.0, Status.WRONG_VALUE, "no_code"])
    second = made(tmp_path / "b", [4.0, 0.5, 3.0, "no_code"])
    (row,) = compare_answers(first, second)
    assert row.key == ("one", "recorded/demo", "1", "torch_eager")
    assert (row.problems, row.solved, row.only) == (4, (2, 3), (0, 1))
    assert row.p_value == 1.0  # one problem more is chance
    assert row.ratio == pytest.approx(1.0)  # twice as fast on one, half as fast on another
    assert row.interval.low < 1.0 < row.interval.high


def test_the_same_run_twice_has_no_difference(tmp_path):
    first = made(tmp_path / "a", [2.0, 1.5, 3.0, 1.0])
    (row,) = compare_answers(first, first)
    assert (row.only, row.p_value, row.ratio) == ((0, 0), 1.0, pytest.approx(1.0))


def test_each_run_is_the_other_ones_mirror(tmp_path):
    first = made(tmp_path / "a", [2.0, 1.0, Status.TIMEOUT, 5.0])
    second = made(tmp_path / "b", [3.0, 1.0, 1.0, Status.TIMEOUT])
    (there,), (back,) = compare_answers(first, second), compare_answers(second, first)
    assert there.ratio * back.ratio == pytest.approx(1.0)
    assert there.only == back.only[::-1]


def test_without_a_problem_that_both_solve_there_is_no_ratio(tmp_path):
    first = made(tmp_path / "a", [2.0, "no_code", "no_code", "no_code"])
    second = made(tmp_path / "b", ["no_code", 2.0, "no_code", "no_code"])
    (row,) = compare_answers(first, second)
    assert math.isnan(row.ratio)
    assert "nan" not in printed(first, second)
    assert "nan" not in printed(first, first)  # one problem has a ratio, and no interval


def test_runs_with_nothing_in_common_have_no_table(tmp_path):
    first = made(tmp_path / "a", [2.0] * 4, one={})
    second = made(tmp_path / "b", [2.0] * 4, other={})
    assert list(comparison(first, second)) == []
    assert compare_trainings(first, second) == []


def test_a_run_without_tables_is_told(tmp_path):
    with pytest.raises(RecordError, match="no such table"):
        compare_answers(tmp_path, tmp_path)

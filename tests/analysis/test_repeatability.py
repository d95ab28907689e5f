"""Two runs of the judge on the same solutions: what is paired, and how far apart the speedups are."""

import math

import pandas as pd
import pytest

from hone.core.errors import RecordError
from hone.core.files import write_records
from hone.records import Status
from hone.tables.judge_repeatability import TABLE, compare, write

from .world import settings_for, trace

SETTINGS = settings_for(one={}, baselines=("torch_eager", "torch_compile"))
FIRST, SECOND = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def judged(solution, outcome, when=FIRST, problem="mini/level1/1_problem"):
    """`outcome`: a speedup or a Status."""
    if isinstance(outcome, Status):
        return trace(SETTINGS, solution, problem, outcome, judged_at=when)
    return trace(SETTINGS, solution, problem, speedup=outcome, judged_at=when)


@pytest.fixture
def results(tmp_path):
    """Writes a results folder; gives its path."""

    def write_folder(name, *traces, experiment="one", batch="000"):
        write_records(tmp_path / name / "traces" / experiment / "m" / "turn0" / f"{batch}.jsonl", traces)
        return tmp_path / name

    return write_folder


def test_the_spread_is_that_of_the_ratios(results):
    factors = [1.0, 1.1, 1 / 1.2]
    first = results("a", *(judged(f"s{i}", 2.0) for i in range(3)))
    second = results("b", *(judged(f"s{i}", 2.0 * factor, SECOND) for i, factor in enumerate(factors)))
    found = compare(first, second, "abc")
    assert [(spread.baseline, spread.pairs) for spread in found.spreads] == [("torch_eager", 3), ("torch_compile", 3)]
    assert found.spreads[0].median == pytest.approx(math.log(1.1))
    assert math.log(1.1) < found.spreads[0].percentile_95 <= math.log(1.2)
    assert len(found.rows) == 2 * 3 * 2
    assert [row.run for row in found.rows[:2]] == [1, 2]
    # Which run comes first makes no difference to how far they are apart.
    for turned, spread in zip(compare(second, first).spreads, found.spreads, strict=True):
        assert (turned.median, turned.percentile_95) == pytest.approx((spread.median, spread.percentile_95))


def test_pairs_need_the_same_experiment_and_both_times(results):
    first = results("a", judged("s", 2.0), judged("t", 2.0), judged("u", 2.0))
    second = results("b", judged("s", 3.0, SECOND), judged("t", Status.WRONG_VALUE, SECOND))
    results("b", judged("u", 2.0, SECOND), experiment="two")
    found = compare(first, second)
    assert {row.solution for row in found.rows} == {"s"}
    assert found.changed == ["mini/level1/1_problem t: first passed, then wrong_value"]
    assert found.single == 2
    assert any("1 pairs have different verdicts" in line for line in found.summary())


def test_a_verdict_out_of_the_same_store_is_no_second_measurement(results):
    first = results("a", judged("s", 2.0), judged("t", 2.0))
    second = results("b", judged("s", 2.0), judged("t", 3.0, SECOND))
    found = compare(first, second)
    assert (found.same, {row.solution for row in found.rows}) == (1, {"t"})
    with pytest.raises(RecordError, match="store"):
        compare(first, first)


def test_a_kernel_in_several_files_counts_once(results):
    first = results("a", judged("s", 2.0))
    results("a", judged("s", 2.0), batch="001")
    assert len(compare(first, results("b", judged("s", 2.1, SECOND))).rows) == 2 * 2


def test_a_folder_without_verdicts_is_named(results, tmp_path):
    with pytest.raises(RecordError, match=r"none/traces: holds no verdicts"):
        compare(tmp_path / "none", results("b", judged("s", 2.0)))


def test_the_table_and_its_twin_are_written(results, tmp_path):
    found = compare(results("a", judged("s", 2.0)), results("b", judged("s", 2.2, SECOND)), "abc")
    write(found, tmp_path / "out/repeat.csv")
    table = pd.read_csv(tmp_path / "out/repeat.csv")
    assert list(table.columns) == list(TABLE.columns)
    assert table["speedup"].tolist() == pytest.approx([2.0, 2.2] * 2)
    assert set(table["commit"]) == {"abc"}
    text = (tmp_path / "out/repeat.md").read_text()
    assert "over torch_eager: 1 pairs, median |log ratio| 0.0953" in text

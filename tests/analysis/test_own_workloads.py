"""A user's own kernels workload by workload, beside the least time there."""

import math

import pytest

from hone.records import Status
from hone.tables.own_workloads import TABLE
from hone.tables.registry import TABLES

from .rounds import FLOOR_MS, UPSTREAM_MS, run_of_a_file
from .tables import rows_of


def test_a_kernel_has_a_row_for_each_workload_the_smallest_first():
    rows = rows_of("own_workloads", run_of_a_file([2.0, 0.5, 1.0]))
    assert [(row["workload"], row["bytes"], row["held_out"]) for row in rows] == [
        ("small", 8_000, False), ("middle", 8_000_000, False), ("large", 2**26, True),
    ]  # fmt: skip
    assert [row["speedup"] for row in rows] == pytest.approx([2.0, 0.5, 1.0])
    for row in rows:
        assert (row["file"], row["baseline"]) == ("mine.cpp", "upstream")
        assert row["baseline_us"] == pytest.approx(1e3 * UPSTREAM_MS)
        assert row["solution_us"] * row["speedup"] == pytest.approx(row["baseline_us"])
        assert row["bandwidth"] == pytest.approx(row["bytes"] / row["solution_us"] / 1e3)


def test_the_least_time_is_known_on_gpus_that_the_hardware_table_names():
    assert all(math.isnan(row["least_us"]) for row in rows_of("own_workloads", run_of_a_file([1.0, 1.0, 1.0])))
    rows = rows_of("own_workloads", run_of_a_file([1.0, 1.0, 1.0], device="NVIDIA H200"))
    assert [row["least_us"] for row in rows] == pytest.approx([1e3 * FLOOR_MS] * 3), "the judge's own bound is longer"
    assert all(row["least_share"] == pytest.approx(row["least_us"] / row["solution_us"]) for row in rows)
    assert all(row["least_source"].startswith("a copy's 4280 GB/s") for row in rows)


def test_what_failed_has_no_time_and_what_was_not_judged_no_row():
    rows = rows_of("own_workloads", run_of_a_file([Status.WRONG_VALUE, None, 1.0]))
    assert [(row["workload"], row["status"]) for row in rows] == [("small", "wrong_value"), ("large", "passed")]
    assert math.isnan(rows[0]["speedup"]) and math.isnan(rows[0]["solution_us"])


def test_the_page_says_where_a_kernel_loses():
    found = TABLE.rows(run_of_a_file([2.0, 0.5, 1.0]))
    assert TABLES["own_workloads"].finding(found) == (
        "`mine.cpp` of own loses nothing on 2 of 3 workloads of kit/level1/1_silu_and_mul."
    )
    assert TABLE.finding([]) == ""
    doubtful, failed = found[0].model_copy(update={"findings": "below_floor"}), "wrong_value"
    other = [row.model_copy(update={"definition": "kit/level1/2_other"}) for row in found[:1]]
    assert TABLE.finding([doubtful, found[2].model_copy(update={"status": failed}), *other]) == (
        "`mine.cpp` of own loses nothing on 0 of 1 workloads of kit/level1/1_silu_and_mul. "
        "`mine.cpp` of own loses nothing on 1 of 1 workloads of kit/level1/2_other."
    )


@pytest.mark.parametrize("head", ["// group: honest\n", "// way: default_stream\n"])
def test_the_judge_s_own_trials_have_other_tables(head):
    assert rows_of("own_workloads", run_of_a_file([1.0, 1.0, 1.0], head=head)) == []

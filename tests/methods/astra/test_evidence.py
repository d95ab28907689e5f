"""What prompts say was measured: only what the records hold, and that there is none where there is none."""

import math

import pytest

from hone.config.experiments import Rounds
from hone.methods.astra.evidence import NO_COUNTERS, NO_RESOURCES, describe, evidence, median_interval, overview, table
from hone.records import Build, BuildStatus, Clock, KernelResources, Performance, Status, Timing, Trace
from tests.methods.astra.conftest import SUITE, workload

OLD = (0, 0, (1.0, 1.0))


def row(text, name):
    """Cells of the table's row for a workload, by column."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    head = next(line for line in lines if line[0] == "workload")
    return dict(zip(head, next(line for line in lines if line[0] == name), strict=True))


def test_a_row_holds_time_bytes_and_bandwidth(history):
    found = history(OLD, (1, 0, (0.5, 0.25)), floor_ms=0.1)
    cells = row(describe(found, found.versions[1]), SUITE[1].name)
    assert (cells["time us"], cells["existing us"], cells["speedup"]) == ("250", "1000", "4.000")
    nbytes = 4 * (100 * 8 + 8 + 100 * 8)
    assert float(cells["MB"]) == pytest.approx(nbytes / 1e6, rel=1e-3)
    assert float(cells["GB/s"]) == pytest.approx(nbytes / 0.25e-3 / 1e9, rel=1e-3)
    assert cells["of floor"] == "40%"
    assert cells["sizes"] == "rows=100, columns=8"


def test_without_a_floor_counters_or_resources_it_says_so(history):
    found = history(OLD, (1, 0, (0.5, 0.25)))
    text = describe(found, found.versions[1])
    assert row(text, SUITE[0].name)["of floor"] == "-"
    assert NO_COUNTERS in text
    assert NO_RESOURCES in text
    assert "wall time of a call" in text


def with_records(found, build=None, **performance):
    """The history's last version with another build and further fields of its performances."""
    version = found.versions[-1]
    traces = {}
    for key, trace in version.traces.items():
        fields = {**trace.performance.model_dump(exclude={"solution": {"latency_ms"}}), **performance}
        traces[key] = Trace.model_validate({**trace.model_dump(), "performance": fields})
    return type(version)(version.attempt, version.solution, build or version.build, traces)


def test_the_compilers_figures_and_the_clock_are_told(history):
    found = history(OLD, (1, 0, (0.5, 0.25)))
    kernel = KernelResources(kernel="k<4>", registers=40, shared_bytes=128, spill_store_bytes=16, spill_load_bytes=24)
    build = Build(solution="s", status=BuildStatus.BUILT, artifact="k.so", resources=(kernel,))
    clock = Clock(source="cupti", mode="graph", runs_per_sample=8, solution_wall_ms=0.5, charged_ms=0.01)
    text = describe(found, with_records(found, build, clock=clock))
    assert "| k<4> | 40 | 128 | 16 | 24 |" in text
    cells = row(text, SUITE[0].name)
    assert cells["clock"] == "cupti, graph"
    assert "10 us were added" in cells["remarks"]
    assert "cold L2" in text


def test_a_doubtful_time_is_told(history):
    found = history(OLD, (1, 0, (0.5, 0.25)), findings=("below_floor",))
    assert "doubtful, earns nothing: below_floor" in describe(found, found.versions[1])


@pytest.mark.parametrize("status", [item for item in Status if item is not Status.PASSED])
def test_every_failure_is_told_once_with_its_workloads(history, status):
    found = history(OLD, (1, 0, (status, status)), (2, 0, (0.5, status)))
    everywhere, once = (describe(found, version) for version in found.versions[1:])
    assert everywhere.count("All workloads: ") == 1
    assert f"On {SUITE[1].name}: " in once or status is Status.COMPILE_ERROR


def test_an_answer_without_code_is_told(history):
    found = history(OLD, (1, 0, "no code block"))
    assert "The answer held no usable code: no code block." in evidence(found, found.start(Rounds()), Rounds())


def test_a_revert_tells_of_both_versions(history):
    found = history(OLD, (1, 0, (0.5, 0.5)), (2, 0, (0.8, 0.8)))
    text = evidence(found, found.best, Rounds())
    assert text.index("### Measurements of version 1") < text.index("### Measurements of version 2")
    assert "Version 2 passed at a speedup of 1.250; the best so far is 2.000." in text
    assert "### Measurements of version 1" not in evidence(found, found.start(Rounds()), Rounds())


def test_the_overview_has_every_version_and_where_the_next_round_starts(history):
    found = history(OLD, (1, 0, (0.5, 0.5)), (1, 1, (0.4, Status.WRONG_VALUE)), (2, 0, "no code block"))
    lines = [line for line in overview(found, found.best, Rounds()).splitlines() if line.startswith("| version ")]
    assert len(lines) == 1 + len(found.versions)
    assert "| version 1 | passed | 2.000 | - | yes |" in lines
    assert "| version 1, candidate 2 | 1 of 2 workloads passed (wrong_value) | - | - |  |" in lines
    assert "| version 2 | no code block | - | - |  |" in lines


def test_equal_records_give_equal_text(history):
    rows = (OLD, (1, 0, (0.5, Status.TIMEOUT)))
    one, other = history(*rows), history(*rows)
    assert evidence(one, one.start(Rounds()), Rounds()) == evidence(other, other.start(Rounds()), Rounds())


@pytest.mark.parametrize("count", [1, 2, 5, 6, 7, 12, 30, 101])
def test_the_medians_interval_is_exact(count):
    low, high = median_interval([float(value) for value in range(count)])
    first = int(low)
    assert high == count - 1 - first
    missed = 2 * sum(math.comb(count, k) for k in range(first + 1)) / 2**count
    assert count < 6 or missed <= 0.05
    wider = missed + 2 * math.comb(count, first + 1) / 2**count
    assert wider > 0.05


def test_a_table_is_not_broken_by_its_cells():
    assert table(("a", "b"), [("x|y", "z")]) == "| a | b |\n| --- | --- |\n| x/y | z |"


def test_performance_needs_no_baseline(history):
    """A baseline that could not be timed leaves its columns empty."""
    found = history(OLD, (1, 0, (0.5, 0.5)))
    bare = Performance(solution=Timing(samples_ms=(0.5,)), baselines={})
    cells = row(describe(found, with_records(found, baselines=bare.baselines)), SUITE[0].name)
    assert (cells["existing us"], cells["speedup"]) == ("-", "-")


# ------------------------------------------------------------------------------------------------ the roofline


STEERED = Rounds(roofline=True)
H200 = "NVIDIA H200"


def test_steering_names_the_floor_the_share_and_the_gain_of_each_workload(history):
    """The judge's bound of 0.1 ms, by operations, is above what the bytes take; all other bounds are below."""
    found = history(OLD, (1, 0, (0.5, 0.104)), floor_ms=0.1, device=H200)
    text = describe(found, found.versions[1], STEERED)
    slow, fast = row(text, SUITE[0].name), row(text, SUITE[1].name)
    assert (slow["floor us"], slow["of floor"], slow["possible gain"]) == ("100", "20%", "5.00")
    assert (fast["floor us"], fast["of floor"], fast["possible gain"]) == ("100", "96%", "1.04")
    assert "at a copy's 4280 GB/s, 1.3 us at least" in text
    assert "below 1.05 there is nothing left to win" in text


def test_the_floor_counts_outputs_in_full(history):
    large = workload(1 << 20, 64)
    found = history((0, 0, (1.0,)), (1, 0, (0.2,)), suite=(large,), device=H200)
    cells = row(describe(found, found.versions[1], STEERED), large.name)
    nbytes = 4 * ((2 << 20) * 64 + 64)
    assert float(cells["floor us"]) == pytest.approx(nbytes / 4280e3, rel=1e-3)
    assert cells["possible gain"] == f"{200 / (nbytes / 4280e3):.2f}"


def test_no_gain_is_promised_below_the_floor(history):
    found = history(OLD, (1, 0, (0.05, 0.05)), floor_ms=0.1, device=H200)
    assert row(describe(found, found.versions[1], STEERED), SUITE[0].name)["possible gain"] == "1.00"


def test_the_overview_has_the_gain_that_is_left(history):
    found = history(OLD, (1, 0, (0.5, 0.125)), floor_ms=0.1, device=H200)
    last = overview(found, found.start(STEERED), STEERED).splitlines()[-1]
    assert "| 40% | 2.50 | " in last


@pytest.mark.parametrize("device", [H200, "cpu"])
def test_without_the_option_and_without_a_known_gpu_nothing_of_it_is_said(history, device):
    found = history(OLD, (1, 0, (0.5, 0.25)), floor_ms=0.1, device=device)
    assert "possible gain" not in evidence(found, found.best, Rounds()) + overview(found, found.best, Rounds())
    if device == "cpu":
        text = describe(found, found.versions[1], STEERED)
        assert "nothing left to win" not in text
        assert row(text, SUITE[0].name)["possible gain"] == "-"

"""Who wins: who takes part, what counts, and what happens with ties, noise, and verdicts that are there twice."""

import itertools

import pytest

from hone.records import Language, Performance, Solution, Status, Timing
from hone.selection.rank import LEAST_LEAD, best_solution, credited_speedup, fastest, latest, mean_speedup
from tests.selection.operator import DEFINITION, LAUNCHER, WORKLOADS, solution

FAST, FASTER = solution(LAUNCHER + "// fast\n"), solution(LAUNCHER + "// faster\n")
FIRST, SECOND = sorted((FAST, FASTER), key=lambda item: item.id)
SHOWN = [index for index, item in enumerate(WORKLOADS) if not item.held_out]
"""Three of four."""


def timed(speedup, baseline="upstream", findings=()):
    """Times of one workload: the baseline takes so many times as long as the solution."""
    baselines = {baseline: Timing(samples_ms=(speedup,))}
    return Performance(solution=Timing(samples_ms=(1.0,)), baselines=baselines, findings=findings)


@pytest.fixture
def traced(trace):
    """A solution's traces, one for each speedup in the order of the workloads; None: the workload is not passed."""

    def make(kernel, *speedups, **changed):
        return [
            trace.model_copy(
                update={
                    "solution": kernel.id, "definition": DEFINITION.name, "workload": item.id,
                    "status": Status.WRONG_VALUE if speedup is None else Status.PASSED,
                    "performance": None if speedup is None else timed(speedup), **changed,
                }
            )
            for item, speedup in zip(WORKLOADS, speedups, strict=False)
        ]  # fmt: skip

    return make


def winner(traces, *solutions):
    return best_solution(DEFINITION, WORKLOADS, solutions or (FAST, FASTER), traces)


def test_the_order_is_by_the_workloads_that_may_be_shown(traced):
    fast, faster = [2.0] * 4, [2.0] * 4
    faster[SHOWN[0]] = 16.0
    held_out = next(index for index, item in enumerate(WORKLOADS) if item.held_out)
    fast[held_out], faster[held_out] = 99.0, 0.5
    found = winner([*traced(FAST, *fast), *traced(FASTER, *faster)])
    assert found.solution == FASTER
    assert found.speedup == pytest.approx(4.0), "geometric mean of 16, 2 and 2"
    assert len(found.times) == len(SHOWN)


@pytest.mark.parametrize("index", range(4))
def test_one_workload_that_is_not_passed_excludes_held_out_or_not(traced, index):
    speedups = [9.0] * 4
    speedups[index] = None
    assert winner([*traced(FAST, *[1.1] * 4), *traced(FASTER, *speedups)]).solution == FAST
    assert winner(traced(FASTER, *speedups)) is None


def test_a_missing_verdict_and_a_doubtful_time_exclude_too(traced):
    rest = traced(FAST, *[1.1] * 4)
    assert winner([*rest, *traced(FASTER, *[9.0] * 3)]).solution == FAST
    doubtful = timed(9.0, findings=("below_floor",))
    assert winner([*rest, *traced(FASTER, *[9.0] * 4, performance=doubtful)]).solution == FAST
    beside_another = timed(9.0, baseline="torch_eager")
    assert winner([*rest, *traced(FASTER, *[9.0] * 4, performance=beside_another)]).solution == FAST


def test_only_native_solutions_of_the_definition_take_part(traced):
    rest = traced(FAST, *[1.1] * 4)
    python = Solution(definition=DEFINITION.name, language=Language.PYTHON, entry_point="ModelNew", source="x")
    elsewhere = FASTER.model_copy(update={"definition": "ops/level1/2_other"})
    for other in (python, elsewhere):
        assert winner([*rest, *traced(other, *[9.0] * 4)], FAST, other).solution == FAST
    assert winner([]) is None


def test_a_tie_has_the_same_winner_in_every_order_of_files(traced):
    traces = [*traced(FAST, *[2.0] * 4), *traced(FASTER, *[2.0] * 4)]
    for order in itertools.permutations((FAST, FASTER, FAST)):
        assert winner(traces, *order).solution == FIRST
        assert winner(traces[::-1], *order).solution == FIRST
    assert winner(traced(SECOND, *[2.0] * 4)).solution == SECOND


def test_of_equal_candidates_the_first_wins_and_those_without_speedup_never():
    speedups = {"none": None, "slow": 0.5, "first": 2.0, "second": 2.0}
    assert fastest(speedups, speedups.get) == "first"
    assert fastest(reversed(speedups), speedups.get) == "second"
    assert fastest(["slow", "none"], speedups.get) == "slow", "slower than the baseline is better than nothing"
    assert fastest(["none"], speedups.get) is fastest([], speedups.get) is None


def test_one_disturbed_measurement_gives_no_lead(traced):
    found = winner(traced(FAST, 27.0, 1.0, 1.0, 1.0))
    assert found.speedup > LEAST_LEAD > found.lead == pytest.approx(1.0)
    found = winner(traced(FAST, 0.5, 2.0, 2.0, 2.0))
    assert found.lead == found.speedup < 2.0, "nor do most workloads outweigh a slow one"


def test_nothing_is_ranked_by_held_out_workloads_alone(traced):
    held_out = [item for item in WORKLOADS if item.held_out]
    verdicts = {trace.workload: trace for trace in traced(FAST, *[2.0] * 4)}
    assert mean_speedup(verdicts, WORKLOADS) == pytest.approx(2.0)
    assert mean_speedup(verdicts, held_out) is None
    assert mean_speedup(verdicts, []) is None


def test_a_speedup_is_credited_only_beside_its_baseline(trace):
    passed = trace.model_copy(update={"performance": timed(3.0)})
    assert credited_speedup(passed) == pytest.approx(3.0)
    assert credited_speedup(passed, "torch_eager") is None
    assert credited_speedup(trace.model_copy(update={"performance": timed(3.0, findings=("below_floor",))})) is None
    assert credited_speedup(None) is None


def test_a_verdict_comes_before_none_then_the_latest(trace):
    lost = trace.model_copy(update={"status": Status.MACHINE_ERROR, "judged_at": "3"})
    old, new = (trace.model_copy(update={"judged_at": day}) for day in "12")
    for order in ((lost, old, new), (new, old, lost)):
        assert list(latest(order).values()) == [new]


def test_the_latest_verdict_of_a_solution_ranks_it(traced):
    traces = [*traced(FAST, *[2.0] * 4), *traced(FASTER, *[3.0] * 4)]
    again = traced(FASTER, *[1.0] * 4, judged_at="9999-01-01T00:00:00Z")
    for order in ([*traces, *again], [*again, *traces]):
        assert winner(order).solution == FAST

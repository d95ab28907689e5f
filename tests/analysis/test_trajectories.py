"""Who wins, what a round started from, and what is told apart where something is missing."""

import math
from dataclasses import replace

import pytest

from hone.analysis.metrics import geometric_mean
from hone.analysis.trajectories import NOT_ASKED, NOT_EVALUATED, trajectories
from hone.records import Status, UnsupportedProblem

from .rounds import Kit, kernel, settings_for

BEST = {"start_from": "best"}


def kit(**experiment) -> Kit:
    made = Kit(settings_for(1, multi=experiment), [kernel(1, "silu_and_mul")])
    made.start("multi")
    return made


def only(made: Kit):
    (found,) = trajectories(made.settings, made.records())
    return found


def place(version):
    return (version.turn, version.sample)


def test_the_winner_is_the_fastest_by_the_suite_whatever_the_evaluation_says():
    made = kit()
    made.add("multi", 1, 1.5, 1.1)
    made.add("multi", 2, 1.2, 3.0)
    found = only(made)
    assert place(found.winner) == (1, 0)
    assert geometric_mean(found.winner.evaluation.credited("upstream")) == pytest.approx(1.1)
    assert (found.kernel, found.rounds, found.unresolved) == ("silu_and_mul", 2, 0)


def test_of_equal_versions_the_first_wins():
    made = kit(samples=2)
    for turn in (1, 2):
        for sample in (0, 1):
            made.add("multi", turn, 1.5, 1.5, sample=sample)
    assert place(only(made).winner) == (1, 0)


def test_the_existing_kernel_never_wins():
    made = kit()
    made.add("multi", 1, 0.7, 0.7)
    made.add("multi", 2, Status.WRONG_VALUE, Status.WRONG_VALUE)
    assert place(only(made).winner) == (1, 0)


@pytest.mark.parametrize("spoilt", [(9.0, Status.WRONG_VALUE), (9.0, Status.MACHINE_ERROR), (9.0, None)])
def test_a_version_wins_with_its_whole_suite_alone(spoilt):
    made = kit()
    made.add("multi", 1, spoilt, 9.0)
    made.add("multi", 2, 1.1, 1.1)
    assert place(only(made).winner) == (2, 0)


def test_a_doubtful_time_cannot_win():
    made = kit()
    made.add("multi", 1, 50.0, 50.0, findings=("below_floor",))
    made.add("multi", 2, 1.1, 1.1)
    found = only(made)
    assert place(found.winner) == (2, 0)
    doubtful = found.versions[1].evaluation
    assert (doubtful.status, doubtful.credited("upstream"), doubtful.findings) == ("passed", [], "below_floor")
    assert doubtful.speedups("upstream") == pytest.approx([50.0] * 3)


def test_without_a_passing_version_there_is_no_winner():
    made = kit()
    made.add("multi", 1, Status.TIMEOUT, Status.TIMEOUT)
    made.no_code("multi", 2)
    found = only(made)
    assert found.winner is None
    assert found.unresolved == 0
    assert [version.status for version in found.versions] == ["passed", "timeout", "no_code"]


@pytest.mark.parametrize(
    ("outcomes", "status", "resolved"),
    [
        ((2.0, 2.0, Status.WRONG_VALUE), "wrong_value", True),
        ((2.0, None, Status.WRONG_VALUE), "wrong_value", True),
        ((2.0, Status.MACHINE_ERROR, 2.0), "machine_error", False),
        ((2.0, None, 2.0), "missing", False),
        ((2.0, 2.0, 2.0), "passed", True),
    ],
)
def test_a_failure_decides_before_a_lost_verdict_and_that_before_a_pass(outcomes, status, resolved):
    made = kit()
    made.add("multi", 1, 1.5, outcomes)
    made.add("multi", 2, 1.0, 1.0)
    found = only(made).versions[1]
    assert (found.status, found.evaluation.resolved, found.resolved) == (status, resolved, resolved)
    assert bool(found.evaluation.credited("upstream")) == (status == "passed")


def test_workloads_that_the_existing_kernel_fails_are_in_no_speedup_but_must_be_right():
    made = Kit(settings_for(1, multi={"turns": 2}), [kernel(1, "silu_and_mul")])
    made.start("multi", all=(1.0, 1.0, Status.WRONG_VALUE))
    made.add("multi", 1, 1.5, (2.0, 2.0, 9.0))
    found = only(made).versions[1].evaluation
    assert (len(found.counted), found.status) == (2, "passed")
    assert found.credited("upstream") == pytest.approx([2.0, 2.0])
    made.evaluations.pop()
    made.evaluations.append(made.trace(made.candidates[-1].solution, made.workloads[2], Status.WRONG_VALUE))
    assert only(made).versions[1].evaluation.status == "wrong_value"


def test_nothing_is_known_without_verdicts_on_the_existing_kernel():
    made = Kit(settings_for(1, multi={"turns": 2}), [kernel(1, "silu_and_mul")])
    made.start("multi", suite=1.0, all=None)
    made.add("multi", 1, 1.5, 2.0)
    assert only(made).unresolved == 2


def test_a_round_starts_from_the_last_version_or_from_the_best():
    made = kit(turns=4)
    for turn, outcome in ((1, 1.5), (2, 1.2), (3, Status.WRONG_VALUE)):
        made.add("multi", turn, outcome, outcome)
    found = only(made)
    last, best = (settings_for(1, x={"turns": 4, "astra": item}).experiments["x"] for item in ({}, BEST))
    assert [place(found.parent(turn, 0, last)) for turn in (1, 2, 3)] == [(0, 0), (1, 0), (2, 0)]
    assert [place(found.parent(turn, 0, best)) for turn in (1, 2, 3)] == [(0, 0), (1, 0), (1, 0)]
    assert found.kept(last) == {(0, 0), (1, 0), (2, 0), (3, 0)}
    assert found.kept(best) == {(0, 0), (1, 0)}
    assert found.parent(0, 0, last) is None


def test_the_best_candidate_of_a_round_goes_on():
    made = kit(samples=2)
    made.add("multi", 1, 1.1, 1.1, sample=0)
    made.add("multi", 1, 1.4, 1.4, sample=1)
    made.add("multi", 2, 1.2, 1.2, sample=0)
    found = only(made)
    assert place(found.parent(2, 0, made.settings.experiments["multi"])) == (1, 1)
    assert [version.status for version in found.versions] == ["passed"] * 4 + ["missing"]


def test_an_early_stop_is_not_a_loss_and_a_loss_is_not_an_early_stop():
    made = kit(turns=4, astra={"stop_at_floor_share": 0.5})
    made.add("multi", 1, 2.5, 2.5)  # the floor is 0.05 ms of 0.08 ms
    found = only(made)
    assert [version.status for version in found.versions] == ["passed", "passed", NOT_ASKED, NOT_ASKED]
    assert found.unresolved == 0
    assert found.ending.startswith("at the floor: the least time is 62% of that of version 1")
    assert found.versions[-1].problem == f"the rounds ended: {found.ending}"
    made = kit(turns=4, astra={"stop_at_floor_share": 0.5})
    made.add("multi", 1, 1.5, 1.5)
    found = only(made)
    assert [version.status for version in found.versions] == ["passed", "passed", "missing", "missing"]
    assert found.unresolved == 2


@pytest.mark.parametrize("last", [1.5, 2.5])
def test_what_the_budget_left_out_of_the_last_round_says_so(last):
    options = {"strategy": {"kind": "linear", "budget": {"evaluations": 6}}, "astra": {"stop_at_floor_share": 0.5}}
    made = kit(samples=2, **options)
    for turn, sample, outcome in ((1, 0, 1.5), (1, 1, 1.5), (2, 0, last)):
        made.add("multi", turn, outcome, outcome, sample=sample)
    left_out = only(made).versions[-1]
    assert (left_out.status, left_out.problem) == (NOT_ASKED, "the rounds ended: the budget was spent")


def test_a_kernel_without_a_definition_stays_in_the_grid():
    made = kit()
    made.add("multi", 1, 1.5, 1.5)
    made.add("multi", 2, 1.5, 1.5)
    records = made.records()
    lost = UnsupportedProblem(name="kit/level1/2_rmsnorm", reason="no such header")
    found = trajectories(made.settings, replace(records, unsupported=[lost]))
    assert [(item.kernel, item.unresolved) for item in found] == [("silu_and_mul", 0), ("rmsnorm", 3)]
    assert found[1].winner is None
    assert found[1].definition is None


def test_a_solution_of_two_experiments_is_judged_on_each_one_s_suite():
    made = Kit(settings_for(1, multi={"turns": 2}, single={"turns": 2, "method": "astra_single"}), [kernel(1, "k")])
    for name in ("multi", "single"):
        made.start(name)
        made.add(name, 1, 1.5, 2.0, source="void launch() {}")
    found = trajectories(made.settings, made.records())
    assert [place(item.winner) for item in found] == [(1, 0), (1, 0)]
    assert math.isclose(found[0].versions[1].suite_speedup, 1.5)


def test_what_is_not_evaluated_on_purpose_is_not_missing():
    made = kit(turns=4, astra={"evaluate": "winner"})
    for turn, suite, everything in ((1, 1.5, 1.3), (2, 1.2, None), (3, Status.WRONG_VALUE, None)):
        made.add("multi", turn, suite, everything)
    found = only(made)
    assert place(found.winner) == (1, 0)
    assert [version.status for version in found.versions] == ["passed", "passed", NOT_EVALUATED, NOT_EVALUATED]
    assert [version.suite_status for version in found.versions] == ["passed", "passed", "passed", "wrong_value"]
    assert found.unresolved == 0
    made.evaluations = [trace for trace in made.evaluations if trace.solution != found.winner.solution.id]
    assert (only(made).winner.status, only(made).unresolved) == ("missing", 1)


def test_a_suite_without_a_verdict_stays_unresolved_where_the_winner_alone_is_evaluated():
    made = kit(astra={"evaluate": "winner"})
    made.add("multi", 1, 1.5, 1.3)
    made.add("multi", 2, Status.MACHINE_ERROR, None)
    assert only(made).unresolved == 1


def test_of_a_beam_each_candidate_has_its_own_start_and_a_spent_budget_is_no_loss():
    made = kit(turns=4, strategy={"kind": "beam", "width": 2, "budget": {"evaluations": 8}})
    for turn, sample, speedup in ((1, 0, 1.5), (1, 1, 1.2), (2, 0, 1.4), (2, 1, 1.1)):
        made.add("multi", turn, speedup, speedup, sample=sample)
    found, item = only(made), made.settings.experiments["multi"]
    assert [place(found.parent(2, sample, item)) for sample in (0, 1)] == [(1, 0), (1, 1)]
    assert found.kept(item) == {(0, 0), (1, 0), (1, 1), (2, 0)}
    assert [version.status for version in found.versions] == ["passed"] * 5 + [NOT_ASKED] * 2
    assert found.unresolved == 0

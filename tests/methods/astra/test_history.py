"""Which version goes on: the log of the rounds, from records alone."""

import math
import random

import pytest

from hone.config.experiments import Rounds
from hone.methods.astra.history import Attempt, attempts_of, histories
from hone.records import Candidate, Status
from tests.methods.astra.conftest import SUITE

OLD = (0, 0, (1.0, 1.0))
LAST, BEST = Rounds(), Rounds(start_from="best")


def test_speedup_is_a_geometric_mean_over_the_suite(history):
    found = history(OLD, (1, 0, (0.5, 0.125)))
    assert found.speedup(found.versions[1]) == pytest.approx(4.0)
    assert found.speedup(found.versions[0]) == pytest.approx(1.0)


@pytest.mark.parametrize("status", [item for item in Status if item is not Status.PASSED])
def test_a_version_that_fails_anywhere_has_no_speedup(history, status):
    found = history(OLD, (1, 0, (0.1, status)))
    assert found.speedup(found.versions[1]) is None
    assert found.best.turn == 0


def test_a_doubtful_time_earns_nothing(history):
    found = history(OLD, (1, 0, (0.1, 0.1)), findings=("below_floor",))
    assert found.speedup(found.versions[1]) is None
    assert found.start(BEST).turn == 0
    assert found.start(LAST).turn == 1


def test_a_workload_that_the_existing_kernel_fails_does_not_count(history):
    found = history((0, 0, (1.0, Status.RUNTIME_ERROR)), (1, 0, (0.5, Status.WRONG_VALUE)))
    assert found.counted == SUITE[:1]
    assert found.speedup(found.versions[1]) == pytest.approx(2.0)


def test_nothing_counts_where_the_existing_kernel_has_no_time(history):
    found = history((0, 0, (Status.RUNTIME_ERROR, Status.RUNTIME_ERROR)), (1, 0, (0.5, 0.5)))
    assert found.counted == ()
    assert found.speedup(found.versions[1]) is None
    assert found.best.turn == 0


def test_last_goes_on_from_a_regression_and_best_reverts_it(history):
    found = history(OLD, (1, 0, (0.5, 0.5)), (2, 0, (0.8, 0.8)))
    assert found.start(LAST).turn == 2
    assert found.start(BEST).turn == 1


def test_without_code_the_version_before_goes_on(history):
    found = history(OLD, (1, 0, (0.5, Status.WRONG_VALUE)), (2, 0, "no code block"))
    assert found.start(LAST).turn == 1
    assert found.start(BEST).turn == 0


def test_of_several_candidates_the_fastest_right_one_goes_on(history):
    found = history(OLD, (1, 0, (0.5, 0.5)), (1, 1, (0.1, Status.WRONG_VALUE)), (1, 2, (0.4, 0.4)), (1, 3, (0.4, 0.4)))
    assert found.chosen(1).attempt.sample == 2
    assert found.best.attempt.sample == 2


def test_of_wrong_candidates_the_nearest_goes_on(history):
    broken = (Status.COMPILE_ERROR, Status.COMPILE_ERROR)
    wrong, half = (Status.WRONG_VALUE, Status.WRONG_VALUE), (0.9, Status.WRONG_VALUE)
    order = ["empty", broken, wrong, half]
    for count in range(1, len(order) + 1):
        rows = list(enumerate(order[:count]))
        random.Random(7).shuffle(rows)
        found = history(OLD, *((1, sample, outcomes) for sample, outcomes in rows))
        assert found.chosen(1).attempt.sample == count - 1


def test_the_earliest_of_equals_is_the_best(history):
    assert history(OLD, (1, 0, (0.5, 0.5)), (2, 0, (0.5, 0.5))).best.turn == 1


def test_the_share_of_the_floor_stops_a_kernel(history):
    found = history(OLD, (1, 0, (0.5, 0.5)), floor_ms=0.4)
    assert found.floor_share(found.best) == pytest.approx(0.8)
    assert found.at_floor(Rounds(stop_at_floor_share=0.8 - 1e-9))
    assert not found.at_floor(Rounds(stop_at_floor_share=0.81))
    assert not found.at_floor(Rounds())


def test_with_the_roofline_a_kernel_within_five_percent_of_its_floor_is_done(history):
    near = history(OLD, (1, 0, (0.104, 0.104)), floor_ms=0.1, device="NVIDIA H200")
    assert near.at_floor(Rounds(roofline=True))
    assert not near.at_floor(Rounds(roofline=True, stop_at_floor_share=0.97))
    assert not near.at_floor(Rounds())
    far = history(OLD, (1, 0, (0.106, 0.106)), floor_ms=0.1, device="NVIDIA H200")
    assert not far.at_floor(Rounds(roofline=True))


def test_without_a_floor_nothing_stops(history):
    found = history(OLD, (1, 0, (0.5, 0.5)))
    assert found.floor_share(found.best) is None
    assert not found.at_floor(Rounds(stop_at_floor_share=0.01))


def test_a_version_without_verdict_is_unresolved(history):
    found = history(OLD, (1, 0, (0.5, Status.MACHINE_ERROR)), (1, 1, "no code block"), (1, 2, (0.5, Status.TIMEOUT)))
    assert [found.resolved(version) for version in found.of_turn(1)] == [False, True, True]


def test_an_oversized_workload_stops_nothing(history):
    found = history((0, 0, (1.0, Status.NOT_JUDGED)), (1, 0, (0.5, Status.NOT_JUDGED)))
    assert all(map(found.resolved, found.versions))
    assert math.isclose(found.speedup(found.versions[1]), 2.0)


def test_attempts_carry_no_origin():
    row = Candidate(
        experiment="e", method="astra", model="m", definition="d", turn=1, sample=2, prompt_digest="p",
        completion_key="k", solution="s",
    )  # fmt: skip
    other = row.model_copy(update={"prompt_digest": "q", "completion_key": "l", "model": "n"})
    assert attempts_of([row]) == attempts_of([other])


def test_kernels_without_a_version_have_no_history(kernel):
    other = Attempt(definition="tiny/level1/2_Other", turn=0, sample=0, solution=None, problem="none")
    assert histories([kernel], {}, [other], [], [], []) == {}

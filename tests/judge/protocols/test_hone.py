"""Hone's protocol of timing on a stand that is a fake: its turns, its audits, and what a refused mode costs."""

import random

import pytest

from hone.judge.protocols import hone
from hone.judge.stand import SOLUTION, OtherResultsError
from hone.judge.verdict import Verdict
from hone.records import Performance, Protocol, Status, Timing

PROTOCOL = Protocol(
    name="turns", device="cuda", correctness_trials=1, warmup_runs=2, timing_runs=6, timing_seconds=60.0,
    audit_every=3, run_timeout_s=1.0,
)  # fmt: skip
RARELY = PROTOCOL.model_copy(update={"audit_every": 10**9})


class FakeStand:
    """Notes what it is asked for; `error`: raised in that turn, counted from the first warm-up, until it is barred."""

    def __init__(self, *, error=None, at=0, enough_after=None):
        self.error, self.at, self.enough_after = error, at, enough_after
        self.begun, self.barred, self.turns, self.log = [], [], [], []

    def begin(self, baselines):
        self.begun.append(tuple(baselines))
        self.turns = []
        self.log.append("begin")

    def turn(self, *, kept, audit):
        if self.error is not None and len(self.turns) == self.at:
            raise self.error
        self.turns.append((kept, audit))
        self.log.append("turn")

    def audit_apart(self, *, every_kind=False):
        self.log.append("all apart" if every_kind else "apart")

    def enough(self, turns, taken_s):
        assert taken_s >= 0.0
        return self.enough_after is not None and turns >= self.enough_after

    def performance(self):
        return Performance(solution=Timing(samples_ms=(1.0,) * sum(kept for kept, _ in self.turns)), baselines={})

    def bar(self, error):
        self.barred.append(error.mode)
        self.error = None


def measure(stand, protocol=PROTOCOL):
    return hone.measure(stand, ("torch_eager",), protocol)


def test_warm_ups_are_not_kept():
    stand = FakeStand()
    assert len(measure(stand).solution.samples_ms) == PROTOCOL.timing_runs
    assert [kept for kept, _ in stand.turns] == [False] * PROTOCOL.warmup_runs + [True] * PROTOCOL.timing_runs


def test_warm_ups_take_none_of_the_time(monkeypatch):
    """A clock on which every turn takes a minute; time is up after `timing_seconds` of turns that count."""
    stand = FakeStand()
    monkeypatch.setattr(hone.time, "monotonic", lambda: 60.0 * len(stand.turns))
    taken = []
    stand.enough = lambda turns, taken_s: taken.append(taken_s)
    measure(stand, RARELY)
    kept = [taken_s for turns, taken_s in enumerate(taken, start=1 - PROTOCOL.warmup_runs) if turns > 0]
    assert kept == [60.0 * turns for turns in range(PROTOCOL.timing_runs - 1)]  # after the last nothing is asked


@pytest.mark.parametrize("enough_after", [None, 3])
def test_the_last_turn_is_audited(enough_after):
    stand = FakeStand(enough_after=enough_after)
    measure(stand, RARELY)
    assert [audit for _, audit in stand.turns] == [False] * (len(stand.turns) - 1) + [True]
    assert sum(kept for kept, _ in stand.turns) == (enough_after or RARELY.timing_runs)


def test_audits_with_all_kinds_of_values_come_before_the_first_turn():
    stand = FakeStand()
    measure(stand, RARELY)
    assert stand.log == ["begin", "all apart", *["turn"] * len(stand.turns)]


def test_audits_come_at_random_as_often_as_the_protocol_says(monkeypatch):
    chance = random.Random(5)
    monkeypatch.setattr("hone.judge.protocols.hone.random.SystemRandom", lambda: chance)
    long = PROTOCOL.model_copy(update={"timing_runs": 900})
    stand = FakeStand()
    measure(stand, long)
    kept = [audit for is_kept, audit in stand.turns if is_kept]
    assert sum(kept) == pytest.approx(300, abs=60)
    assert stand.log.count("apart") == pytest.approx(300, abs=60)


@pytest.mark.parametrize("at", [0, 4])
def test_other_results_bar_the_mode_and_all_begins_again(at):
    stand = FakeStand(error=OtherResultsError(SOLUTION, "graph", "out[0] is 2"), at=at)
    assert len(measure(stand).solution.samples_ms) == PROTOCOL.timing_runs  # none of those before
    assert (stand.barred, stand.begun) == (["graph"], [("torch_eager",)] * 2)


def test_other_results_of_a_baseline_are_the_machines():
    stand = FakeStand(error=OtherResultsError("upstream", "graph", "out[0] is 2"))
    with pytest.raises(Verdict, match="upstream in graph") as caught:
        measure(stand)
    assert (caught.value.status, stand.barred) == (Status.MACHINE_ERROR, [])


def test_a_wrong_value_ends_it():
    stand = FakeStand(error=Verdict(Status.WRONG_VALUE, "it"))
    with pytest.raises(Verdict):
        measure(stand)
    assert len(stand.begun) == 1

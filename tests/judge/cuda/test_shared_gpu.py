"""What a judge does while others may be at work on its GPU, and what it does while they wait. In the real hosts."""

import time

import pytest

from hone.judge.child.cuda.candidate import CandidateHost
from hone.judge.device.cuda import bench
from hone.judge.verdict import Verdict
from hone.machine.turns import Turns
from hone.records import Status

from .fake_driver import FakeCuda, HostRunner

RIGHT = "return 1 / (1 + torch.exp(-x))"
TURNS = ("", "working", "measuring")


class Noting(Turns):
    """Turns without locks, at a GPU with other judges."""

    shared = property(lambda self: self._held != "measuring")
    wait_s = 0.0

    def _take(self, lock):
        time.sleep(self.wait_s)
        self.waited_s += self.wait_s


@pytest.fixture
def told(session, monkeypatch):
    """(role, message, turn) of all that processes were asked."""
    session.turns, found = Noting(), []
    ask = HostRunner.ask

    def noting(runner, message, *limits):
        found.append((runner.role.split()[0], message["do"], session.turns._held))
        return ask(runner, message, *limits)

    monkeypatch.setattr(HostRunner, "ask", noting)
    return found


def turns_of(told, role, *does):
    return {turn for who, what, turn in told if who == role and (not does or what in does)}


def test_others_work_only_while_nothing_of_the_solution_is_there(session, told):
    session(RIGHT)
    found = {turn: {(who.removeprefix("cuda_"), what) for who, what, held in told if held == turn} for turn in TURNS}
    assert found[""] == {("reference", "build"), ("candidate", "warm")}  # nobody waits for them, and they for nobody
    assert found["working"] == {("reference", what) for what in ("warm", "load", "ahead")}
    mapped = told.index(("cuda_candidate", "map", "measuring"))
    assert {turn for _, _, turn in told[mapped:]} == {"measuring"}


def test_what_the_reference_no_longer_uses_is_free_when_a_solution_comes(session, told, monkeypatch):
    monkeypatch.setattr(FakeCuda, "empty_cache", lambda cuda: told.append(("cuda_reference", "give back", "")))
    session(RIGHT)
    steps = [what for _, what, _ in told]
    assert "ahead" in steps
    assert steps[steps.index("map") - 1] == "give back"  # after all that comes before a solution


def test_a_problem_that_needs_much_memory_has_the_gpu_to_itself(session, told, monkeypatch):
    monkeypatch.setattr(bench, "LARGE", 10**12)
    (findings,) = session(RIGHT)
    assert findings.performance is not None
    assert turns_of(told, "cuda_candidate") | turns_of(told, "cuda_reference") == {"measuring"}


@pytest.mark.parametrize(("turns", "references"), [(Noting(), 2), (Turns(), 1)])
def test_a_problem_that_needs_much_memory_leaves_none_of_it_taken_where_others_are(
    session, monkeypatch, turns, references
):
    """Another one that needs as much might be next; alone, the reference serves all solutions of the problem."""
    monkeypatch.setattr(bench, "LARGE", 10**12)
    session.turns = turns
    found = session(RIGHT, RIGHT)
    assert all(findings.performance is not None for findings in found)
    assert session.roles().count("cuda_reference") == references


@pytest.fixture
def full(monkeypatch):
    """The GPU's memory is full for the first solution's process; how many were started."""
    load, started = CandidateHost._load, []

    def loading(host, message):
        started.append(host)
        if len(started) == 1:
            return {"error": {"kind": "memory", "text": "CUDA out of memory"}}
        return load(host, message)

    monkeypatch.setattr(CandidateHost, "_load", loading)
    return started


def test_who_lacks_memory_beside_others_is_judged_alone(session, told, full):
    (findings,) = session(RIGHT)
    assert findings.performance is not None
    again = told[1 + max(at for at, (_, what, _) in enumerate(told) if what == "build") :]
    assert len(full) == 2 and {turn for _, _, turn in again} == {"measuring"}


def test_who_lacks_memory_alone_lacks_it(session, full):
    with pytest.raises(Verdict, match="out of memory") as error:
        session(RIGHT)
    assert (error.value.status, len(full)) == (Status.OUT_OF_MEMORY, 1)


def test_waiting_is_a_phase_of_its_own(session):
    session.turns = Noting()
    session.turns.wait_s = 0.05
    (findings,) = session(RIGHT)
    phases = findings.phase_s
    assert phases["waiting"] == pytest.approx(session.turns.waited_s, abs=0.06)  # all but the end of the processes
    assert all(seconds >= 0 for seconds in phases.values())

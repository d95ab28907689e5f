"""What a judge does while others may be at work on its GPU, and what it does while they wait. In the real hosts."""

import time

import pytest

from hone.judge.child.cuda.candidate import CandidateHost
from hone.judge.device.cuda import bench
from hone.judge.verdict import Verdict
from hone.machine.turns import Turns
from hone.records import Status

from .fake_driver import FakeCuda, HostRunner
from .fakes import PROTOCOL

RIGHT = "return 1 / (1 + torch.exp(-x))"
TURNS = ("", "working", "measuring", "quiet")


class Waiting:
    """A lock that others leave after some time; how it is held."""

    def __init__(self):
        self.wait_s, self.held, self.wanted = 0.0, "", False

    def enter(self, *, alone):
        time.sleep(self.wait_s)
        self.held = "alone" if alone else "together"
        return self.wait_s

    def leave(self):
        self.held = ""


def beside_others():
    """Turns at a GPU with other judges."""
    return Turns(Waiting(), Waiting())


@pytest.fixture
def told(session, monkeypatch):
    """(role, message, turn) of all that processes were asked; `quiet`: while nobody may open the GPU."""
    session.turns, found = beside_others(), []
    ask = HostRunner.ask
    session.opened = []

    def noting(runner, message, *limits):
        turn = "quiet" if session.turns._quiet else session.turns._held
        found.append((runner.role.split()[0], message["do"], turn))
        if session.turns._opening.held == "together":
            session.opened.append(message["do"])
        return ask(runner, message, *limits)

    monkeypatch.setattr(HostRunner, "ask", noting)
    return found


def turns_of(told, role, *does):
    return {turn for who, what, turn in told if who == role and (not does or what in does)}


def test_others_work_only_while_nothing_of_the_solution_is_there(session, told):
    session(RIGHT)
    found = {turn: {(who.removeprefix("cuda_"), what) for who, what, held in told if held == turn} for turn in TURNS}
    assert found[""] == {("reference", "build"), ("reference", "open_gpu"), ("candidate", "warm")}
    assert session.opened == ["open_gpu", "warm"]
    assert found["working"] == {("reference", what) for what in ("warm", "load", "ahead")}
    mapped = told.index(("cuda_candidate", "map", "measuring"))
    assert {turn for _, _, turn in told[mapped:]} == {"measuring", "quiet"}


def test_nobody_opens_the_gpu_while_times_are_taken(session, told):
    session(RIGHT, protocol=PROTOCOL.model_copy(update={"as_published": "v0"}))
    timed = {"capture", "arm", "gate_cost", "as_published", "batch", "try_graph"}
    beside = {"trial", "compare", "reveal", "settle", "choose_gate", "flush", "open", "refresh"}
    assert {turn for _, what, turn in told if what in timed} == {"quiet"}
    assert {what for who, what, turn in told if (who, turn) == ("cuda_reference", "measuring")} <= beside


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
    assert turns_of(told, "cuda_candidate") | turns_of(told, "cuda_reference") == {"measuring", "quiet"}
    assert session.opened == []


@pytest.mark.parametrize(("turns", "references"), [(beside_others(), 2), (Turns(), 1)])
def test_a_problem_that_needs_much_memory_leaves_none_of_it_taken_where_others_are(
    session, monkeypatch, turns, references
):
    """Another one that needs as much might be next; alone, the reference serves all solutions of the problem."""
    monkeypatch.setattr(bench, "LARGE", 10**12)
    session.turns = turns
    found = session(RIGHT, RIGHT)
    assert all(findings.performance is not None for findings in found)
    assert session.roles().count("cuda_reference") == references


class Full(list):
    """Processes of solutions that were started; for the first of them, so many, the GPU's memory is full."""

    lacking = 1


@pytest.fixture
def full(monkeypatch):
    load, started = CandidateHost._load, Full()

    def loading(host, message):
        started.append(host)
        if len(started) <= started.lacking:
            return {"error": {"kind": "memory", "text": "CUDA out of memory"}}
        return load(host, message)

    monkeypatch.setattr(CandidateHost, "_load", loading)
    return started


def test_who_lacks_memory_beside_others_is_judged_alone(session, told, full):
    (findings,) = session(RIGHT)
    assert findings.performance is not None
    again = told[1 + max(at for at, (_, what, _) in enumerate(told) if what == "build") :]
    assert len(full) == 2 and {turn for _, _, turn in again} == {"measuring", "quiet"}


@pytest.mark.parametrize(
    ("detail", "lacks"), [("CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", True), ("an error", False)]
)
def test_a_library_without_memory_is_told_by_its_words(detail, lacks):
    assert bench._lacks_memory(Verdict(Status.RUNTIME_ERROR, detail)) == lacks


@pytest.mark.parametrize("text", ["CUBLAS_STATUS_ALLOC_FAILED", "CUDA out of memory"])
def test_what_fails_beside_other_judges_solutions_is_done_again_in_its_own_turn(session, told, monkeypatch, text):
    warm = CandidateHost._warm

    def warming(host, message):
        return warm(host, message) if session.turns._held else {"error": {"kind": "run", "text": text}}

    monkeypatch.setattr(CandidateHost, "_warm", warming)
    (findings,) = session(RIGHT)
    assert findings.performance is not None
    assert turns_of(told, "cuda_candidate", "warm") == {"", "measuring"}


def test_who_lacks_memory_alone_lacks_it(session, full):
    with pytest.raises(Verdict, match="out of memory") as error:
        session(RIGHT)
    assert (error.value.status, len(full)) == (Status.OUT_OF_MEMORY, 1)


@pytest.mark.parametrize("large", [1, 10**12])
def test_who_lacks_what_others_keep_in_memory_is_judged_without_it(session, monkeypatch, full, large):
    """Nobody else works on the GPU, but their references lie in its memory: right kernels were `out_of_memory` so."""
    monkeypatch.setattr(bench, "LARGE", large)
    memory = Waiting()
    session.turns = Turns(Waiting(), Waiting(), memory)
    load, held = CandidateHost._load, []
    monkeypatch.setattr(CandidateHost, "_load", lambda *given: held.append(memory.held) or load(*given))
    (findings,) = session(RIGHT)
    assert findings.performance is not None and len(full) == 2
    assert held == ["together", "alone"]
    assert not memory.held


def test_who_lacks_memory_without_anything_of_others_lacks_it(session, full):
    session.turns, full.lacking = Turns(Waiting(), Waiting(), Waiting()), 100
    with pytest.raises(Verdict, match="out of memory") as error:
        session(RIGHT)
    assert (error.value.status, len(full)) == (Status.OUT_OF_MEMORY, 2)


def test_memory_that_another_judge_waits_for_is_given_back_before_the_next_solution(session):
    memory = Waiting()
    session.turns = Turns(Waiting(), Waiting(), memory)
    session(RIGHT, RIGHT)
    assert session.roles().count("cuda_reference") == 1
    memory.wanted = True
    session(RIGHT, RIGHT)
    assert session.roles().count("cuda_reference") == 2


@pytest.mark.parametrize("large", [1, 10**12])
def test_waiting_is_counted_once(session, monkeypatch, large):
    monkeypatch.setattr(bench, "LARGE", large)
    session.turns = beside_others()
    session.turns._opening.wait_s = 0.1
    (findings,) = session(RIGHT)
    assert session.turns.waited_s > 0.2
    assert findings.phase_s["waiting"] == pytest.approx(session.turns.waited_s, abs=0.05)


@pytest.mark.parametrize("large", [1, 10**12])
@pytest.mark.parametrize("lacking", [0, 1])
def test_waiting_is_a_phase_of_its_own(session, monkeypatch, full, large, lacking):
    monkeypatch.setattr(bench, "LARGE", large)
    session.turns, full.lacking = Turns(Waiting(), Waiting(), Waiting()), lacking
    session.turns._gpu.wait_s, session.turns._opening.wait_s = 0.05, 0.02
    session.turns._memory.wait_s = 0.5
    (findings,) = session(RIGHT)
    phases = findings.phase_s
    assert phases["waiting"] == pytest.approx(session.turns.waited_s, abs=0.06)  # all but the end of the processes
    assert all(seconds >= 0 for seconds in phases.values())

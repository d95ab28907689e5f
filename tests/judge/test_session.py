"""What a session remembers from one solution to the next, on a bench that is a fake."""

from dataclasses import dataclass, field

import pytest

from hone.core.errors import MachineError
from hone.judge import session as sessions
from hone.judge.baselines import BesideError
from hone.judge.case import Case
from hone.judge.findings import Findings
from hone.judge.session import Session
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.records import Build, BuildStatus, Status
from hone.sources.gold import gold_solution

from .conftest import QUICK, scale_definition, workload_of

LACKING = Verdict(Status.NOT_JUDGED, "the reference needs more memory")


@dataclass
class FakeBench:
    """Raises what it is told to, in turn; None: the solution passes."""

    answers: list
    judged: list = field(default_factory=list)
    dropped: int = 0
    entered: bool = False

    def __enter__(self):
        self.entered = True
        return self

    def __exit__(self, *_):
        self.entered = False

    def judge(self, case, findings):
        assert self.entered
        self.judged.append(case.workload.name)
        answer = self.answers.pop(0)
        if answer is not None:
            raise answer

    def drop(self):
        self.dropped += 1


@pytest.fixture
def started(monkeypatch):
    """Makes a session on a bench with these answers."""

    def start(*answers):
        bench = FakeBench(list(answers))
        monkeypatch.setattr(sessions, "open_bench", lambda protocol, baselines: bench)
        return Session(QUICK, ("torch_eager",)), bench

    return start


def case(name="own", status=BuildStatus.INTERPRETED):
    item = scale_definition()
    solution = gold_solution(item)
    build = Build(solution=solution.id, status=status, log="error: no")
    return Case(solution, build, item, workload_of(item).model_copy(update={"name": name, "seed": len(name)}), None)


def outcomes(session, *cases):
    """What `examine` raised for each, or None."""
    found = []
    with session:
        for one in cases:
            try:
                found.append(session.examine(one, Findings()))
            except (Verdict, MachineError) as error:
                found.append(error)
    return found


def test_the_bench_is_open_as_long_as_the_session(started):
    session, bench = started(None)
    assert outcomes(session, case()) == [None]
    assert (bench.entered, bench.dropped) == (False, 0)


def test_a_workload_that_nothing_can_be_judged_on_is_refused_from_then_on(started):
    session, bench = started(LACKING, None)
    assert outcomes(session, case(), case(), case("other"), case()) == [LACKING, LACKING, None, LACKING]
    assert bench.judged == ["own", "other"]


@pytest.mark.parametrize("status", [Status.WRONG_VALUE, Status.TIMEOUT, Status.MACHINE_ERROR])
def test_no_other_verdict_says_anything_about_the_next_solution(started, status):
    session, bench = started(Verdict(status, "it"), None)
    assert outcomes(session, case(), case())[1] is None
    assert bench.judged == ["own", "own"]


def test_what_one_solution_lacks_is_no_reason_to_refuse_the_workload(started):
    session, bench = started(UnsuitedVerdict("no TileLang"), None)
    assert outcomes(session, case(), case())[1] is None
    assert bench.judged == ["own", "own"]


@pytest.mark.parametrize(
    ("answer", "dropped"),
    [
        (None, 0),
        (Verdict(Status.WRONG_VALUE, "it"), 0),
        (Verdict(Status.MACHINE_ERROR, "killed"), 1),
        (LACKING, 1),
        (BesideError("torch_eager", Verdict(Status.RUNTIME_ERROR, "it")), 1),
        (MachineError("no GPU", remedy="add one"), 1),
    ],
)
def test_the_next_solution_gets_new_processes_where_those_may_be_broken(started, answer, dropped):
    session, bench = started(answer)
    assert outcomes(session, case()) == [answer]
    assert bench.dropped == dropped


def test_an_interrupt_leaves_no_process_behind(started):
    session, bench = started(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        outcomes(session, case())
    assert (bench.dropped, bench.entered) == (1, False)


def test_what_was_not_built_never_meets_the_bench(started):
    session, bench = started()
    (found,) = outcomes(session, case(status=BuildStatus.REJECTED))
    assert (found.status, bench.judged) == (Status.LOAD_ERROR, [])

"""What a session judges again: solutions that captures break, and times of two kinds. In the real hosts."""

from types import SimpleNamespace

import pytest

from hone.judge.child.cuda.candidate import CandidateHost
from hone.judge.child.cuda.reference import ReferenceHost
from hone.judge.child.cuda.yardsticks import Yardsticks
from hone.judge.device.cuda import bench, doubts, timing
from hone.judge.device.cuda.bench import CudaBench
from hone.judge.device.cuda.doubts import MUCH_CHARGED
from hone.judge.device.cuda.timing import DeviceTiming
from hone.judge.device.cuda.ways import BROKEN_BY_CAPTURES
from hone.judge.verdict import Verdict
from hone.records import Status

from .fakes import PROTOCOL
from .rigs import OUT, SETS, problem

NOTHING = problem("nothing", "return x * 0", OUT)
RIGHT = "return 1 / (1 + torch.exp(-x))"


# --------------------------------------------------------------------------------------- what captures break


@pytest.fixture
def captures(monkeypatch):
    """Hosts of solutions in which a capture was tried; `breaking(how)`: it fails, and does this to the host."""
    capture, found = CandidateHost._capture, []

    def noting(host, message):
        found.append(host)
        return capture(host, message)

    def breaking(how):
        def fails(host, message):
            found.append(host)
            how(host)
            return {"error": {"kind": "run", "text": "operation not permitted"}}

        monkeypatch.setattr(CandidateHost, "_capture", fails)

    monkeypatch.setattr(CandidateHost, "_capture", noting)
    return SimpleNamespace(found=found, breaking=breaking)


def goes_wrong(host):
    host._model = lambda x: x + 1


def fails(host):
    def model(x):
        raise RuntimeError("CUDA error: operation failed due to a previous error during capture")

    host._model = model


@pytest.mark.parametrize("breaks", [goes_wrong, fails])
def test_what_a_capture_breaks_is_judged_again_in_a_process_without_any(session, captures, breaks):
    captures.breaking(breaks)
    (findings,) = session(RIGHT)
    clock = findings.performance.clock
    assert (clock.mode, clock.runs_per_sample) == ("queued", SETS)
    assert clock.refused == dict.fromkeys(("graph", "replay"), BROKEN_BY_CAPTURES)
    assert clock.baseline_modes == {"torch_eager": "graph"}
    assert clock.attempts == 1
    assert len({id(host) for host in captures.found}) == 1
    assert session.roles().count("cuda_candidate") == 2
    assert findings.errors.wrong_fraction == 0.0


def test_what_is_wrong_before_any_capture_is_wrong_at_once(session, captures):
    with pytest.raises(Verdict) as caught:
        session("return x")
    assert caught.value.status is Status.WRONG_VALUE
    assert (captures.found, session.roles().count("cuda_candidate")) == ([], 1)


def test_what_goes_wrong_without_captures_too_is_wrong(session, captures):
    """After its first calls, however they are launched."""
    body = "x.sum().item(); self.calls += 1; return torch.sigmoid(x) + (self.calls > 8)"
    with pytest.raises(Verdict, match="wrong in a timed run though right before") as caught:
        session(body, init="self.calls = 0")
    assert caught.value.status is Status.WRONG_VALUE
    assert session.roles().count("cuda_candidate") == 2


def test_a_graph_of_its_own_over_its_first_inputs_is_wrong_without_captures_too(session, captures):
    body = "self.x = x if self.x is None else self.x; return self.out.copy_(torch.sigmoid(self.x))"
    with pytest.raises(Verdict, match="wrong in a timed run though right before") as caught:
        session(body, init="self.x = None; self.out = torch.empty(6, 5)")
    assert (caught.value.status, session.roles().count("cuda_candidate")) == (Status.WRONG_VALUE, 2)


def test_a_changed_input_is_no_work_of_captures(session, captures):
    body = "self.calls += 1; x.add_(1.0 if self.calls > 8 else 0.0)"
    with pytest.raises(Verdict) as caught:
        session(f"x.sum().item(); {body}; return torch.sigmoid(x)", init="self.calls = 0")
    assert caught.value.status is Status.INPUT_CHANGED
    assert captures.found
    assert session.roles().count("cuda_candidate") == 1


# ---------------------------------------------------------------------------------------- times of two kinds


@pytest.fixture
def slow(monkeypatch):
    """Says of each measurement in turn whether its times are of two kinds."""

    def says(*answers):
        left = list(answers)
        monkeypatch.setattr(timing.DeviceTiming, "_findings", lambda *_: iter(["slow_times"] if left.pop(0) else []))

    return says


@pytest.mark.parametrize(
    ("answers", "attempts", "found"), [((False,), 1, ()), ((True, False), 2, ()), ((True, True), 2, ("slow_times",))]
)
def test_times_of_two_kinds_are_taken_once_more_in_fresh_processes(session, slow, answers, attempts, found):
    slow(*answers)
    (findings,) = session(RIGHT)
    assert (findings.performance.clock.attempts, findings.performance.findings) == (attempts, found)
    for role in ("cuda_candidate", "cuda_reference"):
        assert session.roles().count(role) == attempts


@pytest.mark.parametrize(
    ("mode", "charges", "attempts"),
    [
        ("graph", [0.05], 1),
        ("graph", [0.5, 0.0], 2),  # a fault of the first process
        ("queued", [0.5, 0.5], 2),  # hidden work
        ("stream", [0.5], 1),  # the host's noise
    ],
)
def test_much_charged_is_timed_once_more_and_the_second_times_count(session, monkeypatch, mode, charges, attempts):
    take, left = DeviceTiming.performance, list(charges)

    def charged(stand):
        found = take(stand)
        share = left.pop(0)
        clock = found.clock.model_copy(update={"mode": mode, "charged_ms": share * found.solution.latency_ms})
        return found.model_copy(update={"clock": clock})

    monkeypatch.setattr(DeviceTiming, "performance", charged)
    monkeypatch.setattr(doubts, "MUCH_CHARGED", MUCH_CHARGED)
    (findings,) = session(RIGHT)
    clock = findings.performance.clock
    assert (left, clock.attempts) == ([], attempts)
    assert clock.charged_ms == pytest.approx(charges[-1] * findings.performance.solution.latency_ms)
    assert session.roles().count("cuda_candidate") == session.roles().count("cuda_reference") == attempts


def test_the_next_solutions_times_are_first_ones_again(session, slow):
    slow(True, False, False)
    first, second = session(RIGHT, "return torch.sigmoid(x)")
    assert (first.performance.clock.attempts, second.performance.clock.attempts) == (2, 1)


@pytest.fixture
def second(monkeypatch):
    """Lets the second measurement of a solution end with this verdict."""
    take = CudaBench._take_times

    def ends(verdict):
        left = [None, verdict]

        def taking(*given):
            take(*given)
            if (raised := left.pop(0)) is not None:
                raise raised

        monkeypatch.setattr(CudaBench, "_take_times", taking)

    return ends


def test_what_the_machine_does_the_second_time_leaves_the_first_times(session, slow, second):
    slow(True, False)
    second(Verdict(Status.MACHINE_ERROR, "killed"))
    (findings,) = session(RIGHT)
    assert (findings.performance.clock.attempts, findings.performance.findings) == (1, ("slow_times",))


def test_the_first_times_are_those_of_both_clocks(session, slow, second, monkeypatch):
    take, trials = bench.measure_as_published, [1, 2]

    def counted(*given):
        return take(*given).model_copy(update={"trials": trials.pop(0)})

    monkeypatch.setattr(bench, "measure_as_published", counted)
    slow(True, False)
    second(Verdict(Status.MACHINE_ERROR, "killed"))
    (findings,) = session(RIGHT, protocol=PROTOCOL.model_copy(update={"as_published": "v0"}))
    assert (trials, findings.as_published.trials) == ([], 1)


def test_what_a_solution_does_the_second_time_counts(session, slow, second):
    slow(True, False)
    second(Verdict(Status.INPUT_CHANGED, "it"))
    with pytest.raises(Verdict) as caught:
        session(RIGHT)
    assert caught.value.status is Status.INPUT_CHANGED


# ------------------------------------------------------------------------------- findings, KernelBench's own loop


@pytest.mark.parametrize(("rule", "found"), [("hone", ("reuses_outputs",)), ("kernelbench", ())])
def test_a_returned_buffer_is_a_finding_of_hones_rule_alone(session, rule, found):
    protocol = PROTOCOL.model_copy(update={"rule": rule})
    (findings,) = session(
        "return self.out.copy_(torch.sigmoid(x))", protocol=protocol, init="self.out = torch.empty(6, 5)"
    )
    assert findings.performance.clock.runs_per_sample > 1 and findings.performance.findings == found


def test_a_time_whose_precision_nothing_could_measure_is_a_finding(session, monkeypatch):
    monkeypatch.setattr(Yardsticks, "_exactly", lambda *_: None)
    monkeypatch.setattr(Yardsticks, "_by_rows", lambda *_: None)
    (findings,) = session("return torch.zeros_like(x)", item=NOTHING)
    assert (findings.errors.yardstick, findings.performance.findings) == ("none", ("precision_unchecked",))


@pytest.mark.parametrize(("rule", "found"), [("hone", ("no_custom_kernel",)), ("kernelbench", ())])
def test_a_module_that_leaves_everything_to_pytorch_is_a_finding_of_hones_rule(session, rule, found):
    (findings,) = session(RIGHT, protocol=PROTOCOL.model_copy(update={"rule": rule}), head="")
    assert findings.performance.findings == found


def test_the_reference_as_its_own_solution_is_meant_to_leave_everything_to_pytorch(session):
    (findings,) = session(None)
    assert findings.performance.findings == ()


@pytest.mark.parametrize("version", [None, "v0", "main"])
def test_the_published_loop_stands_beside_the_credit(session, version):
    protocol = PROTOCOL.model_copy(update={"as_published": version})
    for findings in session(RIGHT, "return torch.sigmoid(x)", protocol=protocol):
        performance, published = findings.performance, findings.as_published
        assert performance.clock.mode == "graph"
        assert (published and published.version) == version
        medians = performance.baselines["torch_eager"].latency_ms / performance.solution.latency_ms
        assert performance.speedup("torch_eager") == medians


WRITES = "y = torch.sigmoid(x); x.zero_(); return y"


@pytest.mark.parametrize(
    ("body", "status", "version", "timed"),
    [
        (WRITES, Status.INPUT_CHANGED, "main", True),
        ("return torch.sigmoid(x) * (1 + 8e-5)", Status.IMPRECISE, "v0", True),
        (WRITES, Status.INPUT_CHANGED, None, False),
        ("return x", Status.WRONG_VALUE, "main", False),  # by that rule, too
    ],
)
def test_what_fails_our_rule_alone_is_timed_by_the_published_loop(session, body, status, version, timed):
    with pytest.raises(Verdict) as caught:
        session(body, protocol=PROTOCOL.model_copy(update={"as_published": version}))
    (findings,) = session.found
    assert (caught.value.status, findings.performance) == (status, None)
    assert (findings.as_published is not None) == timed
    if timed:
        assert findings.as_published.version == version
        assert findings.as_published.baselines_ms.keys() == {"torch_eager"}


def test_a_solution_that_dies_in_the_published_loop_has_failed_as_before(session, monkeypatch):
    def dies(*_):
        raise Verdict(Status.RUNTIME_ERROR, "killed")

    monkeypatch.setattr("hone.judge.device.cuda.bench.measure_as_published", dies)
    with pytest.raises(Verdict) as caught:
        session(WRITES, protocol=PROTOCOL.model_copy(update={"as_published": "v0"}))
    assert (caught.value.status, session.found[0].as_published) == (Status.INPUT_CHANGED, None)


def test_no_solutions_code_is_there_when_the_published_loop_times_baselines(session, monkeypatch):
    """It could slow them down, for all solutions that come later too. Its empty process may be there already."""
    take, there = ReferenceHost._as_published, []

    def watching(host, message):
        candidates = [runner.host for runner in session.runners() if isinstance(runner.host, CandidateHost)]
        there.append([host for host in candidates if host._model is not None])
        return take(host, message)

    monkeypatch.setattr(ReferenceHost, "_as_published", watching)
    protocol = PROTOCOL.model_copy(update={"as_published": "v0"})
    session(RIGHT, "return torch.sigmoid(x)", protocol=protocol)
    assert there and not any(there)

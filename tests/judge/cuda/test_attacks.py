"""Attacks on the judge of a GPU, on a simulated one: none may earn more than the judge says that it lets pass."""

import ctypes

import pytest

from hone.judge.device.cuda import driver
from hone.judge.device.cuda.side import DeviceSubject
from hone.judge.device.cuda.timing import DeviceTiming
from hone.judge.device.cuda.trials import DeviceTrials
from hone.judge.findings import Findings
from hone.judge.procedure import Examination
from hone.judge.verdict import Verdict
from hone.records import Status

from .fake_driver import HostRunner, word
from .fakes import GATE_MS, GPU, PROTOCOL, Honest, result_of
from .rigs import IN_PLACE, NORMAL, SCALE, SETS, armed, captured, refused

UNEARNED = 1.06
"""What a solution may gain by lying, as docs/judge_gpu.md has it for batches of 3 ms: some 4 %."""
RARE = PROTOCOL.model_copy(update={"audit_every": 10**9})


def measure(made):
    return made.measure()


def speedup(bench, solution, *, run_ms, baseline_ms, ground=None, **options):
    """What a solution is credited with; 0 where it is refused. `ground`: more about the reference's process."""
    made = bench(solution, run_ms=run_ms, **options)
    made.ground.run_ms = baseline_ms
    for name, value in (ground or {}).items():
        setattr(made.ground, name, value)
    try:
        return measure(made).speedup("torch_eager")
    except Verdict:
        return 0.0


class Silent(Honest):
    """Says nothing of its kernels: then events are the figure, by its own choice."""

    def busy_ms(self):
        return "none"


# ------------------------------------------------------------------------------ how many runs a batch has


class Forges(Honest):
    """Says of every batch in a graph that it took a tenth of its time, and the same of its kernels."""

    def claim(self, true_ms):
        return true_ms / 10

    def busy_ms(self):
        return self.run_ms / 10


class SaysSlow(Forges):
    """Says that its first runs, which decide how many a batch has, took long."""

    def time(self, message):
        wall_ms, answer = super().time(message)
        return wall_ms, answer if message["mode"] == "null" else {"device_ms": 10.0}


class IsSlowAtFirst(Forges):
    """Takes long as long as it is not captured."""

    def time(self, message):
        wall_ms, answer = super().time(message)
        if message["mode"] == "null":
            return wall_ms, answer
        return wall_ms + 10.0, {"device_ms": answer["device_ms"] + 10.0}


@pytest.mark.parametrize("solution", [SaysSlow, IsSlowAtFirst])
@pytest.mark.parametrize("run_ms", [0.003, 0.02])
def test_slow_first_runs_do_not_make_batches_too_short_to_check_claims(bench, solution, run_ms):
    found = speedup(bench, solution, run_ms=run_ms, baseline_ms=run_ms, sets=128)
    assert found < 1.5  # 0.4 ms a batch: a quarter may be hidden


def test_a_slow_first_run_of_an_honest_solution_does_not_change_its_time(bench):
    class Slow(IsSlowAtFirst):
        def claim(self, true_ms):
            return true_ms

        def busy_ms(self):
            return self.run_ms

    assert speedup(bench, Slow, run_ms=0.02, baseline_ms=0.04, sets=128) == pytest.approx(2.0, rel=0.05)


class OneLaunch(Silent):
    """Cannot wait at a gate, and does all runs whose inputs it can see in the time of one."""

    captures = queues = False

    def runs(self, first, end, gate_ms):
        return min(super().runs(first, end, gate_ms), self.run_ms)


@pytest.mark.parametrize("run_ms", [0.003, 0.1, 2.0])
@pytest.mark.parametrize("captures", [True, False])
def test_in_the_stream_one_launch_cannot_do_the_work_of_several_runs(bench, run_ms, captures):
    assert speedup(bench, OneLaunch, run_ms=run_ms, baseline_ms=run_ms, sets=128, captures=captures) < UNEARNED


class ForgesInTheStream(Forges):
    captures = queues = False


@pytest.mark.parametrize("run_ms", [0.003, 0.1, 2.0])
@pytest.mark.parametrize("captures", [True, False])
def test_in_the_stream_no_part_of_a_short_claim_is_taken_on_trust(bench, run_ms, captures):
    found = speedup(bench, ForgesInTheStream, run_ms=run_ms, baseline_ms=run_ms, sets=128, captures=captures)
    assert found < UNEARNED


class ForgesShortBatches(Silent):
    """Says of a batch that is shorter than what is noise to the judge's clock that it took a quarter of its time."""

    def claim(self, true_ms):
        return true_ms / 4 if true_ms < 0.05 else true_ms


class ForgesAfterSlowRuns(ForgesShortBatches):
    """Says that its first runs took as long as the baseline's, so that batches get no longer."""

    def time(self, message):
        wall_ms, answer = super().time(message)
        return wall_ms, answer if message["mode"] == "null" else {"device_ms": 8.0}


class ForgesInTheStreamAlone(ForgesShortBatches):
    captures = False


@pytest.mark.parametrize("solution", [ForgesShortBatches, ForgesAfterSlowRuns, ForgesInTheStreamAlone])
@pytest.mark.parametrize("run_ms", [0.004, 0.02])
def test_a_solution_much_faster_than_its_baseline_can_hide_no_more_than_others(bench, solution, run_ms):
    found = speedup(bench, solution, run_ms=run_ms, baseline_ms=8.0, sets=128)
    assert found < 8.0 / run_ms * 1.35  # a quarter, and three per cent


def test_the_batch_of_a_much_faster_solution_is_long_enough_for_the_judges_clock(bench):
    made = bench(run_ms=0.2, sets=128)
    made.ground.run_ms = 3.9
    assert measure(made).clock.runs_per_sample == 5


# ------------------------------------------------------------------------------ work where no clock is running


class AtCollect(Silent):
    """Leaves its graph empty; works when it is asked for the time of a graph that is done, as Python can."""

    armed = False

    def runs(self, first, end, gate_ms):
        self.armed = bool(gate_ms)
        if not gate_ms:
            return super().runs(first, end, gate_ms)
        return (end - first) * gate_ms

    def _collect(self, message):
        if self.loaded and self.armed:
            self.device.now_ms += self.device.count * self.run_ms
            for index in range(self.device.count):
                self.compute(index)
        return super()._collect(message)


def test_work_that_is_done_when_the_time_is_collected_counts(bench):
    assert speedup(bench, AtCollect, run_ms=0.1, baseline_ms=0.1, copies=True) < UNEARNED


def test_a_launchers_work_when_the_time_is_collected_is_too_late(bench):
    """Its results are looked at before it is asked: it is timed where it does its work when it is told to."""
    made = bench(AtCollect, run_ms=0.1)
    made.ground.run_ms = 0.1
    found = measure(made)
    assert found.clock.mode == "stream"
    assert found.speedup("torch_eager") < UNEARNED
    assert all("other results" in found.clock.refused[mode] for mode in ("graph", "queued"))


def test_a_batch_in_two_parts_is_looked_at_before_the_process_wakes(bench):
    """A launcher that hands out stale results in the second part, and mends them when its time is collected."""

    class Mends(Silent):
        def runs(self, first, end, gate_ms):
            if not gate_ms:
                return super().runs(first, end, gate_ms)
            if first == 0:
                self.known = [result_of(value) for value in self.device.inputs]
            for index in range(first, end):
                self.put(index, self.known[index])
            return (end - first) * gate_ms + self.device.count * self.run_ms * (first == 0) / 3

        def _collect(self, message):
            if self.loaded:
                for index in range(self.device.count):
                    self.put(index, result_of(self.device.inputs[index]))
            return super()._collect(message)

    assert speedup(bench, Mends, run_ms=0.1, baseline_ms=0.1) < UNEARNED


# ------------------------------------------------------------------------------ what is never looked at


class IdlesBeforeTheLast(Silent):
    """Works in the warm-up and in the last of three turns, and in every batch that is not let run as a whole."""

    whole = 0

    def runs(self, first, end, gate_ms):
        whole = bool(gate_ms) and first == 0 and end == self.device.count
        self.whole += whole
        if whole and self.whole in (3, 4):  # 1: whether it waits quietly, 2: warming up
            return (end - first) * gate_ms
        return super().runs(first, end, gate_ms)


@pytest.mark.parametrize("audit_every", [4, 10])
def test_idling_in_most_turns_does_not_pay_however_often_it_is_tried(bench, audit_every):
    brief = PROTOCOL.model_copy(update={"timing_seconds": 1e-9, "timing_runs": 12, "audit_every": audit_every})
    found = [speedup(bench, IdlesBeforeTheLast, run_ms=0.1, baseline_ms=0.1, protocol=brief) for _ in range(20)]
    assert max(found) < UNEARNED


# ------------------------------------------------------------------------------ slack, gates, CUPTI


@pytest.mark.parametrize("copies", [False, True])
def test_the_slack_for_showing_and_copying_is_no_discount_on_claims(bench, copies):
    class JustBelow(Silent):
        """Claims a little too little, and has nothing to hide elsewhere."""

        def claim(self, true_ms):
            return 0.925 * true_ms

    found = speedup(bench, JustBelow, run_ms=0.03, baseline_ms=0.03, sets=128, copies=copies)
    assert found < UNEARNED


class LeavesWork(Silent):
    """Leaves work behind on another stream when it has shown for the first time that its graph waits quietly."""

    left = False

    def _collect(self, message):
        answer = super()._collect(message)
        if self.loaded and not self.left:
            self.left = True
            self.device.background_ms += self.device.count * 0.95 * self.run_ms
        return answer


def test_work_that_is_left_behind_does_not_make_gates_look_dear(bench):
    made = bench(LeavesWork, run_ms=0.1, sets=16)
    made.ground.run_ms = 0.11
    device = made.device

    def gate_cost(_):
        left, device.background_ms = device.background_ms, 0.0
        return dict.fromkeys(("graph_ms", "queued_ms"), GATE_MS + left / device.count)

    made.ground._gate_cost = gate_cost
    assert measure(made).speedup("torch_eager") == pytest.approx(1.1, rel=0.05)


def test_many_kernels_of_a_baseline_are_no_room_for_a_false_claim_of_few(bench):
    """The baseline's eight kernels lie apart in its graph; a solution of one kernel has nothing between kernels."""

    class Understates(Honest):
        def busy_ms(self):
            return self.run_ms / 4

    ground = {"_spans": lambda message: {"busy_ms": 0.028, "kernels": 8}}  # 0.04 as a graph
    found = speedup(bench, Understates, run_ms=0.02, baseline_ms=0.04, ground=ground, sets=75)
    assert found < 2.0 * 1.1


# ------------------------------------------------------------------------------ what holds the baseline up


def trap(made):
    """A stream of the solution's that goes on as soon as a gate that it knows has been closed and opened again."""
    gate, sprung = made.host._gate, []
    made.device.process = "cuda_candidate"
    stream = made.device.new_stream()
    made.device.enqueue(stream, lambda: word(gate.open_word(0)).value == 0)
    made.device.enqueue(stream, lambda: word(gate.open_word(0)).value == 1)
    made.device.enqueue(stream, lambda: sprung.append(True) or True)
    return sprung


def test_no_work_of_a_solutions_on_the_gpu_can_wait_for_the_baselines_batch(rig):
    """It could slow the baseline down, or close its gates again and let it wait there."""
    made = rig(SCALE, "return self.weight / (1 + torch.exp(-x))", init=NORMAL)
    made.reference.refresh(10, 9, SETS)
    made.reference.reveal(0, SETS)
    assert made.reference.capture("torch_eager")
    sprung = trap(made)
    made.reference.gate_ms()
    made.reference.batch("torch_eager", "graph", SETS)
    made.reference.batch("torch_eager", "stream", SETS)
    assert not sprung
    captured(made)
    armed(made, 20)
    made.subject.run_armed(made.reference, SETS)  # its own batch does let it go on
    made.subject.collect()
    assert sprung


def test_an_existing_kernels_gates_are_its_own(rig):
    made = rig(SCALE, "return self.weight / (1 + torch.exp(-x))", init=NORMAL)
    captured(made)
    runner = HostRunner(made.device, type(made.host))
    kernel = DeviceSubject(runner, GPU.uuid, made.protocol, made.subject._solution, artifact=None, extensions={})
    runner.role = "kernel"
    kernel.attach(made.reference, own_gate=True)
    kernel.load(made.plan)
    sprung = trap(made)
    DeviceTiming(made.reference, kernel, made.protocol, [made.reference.scalars]).rehearse()
    assert kernel.shape.mode == "graph"
    assert not sprung
    for _ in range(2):
        armed(made, 20)
        made.subject.run_armed(made.reference, SETS)
        made.subject.collect()
    assert sprung


# ------------------------------------------------------------------------------ what a solution leaves to the next


def examined_next(made, source):
    """Findings of another solution beside the same reference."""
    runner = HostRunner(made.device, type(made.host))
    subject = DeviceSubject(
        runner, GPU.uuid, made.protocol, made.subject._solution.model_copy(update={"source": source}),
        artifact=made.subject._artifact, extensions={},
    )  # fmt: skip
    subject.attach(made.reference)
    subject.calibrate(made.reference)
    subject.load(made.plan)
    findings = Findings()
    Examination(DeviceTrials(made.reference, subject, findings), made.protocol, findings).check(4)
    return runner.host


def test_marks_between_inputs_that_one_solution_has_spoiled_are_not_the_next_ones_fault(rig):
    made = rig(IN_PLACE, "x *= 0.5; return x.sum(1)", sizes={"rows": 2, "columns": 3})
    made.ground._inputs.bytes[0] = 1
    assert "outside its outputs" in refused(made.examine).detail
    examined_next(made, made.subject._solution.source)


def test_weights_that_one_solution_has_spoiled_are_whole_again_for_the_next(rig):
    made = rig(SCALE, "return self.weight / (1 + torch.exp(-x))", init=NORMAL)
    before = made.ground._parameters.bytes.clone()
    made.ground._parameters.sets[0]["weight"].mul_(2)
    examined_next(made, made.subject._solution.source)
    assert (made.ground._parameters.bytes == before).all()


# ------------------------------------------------------------------------------ a chain on CUDA 13


class Driver13:
    """A driver that is capturing a chain of three kernels, each of which may begin before the last one ends.

    As cuda.h has it: asking for edges without asking for what they are is refused where they are not plain ones.
    """

    def cuStreamGetCaptureInfo_v2(self, stream, status, identity, graph, dependencies, count):
        status._obj.value, graph._obj.value = 1, 77
        return 0

    def cuGraphGetNodes(self, graph, nodes, count):
        count._obj.value = 3
        return 0

    def cuGraphGetEdges(self, graph, earlier, later, count):
        return 402

    def cuGraphGetEdges_v2(self, graph, earlier, later, data, count):
        if earlier is not None:
            earlier[0], earlier[1], later[0], later[1] = 1, 2, 2, 3
        count._obj.value = 2
        return 0

    def cuGetErrorString(self, code, text):
        text._obj.value = b"attempted introspection would be semantically lossy"
        return 0


def test_a_chain_of_kernels_that_overlap_a_little_is_a_chain(monkeypatch):
    monkeypatch.setattr(driver, "_driver", Driver13)
    assert driver.captured_steps(ctypes.c_void_p(5)) == (3, True)


def test_a_driver_without_the_call_is_no_reason_to_launch_everything_in_the_stream(rig, monkeypatch):
    """A baseline that can be captured but not counted says something about the machine, not about the baseline."""

    def missing(stream):
        raise AttributeError("undefined symbol: cuStreamGetCaptureInfo_v2")

    made = rig(SCALE, "return self.weight / (1 + torch.exp(-x))", init=NORMAL)
    monkeypatch.setattr(driver, "captured_steps", missing)
    assert refused(lambda: made.reference.mode("torch_eager")).status is Status.MACHINE_ERROR

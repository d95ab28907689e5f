"""Sides that are not captured, or come out differently when they are: launches pile up behind a gate, or go on."""

import sys
from types import ModuleType

import pytest
import torch
from torch.utils._python_dispatch import _disable_current_modes

from hone.judge.clocks.queued import LAUNCHING_S, queued_runs
from hone.judge.device.cuda.batches import NO_WORDS, OTHER_RESULTS
from hone.judge.device.cuda.side import NOT_CAPTURED, NOT_LAUNCHED, NOTHING_CAPTURED
from hone.judge.device.cuda.ways import BROKEN_BY_CAPTURES, UNCAPTURED
from hone.judge.verdict import Verdict
from hone.records import Status

from .fakes import COPY_MS, PROTOCOL, QUEUED_MS, Honest, result_of
from .rigs import OUT, SETS, problem, refused, same
from .test_timing import Ahead, Launching, NotCapturable, SuperBatch, Waits

# ------------------------------------------------------------------------------------------------ simulated GPU


def asked(made):
    """What the solution's process was asked for, in order."""
    return [message.get("how") or message.get("mode") or message["do"] for message in made.channel.messages]


class Eager(Honest):
    """One of its launches goes to a stream that is not captured: its graph gives other results."""

    def _arm(self, message):
        answer = super()._arm(message)
        if message["how"] == "graph" and not message["null"]:
            self.device.armed = lambda first, end: 0.0
        return answer


class AllEager(Honest):
    """All of its launches do: its graph is empty but for the gates."""

    holds = 0


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize(
    ("solution", "why"), [(NotCapturable, NOT_CAPTURED), (AllEager, NOTHING_CAPTURED), (Eager, OTHER_RESULTS)]
)
def test_what_a_graph_does_not_hold_is_timed_as_it_is_launched(bench, solution, why, copies):
    made = bench(solution, run_ms=0.1, copies=copies)
    made.ground.run_ms = 0.2
    found = made.measure()
    assert (found.clock.mode, found.clock.runs_per_sample, found.findings) == ("queued", 16, ())
    assert found.clock.refused["graph"].startswith(why) and "queued" not in found.clock.refused
    assert found.solution.latency_ms == pytest.approx(0.1 + QUEUED_MS, rel=1e-6)
    assert found.clock.charged_ms == 0.0
    assert found.baselines["torch_eager"].latency_ms == pytest.approx(0.2, rel=1e-6)


def test_no_launch_is_in_the_time_of_what_piles_up(bench):
    class Slow(Launching):
        captures = False

    made = bench(Slow, run_ms=0.1)
    assert made.measure().solution.latency_ms == pytest.approx(0.1 + QUEUED_MS, rel=1e-6)
    turns = asked(made)[-3 * PROTOCOL.timing_runs :]
    assert set(turns) == {"prepare", "queued", "collect"}


def test_a_queued_batch_is_let_run_in_two_parts(bench):
    made = bench(NotCapturable)
    made.measure()
    opened = [(item["first"], item["end"]) for item in made.ground_messages if item["do"] == "open" and item["wait"]]
    assert any(end < 16 for first, end in opened) and any(first > 0 for first, end in opened)


@pytest.mark.parametrize("solution", [SuperBatch, Ahead])
def test_work_that_is_done_for_other_queued_runs_earns_nothing(bench, solution):
    made = bench(solution, run_ms=0.1)
    made.process.captures = False
    made.ground.run_ms = 0.1
    if solution is SuperBatch:
        found = refused(made.measure)
        assert (found.status, "had not begun" in found.detail) == (Status.RUNTIME_ERROR, True)
    else:
        assert made.measure().speedup("torch_eager") == pytest.approx(1.0, rel=1e-6)


def test_what_waits_for_the_gpu_goes_to_the_stream_and_says_so(bench):
    clock = bench(Waits).measure().clock
    assert (clock.mode, clock.runs_per_sample) == ("stream", 1)
    assert clock.refused["queued"] == NOT_LAUNCHED
    assert clock.refused["graph"] == NOT_CAPTURED


class Crowded(NotCapturable):
    """The host waits for the GPU when more than six runs pile up."""

    def _arm(self, message):
        answer = super()._arm(message)
        crowded = message["how"] == "queued" and self.device.count > 6 and not self.device.open_ahead
        return answer | ({"blocked": True} if crowded else {})


class Hosted(NotCapturable):
    """Its host takes a fifth of what all launches of a batch may, for each run."""

    def _arm(self, message):
        if message["how"] == "queued":
            self.device.now_ms += self.device.count * LAUNCHING_S * 1e3 / 5
        return super()._arm(message)


class WaitsForMemory(NotCapturable):
    """Its host takes as long, but for the first launch of each run alone, which gets memory for the results."""

    known = 0

    def _arm(self, message):
        if message["how"] == "queued":
            self.device.now_ms += max(0, self.device.count - self.known) * LAUNCHING_S * 1e3 / 5
            self.known = max(self.known, self.device.count)
        return super()._arm(message)


@pytest.mark.parametrize(("solution", "runs"), [(Crowded, 4), (Hosted, 5), (WaitsForMemory, 16)])
def test_of_too_many_launches_as_many_runs_pile_up_as_can(bench, solution, runs):
    found = bench(solution, run_ms=0.1).measure()
    assert (found.clock.mode, found.clock.runs_per_sample) == ("queued", runs)
    assert found.solution.latency_ms == pytest.approx(0.1 + QUEUED_MS, rel=1e-6)
    assert found.findings == ()


@pytest.mark.parametrize(("wanted", "launching_s", "runs"), [(8, 1e-9, 8), (8, LAUNCHING_S / 3.5, 3), (8, 1.0, 1)])
def test_how_many_runs_fit_behind_a_gate(wanted, launching_s, runs):
    assert queued_runs(wanted, launching_s) == runs


class WrongLater(Honest):
    """Its graph gives other results after some batches."""

    batches = 0

    def _arm(self, message):
        answer = super()._arm(message)
        self.batches += message["how"] == "graph" and not message["null"]
        if message["how"] == "graph" and self.batches > 4:
            self.device.armed = lambda first, end: 0.0
        return answer


def test_a_graph_that_goes_wrong_later_changes_the_solutions_mode_and_nobody_elses(bench):
    made = bench(WrongLater, run_ms=0.1)
    made.ground.run_ms = 0.2
    found = made.measure()
    assert (found.clock.mode, found.clock.runs_per_sample) == ("queued", 16)
    assert found.clock.refused["graph"].startswith(OTHER_RESULTS)
    assert found.clock.baseline_modes == {"torch_eager": "graph"}
    assert len(found.solution.samples_ms) == PROTOCOL.timing_runs  # none of those that were taken before


class WrongInTheStream(Waits):
    """Right in trials, then wrong where nothing is captured and nothing waits."""

    runs_done = 0

    def compute(self, index):
        self.runs_done += 1
        if self.runs_done < 12:
            super().compute(index)


def test_what_is_wrong_in_the_stream_is_wrong(bench):
    found = refused(bench(WrongInTheStream).measure)
    assert found.status is Status.WRONG_VALUE
    assert "wrong in a timed run though right before" in found.detail


class OneBuffer(Honest):
    """Returns the same buffer every time: earlier results are the last one's, unless they are copied in between."""

    def put(self, index, value):
        if self.apart:
            super().put(index, value)
        else:
            self.returned = dict.fromkeys([*self.returned, index], value)


class OneBufferForCopies(OneBuffer):
    """What is copied from it is copied late: the last result, again."""

    def put(self, index, value):
        self.returned = dict.fromkeys([*self.returned, index], value)


@pytest.mark.parametrize(("captures", "mode"), [(True, "graph"), (False, "queued")])
def test_results_in_one_buffer_are_copied_after_each_run_as_part_of_its_time(bench, captures, mode):
    """Batches stay long: in a single short run the noise of the judge's clock would be charged."""
    made = bench(OneBuffer, run_ms=0.1, copies=True)
    made.process.captures = captures
    found = made.measure()
    assert found.clock.mode == mode and found.clock.runs_per_sample > 2
    assert found.findings == ("reuses_outputs",)
    own_ms = 0.1 + COPY_MS + (QUEUED_MS if mode == "queued" else 0.0)
    assert found.solution.latency_ms == pytest.approx(own_ms, rel=1e-6)


@pytest.mark.parametrize(("captures", "mode"), [(True, "graph"), (False, "queued")])
def test_where_copies_do_not_help_results_are_right_in_single_runs(bench, captures, mode):
    made = bench(OneBufferForCopies, run_ms=0.1, copies=True)
    made.process.captures = captures
    found = made.measure()
    assert (found.clock.mode, found.clock.runs_per_sample) == (mode, 1)
    assert found.findings == ("reuses_outputs",)
    assert found.solution.latency_ms == pytest.approx(0.1 + (QUEUED_MS if mode == "queued" else 0.0), rel=1e-6)


def test_one_set_says_nothing_about_returned_buffers(bench):
    assert bench(OneBuffer, copies=True, sets=1).measure().findings == ()


class OwnGraph(OneBuffer):
    """Launches a graph of its own, which reads from the addresses of its first call whatever it is given."""

    first = None

    def compute(self, index):
        self.first = index if self.first is None else self.first
        self.put(index, result_of(self.device.inputs[self.first]))


@pytest.mark.parametrize("captures", [True, False])
@pytest.mark.parametrize("sets", [2, 16])
def test_what_is_right_at_its_first_calls_addresses_alone_is_wrong(bench, captures, sets):
    made = bench(OwnGraph, copies=True, sets=sets)
    made.process.captures = captures
    found = refused(made.measure)
    assert found.status is Status.WRONG_VALUE
    assert "wrong in a timed run though right before" in found.detail


def test_other_addresses_are_looked_at_only_where_single_runs_alone_are_right(bench):
    asked_for = {}
    for solution in (Honest, OneBuffer, OneBufferForCopies):
        made = bench(solution, copies=True)
        made.measure()
        runs = [message for message in made.channel.messages if message.get("mode") == "stream"]
        asked_for[solution] = [message["sets"] for message in runs].count(2)
    assert asked_for == {Honest: 0, OneBuffer: 0, OneBufferForCopies: 1}


def test_where_captures_break_a_solution_none_is_made(bench):
    made = bench(run_ms=0.1)
    clock = made.measure(modes=UNCAPTURED).clock
    assert clock.mode == "queued"
    assert clock.refused == dict.fromkeys(("graph", "replay"), BROKEN_BY_CAPTURES)
    assert "capture" not in asked(made)


class TwoSpeeds(Honest):
    """A third of its batches is a quarter faster than the others."""

    batches, fast = 0, 3

    def runs(self, first, end, gate_ms):
        taken_ms = super().runs(first, end, gate_ms)
        if not gate_ms or first > 0 or end < self.device.count:
            return taken_ms
        self.batches += 1
        return taken_ms * (1.0 if self.batches % self.fast == 0 else 1.25)


def test_times_of_two_kinds_are_a_finding(bench):
    rare = PROTOCOL.model_copy(update={"audit_every": 10**9, "timing_runs": 12})
    assert bench(TwoSpeeds, protocol=rare).measure().findings == ("slow_times",)


class SeenAtTwoSpeeds(TwoSpeeds):
    """Its own clock sees the fast kind alone; the judge's sees both."""

    fast = 6

    def claim(self, true_ms):
        return true_ms if self.batches % self.fast == 0 else true_ms / 1.25


def test_the_noise_of_what_is_charged_is_no_second_kind_of_times(bench):
    rare = PROTOCOL.model_copy(update={"audit_every": 10**9, "timing_runs": 12})
    found = bench(SeenAtTwoSpeeds, protocol=rare, run_ms=10.0).measure()
    assert found.clock.charged_ms > 0
    assert found.findings == ()


def test_a_failure_that_the_process_does_not_survive_is_no_reason_to_go_on(bench):
    class Dies(NotCapturable):
        """An error that stays, as after an illegal access."""

        dead = False

        def act(self, message):
            self.dead |= message.get("how") == "queued"
            return {"error": {"kind": "run", "text": "an illegal memory access"}} if self.dead else super().act(message)

    with pytest.raises(Verdict) as caught:
        bench(Dies).measure()
    assert caught.value.status is Status.RUNTIME_ERROR


def test_a_failure_without_a_word_is_a_reason_too(bench):
    class Mute(NotCapturable):
        def _arm(self, message):
            answer = super()._arm(message)
            return {"error": {"kind": "run", "text": ""}} if message["how"] == "queued" else answer

    clock = bench(Mute).measure().clock
    assert (clock.mode, clock.refused["queued"]) == ("stream", NO_WORDS)


# ------------------------------------------------------------------------------ real hosts on a simulated driver


@pytest.fixture
def default_stream(fake_driver, monkeypatch):
    """Gives solutions a module whose kernel goes to the default stream, whatever is being captured."""

    def sigmoid(x):
        with _disable_current_modes():
            out = torch.zeros_like(x)

        def work():
            with _disable_current_modes(), torch.no_grad():
                out.copy_(torch.sigmoid(x))
            return True

        fake_driver.enqueue(None, work)
        return out

    module = ModuleType("default_stream")
    vars(module)["sigmoid"] = sigmoid
    monkeypatch.setitem(sys.modules, "default_stream", module)


SIGMOID = problem("sigmoid", "return torch.sigmoid(x)", OUT)


def test_a_launch_on_the_default_stream_is_right_and_not_in_its_graph(rig, default_stream):
    made = rig(SIGMOID, "import default_stream; return default_stream.sigmoid(x)")
    found = made.measure()
    assert (found.clock.mode, found.clock.runs_per_sample) == ("queued", SETS)
    assert found.clock.refused["graph"] == NOTHING_CAPTURED
    assert found.findings == ()


def queued(made, seed):
    made.subject.prepare(9, [made.reference.scalars] * SETS)
    made.subject.arm(made.reference, SETS, "queued")
    made.reference.refresh(seed, 9, SETS)
    made.reference.reveal(0, SETS)


@pytest.mark.parametrize("body", ["return torch.sigmoid(x)", "import default_stream; return default_stream.sigmoid(x)"])
@pytest.mark.parametrize("first", [1, 2, 3])
def test_gates_let_just_their_queued_runs_begin(rig, default_stream, body, first):
    made = rig(SIGMOID, body)
    queued(made, 200)
    kept = made.host._returned
    old = [one.clone() for one in kept]
    made.reference.open_gates(0, first, 1.0)
    assert same(kept, old) == [False] * first + [True] * (SETS - first)
    made.reference.refresh_rest(first, 700)
    made.reference.reveal(first, SETS)
    made.reference.open_gates(first, SETS, 1.0)
    made.subject.collect()
    made.subject.store()
    assert made.compare(audit=range(SETS))["wrong"] == 0


def test_a_forward_that_brings_a_number_to_the_host_goes_to_the_stream(rig):
    clock = rig(SIGMOID, "x.sum().item(); return torch.sigmoid(x)").measure().clock
    assert (clock.mode, clock.runs_per_sample) == ("stream", 1)
    assert clock.refused["queued"] == NOT_LAUNCHED


def test_a_module_that_returns_its_own_buffer_is_timed_in_batches_with_copies(rig):
    made = rig(SIGMOID, "self.out.copy_(torch.sigmoid(x)); return self.out", init="self.out = torch.empty(6, 5)")
    found = made.measure()
    assert found.clock.mode == "graph" and found.clock.runs_per_sample > 1
    assert found.findings == ("reuses_outputs",)


def test_a_module_that_reads_its_first_calls_input_again_is_wrong(rig):
    made = rig(
        SIGMOID, "self.x = x if self.x is None else self.x; return self.out.copy_(torch.sigmoid(self.x))",
        init="self.x = None; self.out = torch.empty(6, 5)",
    )  # fmt: skip
    assert made.examine().errors.wrong_fraction == 0.0
    assert refused(made.measure).status is Status.WRONG_VALUE


def test_what_fails_in_a_queue_leaves_nobody_waiting(rig):
    """Its third call in a batch fails; single runs do not, in whichever mode they are faster."""
    body = "self.calls = 1 if x.data_ptr() == self.first else self.calls + 1"
    made = rig(
        SIGMOID, f"self.first = self.first or x.data_ptr(); {body}; torch.empty(3 - self.calls); return x.sigmoid()",
        init="self.calls = 0; self.first = 0",
    )  # fmt: skip
    clock = made.measure().clock
    assert (clock.mode in ("queued", "replay"), clock.runs_per_sample) == (True, 1)
    assert clock.refused["graph"] == NOT_CAPTURED

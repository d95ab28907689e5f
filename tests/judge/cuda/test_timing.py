"""Timing against a simulated GPU, whose truth is known: what an honest solution gets, and what a trick does not."""

import random

import pytest

from hone.judge.clocks.busy import BUSY_BATCHES
from hone.judge.device.cuda.batches import AUDITED_SETS, OTHER_RESULTS
from hone.judge.device.cuda.sets import BatchShape
from hone.judge.device.cuda.timing import LEAST_STREAM_TURNS, DeviceTiming
from hone.judge.protocols.hone import LEAST_TIMED_RUNS
from hone.judge.verdict import Verdict
from hone.records import Status

from .fakes import AFTER, PROTOCOL, QUEUED_MS, Honest, result_of

LONG = {"run_ms": 450.0, "baseline_ms": 900.0}
SHORT = {"run_ms": 0.1, "baseline_ms": 0.2}
MODES = pytest.mark.parametrize(("mode", "times"), [("stream", LONG), ("graph", SHORT)])
SETS = {"stream": 2, "graph": 16}
RUNS = {"stream": 1, "graph": 16}


def measure(made, baselines=("torch_eager",)):
    return made.measure(baselines)


def timed(bench, solution=Honest, *, run_ms, baseline_ms, **options):
    """Performance, with `baseline_ms` for each run of the baseline."""
    made = bench(solution, run_ms=run_ms, sets=options.pop("sets", 16))
    made.ground.run_ms = baseline_ms
    for name, value in options.items():
        setattr(made.ground, name, value)
    return measure(made)


def refused(made):
    with pytest.raises(Verdict) as caught:
        measure(made)
    return caught.value


# -------------------------------------------------------------------------------------------- honest solutions


@MODES
@pytest.mark.parametrize("copies", [False, True])
def test_an_honest_solution_gets_its_time_and_no_charge(bench, mode, times, copies):
    made = bench(run_ms=times["run_ms"], copies=copies)
    made.ground.run_ms = times["baseline_ms"]
    found = measure(made)
    assert (found.clock.mode, found.clock.source, found.clock.runs_per_sample) == (mode, "events", RUNS[mode])
    assert (found.clock.charged_ms, found.clock.charged_parts_ms) == (0, {})
    assert found.solution.latency_ms == pytest.approx(times["run_ms"], rel=1e-6)
    assert found.speedup("torch_eager") == pytest.approx(2.0, rel=1e-6)
    assert found.clock.solution_wall_ms == pytest.approx(times["run_ms"], rel=1e-6)
    assert found.findings == ()
    kept = {"graph": PROTOCOL.timing_runs, "stream": (PROTOCOL.timing_runs + 1) // 2}[mode]  # the lower half
    assert len(found.solution.samples_ms) == len(found.baselines["torch_eager"].samples_ms) == kept
    assert (found.clock.sm_clock_mhz, found.clock.throttled) == (1980, ("power cap",))
    assert set(made.ground.modes[-PROTOCOL.timing_runs :]) == {mode}  # those before find out how long a run is


@pytest.mark.parametrize("sets", [1, 2, 3, 128])
def test_any_number_of_sets(bench, sets):
    found = timed(bench, sets=sets, **SHORT)
    assert found.clock.runs_per_sample == min(sets, 20)  # 4 ms of the slower side
    assert found.solution.latency_ms == pytest.approx(0.1, rel=1e-6)


def test_what_launching_takes_makes_no_batch_shorter(bench):
    made = bench(sets=128, run_ms=0.1, launch_ms=1.0)
    made.ground.run_ms = 0.2
    made.channel.freeze()
    assert made.reference.mode("torch_eager") == "graph"
    assert measure(made).clock.runs_per_sample == 20


def test_a_baseline_that_cannot_be_a_graph_of_so_many_runs_accuses_nobody(bench):
    made = bench(run_ms=0.1)
    made.ground.run_ms, made.ground.most_runs = 0.2, 2
    made.channel.freeze()
    assert made.reference.mode("torch_eager") == "stream"
    assert measure(made).clock.baseline_modes["torch_eager"] == "stream"


class Restless(Honest):
    """Its graph has branches, and takes turns on the GPU while it waits at its gate."""

    quiet = 0
    """So many graphs of its own wait as they should."""

    def _arm(self, message):
        answer = super()._arm(message)
        if not message["null"] and not self.device.open_ahead:
            self.quiet -= 1
            self.device.background_ms = 1e5 if self.quiet < 0 else 0.0
        return answer


def test_long_runs_in_the_stream_have_the_usual_slack_however_little_of_them_is_no_launch(bench):
    class Noisy(Restless):
        """On a machine whose noise is smaller than the slack."""

        def leave_behind(self, true_ms):
            return super().leave_behind(true_ms) + 0.02

    made = bench(Noisy, run_ms=9.0, chain=False, launch_ms=9.0)
    made.ground.run_ms = 1.0
    found = measure(made)
    assert found.clock.baseline_modes == {"torch_eager": "replay"}
    assert (found.clock.mode, found.clock.charged_ms) == ("replay", 0.0)


class Launching(Honest):
    """Launching it takes longer than running it."""

    def time(self, message):
        wall_ms, answer = super().time(message)
        launch_ms = 2.0 * (message["mode"] == "stream")
        return wall_ms + launch_ms, {"device_ms": answer["device_ms"] + launch_ms}


def test_a_baseline_in_a_process_of_its_own_is_tried_with_as_many_runs_as_batches_can_have(bench):
    made = bench(Launching, run_ms=0.1, sets=128, chain=False)
    made.channel.freeze()
    rehearse(made)
    assert made.subject.shape == BatchShape("graph", 128)
    assert made.subject.device_run_ms == pytest.approx(0.1, rel=0.05)
    told = [len(message["scalars"]) for message in made.channel.messages if message.get("do") == "prepare"]
    assert max(told) == 128  # beside a much faster solution 20 ms


class Fitful(Honest):
    """One run in two takes half as long again, as the host's work may; answers come a little late."""

    captures = queues = False

    def time(self, message):
        if message["mode"] == "null":
            return super().time(message)
        true_ms = self.run_ms * random.choice((1.0, 1.5))
        self.compute(0)
        return true_ms + 0.06, {"device_ms": true_ms}


def test_noise_of_the_host_in_the_stream_favours_no_side(bench):
    protocol = PROTOCOL.model_copy(update={"timing_runs": 200})
    made = bench(Fitful, run_ms=1.0, captures=False, protocol=protocol)
    batch = made.ground._batch

    def noisy(message):
        return {"device_ms": batch(message)["device_ms"] * random.choice((1.0, 1.5))}

    made.ground.run_ms, made.ground._batch = 1.0, noisy
    assert measure(made).speedup("torch_eager") == pytest.approx(1.0, abs=0.07)


def test_a_solution_is_timed_without_any_baseline(bench):
    found = measure(bench(), baselines=())
    assert found.baselines == {}
    assert found.solution.latency_ms == pytest.approx(0.1, rel=1e-6)


class NotCapturable(Honest):
    captures = False


class Waits(NotCapturable):
    """Waits for the GPU in its forward, so that it does not come to an end behind a gate."""

    queues = False


@pytest.mark.parametrize(
    ("solution", "mode", "lost_ms"), [(NotCapturable, "queued", QUEUED_MS), (Waits, "stream", 0.0)]
)
@pytest.mark.parametrize("launch_ms", [0.0, 0.4])
def test_a_solution_gains_nothing_by_refusing_to_be_captured(bench, solution, mode, lost_ms, launch_ms):
    found = timed(bench, solution, **SHORT, launch_ms=launch_ms)
    assert (found.clock.mode, found.clock.baseline_modes["torch_eager"]) == (mode, "graph")
    assert found.solution.latency_ms == pytest.approx(0.1 + lost_ms, rel=1e-6)
    assert found.baselines["torch_eager"].latency_ms == pytest.approx(0.2, rel=1e-6)


@pytest.mark.parametrize(("shape", "mode"), [({"chain": False}, "replay"), ({"captures": False}, "stream")])
def test_how_a_baseline_can_be_timed_is_nothing_to_the_solution(bench, shape, mode):
    found = timed(bench, **SHORT, **shape)
    assert (found.clock.mode, found.clock.runs_per_sample) == ("graph", 16)
    assert found.clock.baseline_modes == {"torch_eager": mode}
    assert found.speedup("torch_eager") == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize(("chain", "speedup"), [(True, 10.0), (False, 10.0)])
def test_launches_are_in_nobodys_time_where_a_baseline_can_be_a_graph(bench, chain, speedup):
    found = timed(bench, run_ms=1.0, baseline_ms=10.0, launch_ms=10.0, chain=chain)
    assert found.speedup("torch_eager") == pytest.approx(speedup, rel=1e-6)


def test_a_graph_without_gates_is_launched_on_inputs_that_are_shown(bench):
    made = bench(Restless, run_ms=0.1)
    measure(made)
    asked = [message.get("mode") or message["do"] for message in made.channel.messages]
    assert asked.count("replay") > PROTOCOL.timing_runs
    last = len(asked) - asked[::-1].index("arm")
    assert asked[last:].count("replay") > PROTOCOL.timing_runs  # nothing is armed any more


class HidesInReplays(Restless):
    """Tells a tenth of what a launch of its graph takes."""

    def claim(self, true_ms):
        return true_ms / 10


def test_work_that_a_launch_of_a_graph_leaves_out_of_its_claim_is_charged(bench):
    found = timed(bench, HidesInReplays, run_ms=5.0, baseline_ms=5.0, chain=False)
    assert found.clock.mode == "replay"
    assert found.speedup("torch_eager") == pytest.approx(1.0, rel=0.05)


class ReplaysOnce(Restless):
    """Its graph does the work of the first launch only."""

    done, idle = 0, False

    def time(self, message):
        self.done += message["mode"] == "replay"
        self.idle = message["mode"] == "replay" and self.done > 3
        return super().time(message)

    def compute(self, index):
        if not self.idle:
            super().compute(index)


def test_what_a_launched_graph_leaves_undone_is_not_timed(bench):
    """Other results of a graph say that it cannot be timed so; in the stream they would be wrong."""
    found = timed(bench, ReplaysOnce, **SHORT)
    assert found.clock.mode == "stream"
    assert found.clock.refused["replay"].startswith(OTHER_RESULTS)
    assert found.speedup("torch_eager") == pytest.approx(2.0, rel=1e-6)


def rehearse(made):
    DeviceTiming(made.reference, made.subject, made.protocol, [{}]).rehearse()


def test_in_the_stream_every_batch_is_one_run(bench):
    """Inputs are shown to all runs of such a batch at once: one launch could do the work of all."""
    made = bench(Waits, run_ms=0.1, captures=False)
    assert measure(made).clock.runs_per_sample == 1
    assert {len(message["scalars"]) for message in made.channel.messages[-20:] if "scalars" in message} == {1}


def test_a_solution_that_leaves_no_room_for_the_baselines_graph_has_failed(bench):
    made = bench(run_ms=0.1)
    made.channel.freeze()
    assert made.reference.mode("torch_eager") == "graph"
    made.ground.captures = False
    found = refused(made)
    assert (found.status, "no longer" in found.detail) == (Status.RUNTIME_ERROR, True)


@pytest.mark.parametrize("launch_ms", [0.0, 4.0])
def test_a_graph_that_does_not_wait_quietly_is_launched_on_inputs_that_are_shown(bench, launch_ms):
    """What it loses by that is no launch of every kernel."""
    found = timed(bench, Restless, **SHORT, launch_ms=launch_ms)
    assert (found.clock.mode, found.clock.runs_per_sample) == ("replay", 1)
    assert found.clock.baseline_modes == {"torch_eager": "graph"}
    assert found.speedup("torch_eager") == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize(("quiet", "mode"), [(1, "replay"), (100, "graph")])
def test_what_waits_quietly_only_now_and_then_is_no_graph_before_there_is_a_solution(bench, quiet, mode):
    made = bench(Restless, run_ms=0.1)
    made.process.quiet = quiet
    rehearse(made)
    assert made.subject.shape.mode == mode
    assert made.subject.device_run_ms == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("solution", "options", "mode"),
    [
        (NotCapturable, {}, "queued"), (Waits, {}, "stream"), (Honest, {"random": True}, "queued"),
        (Honest, {"scalars": lambda seed: {"factor": seed}}, "stream"),
    ],
)  # fmt: skip
def test_of_a_baseline_in_a_process_of_its_own_no_more_is_timed_than_must_be(bench, solution, options, mode):
    made = bench(solution, run_ms=0.1, **options)
    rehearse(made)
    assert made.subject.shape.mode == mode


class Endless(Honest):
    """Its graph has so many kernels that launching it ends only when they run."""

    def _arm(self, message):
        answer = super()._arm(message)
        self.device.launching = not message["null"] and not self.device.open_ahead
        return {**answer, "blocked": True} if self.device.launching else answer


def test_a_graph_that_there_is_no_room_for_is_timed_in_the_stream(bench):
    class Large(Honest):
        def _arm(self, message):
            full = {"error": {"kind": "run", "text": "cuGraphLaunch: out of memory"}}
            return super()._arm(message) if message["null"] else full

    found = timed(bench, Large, **SHORT)
    assert found.clock.mode == "stream"
    assert found.speedup("torch_eager") == pytest.approx(2.0, rel=1e-6)


def test_a_graph_too_long_to_be_launched_behind_a_gate_is_launched_on_inputs_that_are_shown(bench):
    found = timed(bench, Endless, **SHORT)
    assert found.clock.mode == "replay"
    assert found.speedup("torch_eager") == pytest.approx(2.0, rel=1e-6)


def test_work_before_the_gate_is_not_forgiven_to_a_graph_that_waited_quietly_once(bench):
    class Later(Restless):
        quiet = 1

    assert refused(bench(Later)).status is Status.TIMEOUT


@pytest.mark.parametrize(
    ("solution", "times", "kept"),
    [
        (Honest, SHORT, LEAST_TIMED_RUNS),
        (Waits, SHORT, (LEAST_STREAM_TURNS + 1) // 2),  # the lower half
        (Honest, LONG, (LEAST_TIMED_RUNS + 1) // 2),
    ],
)
def test_short_timing_still_takes_some_turns_and_more_in_the_stream(bench, solution, times, kept):
    made = bench(solution, run_ms=times["run_ms"], protocol=PROTOCOL.model_copy(update={"timing_seconds": 1e-9}))
    made.ground.run_ms, made.ground.captures = times["baseline_ms"], solution is Honest
    assert len(measure(made).solution.samples_ms) == kept


def test_a_long_run_is_left_in_the_stream_beside_a_graph(bench):
    """The host's work is a small part of it; the baseline is timed as it was found to be fastest."""
    made = bench(run_ms=120.0)
    made.ground.run_ms = 240.0
    found = measure(made)
    assert (found.clock.mode, found.clock.baseline_modes["torch_eager"]) == ("stream", "graph")
    assert "capture" not in [message["do"] for message in made.channel.messages if "do" in message]
    assert (found.clock.charged_ms, found.speedup("torch_eager")) == (0.0, pytest.approx(2.0, rel=1e-6))


class Disturbed(Honest):
    """Honest, on a machine that holds up two batches in three."""

    batches = 0

    def leave_behind(self, true_ms):
        self.batches += 1
        return super().leave_behind(true_ms) + (1.0 if self.batches % 3 else 0.0)


def test_noise_in_most_batches_does_not_make_an_honest_solution_slow(bench):
    found = measure(bench(Disturbed, protocol=PROTOCOL.model_copy(update={"timing_runs": 12, "audit_every": 10**9})))
    assert found.solution.latency_ms == pytest.approx(0.1, rel=0.05)


class Hides(Honest):
    """Claims a tenth of its time."""

    def claim(self, true_ms):
        return true_ms / 10


def test_what_is_charged_gets_every_turn_in_case_it_is_noise(bench):
    brief = PROTOCOL.model_copy(update={"timing_seconds": 1e-9})
    found = measure(bench(Hides, protocol=brief))
    assert found.clock.charged_ms > 0
    kept = (PROTOCOL.timing_runs + 1) // 2  # the same turns on both sides, as their ratio's interval needs
    assert len(found.baselines["torch_eager"].samples_ms) == len(found.solution.samples_ms) == kept
    assert found.solution.latency_ms == pytest.approx(0.1, rel=0.05)


def test_numbers_that_change_with_the_seed_cannot_be_in_a_graph(bench):
    made = bench(scalars=lambda seed: {"factor": seed})
    assert measure(made).clock.mode == "stream"
    assert [item["factor"] for item in made.process.scalars] == made.device.pristine[:1]
    assert timed(bench, **SHORT, scalars=lambda seed: {"factor": 2}).clock.mode == "graph"


def test_what_depends_on_chance_is_never_captured_and_audited_all_the_same(bench):
    """A graph's seeds are fixed."""
    made = bench(random=True)
    clock = measure(made).clock
    assert (clock.mode, clock.baseline_modes["torch_eager"]) == ("queued", "stream")
    assert not any(message.get("do") == "capture" for message in made.channel.messages)
    assert len(made.ground.audited) >= PROTOCOL.timing_runs


class InPlace(Honest):
    def compute(self, index):
        super().compute(index)
        self.device.inputs[index] = AFTER


@MODES
def test_what_writes_to_its_inputs_gets_its_own_for_each_batch(bench, mode, times):
    made = bench(InPlace, run_ms=times["run_ms"], written=["x"])
    made.ground.run_ms = times["baseline_ms"]
    found = measure(made)
    assert found.clock.mode == mode
    assert found.solution.latency_ms == pytest.approx(times["run_ms"], rel=1e-6)


@MODES
def test_an_argument_changed_wrongly_in_timed_batches_alone_is_found(bench, mode, times):
    class Forgets(InPlace):
        count = 0

        def compute(self, index):
            super().compute(index)
            self.count += 1
            if self.count > 2 * self.device.sets + 2:  # right in the warm-up and in the batch in two parts
                self.device.inputs[index] = self.device.pristine[index]

    rare = PROTOCOL.model_copy(update={"audit_every": 10**9})
    found = refused(bench(Forgets, sets=SETS[mode], run_ms=times["run_ms"], written=["x"], protocol=rare))
    assert found.status is Status.WRONG_VALUE
    assert "though right before" in found.detail


def numbers_in(item):
    """All whole numbers of a message."""
    if isinstance(item, dict):
        item = list(item.values())
    if isinstance(item, (list, tuple)):
        return {number for part in item for number in numbers_in(part)}
    return {item} if isinstance(item, int) else set()


def test_batches_in_two_parts_have_values_of_every_distribution_that_the_reference_can_take(bench):
    protocol = PROTOCOL.model_copy(update={"distributions": ("as_given", "signed", "wide", "sparse")})
    made = bench(protocol=protocol.model_copy(update={"timing_runs": 1, "audit_every": 10**6}))
    made.reference.refused.add("wide")
    measure(made)
    told = {message["distribution"] for message in made.ground_messages if message["do"] == "refresh"}
    assert told == {"as_given", "signed", "sparse"}


@MODES
@pytest.mark.parametrize("copies", [False, True])
def test_the_solution_is_never_told_the_seed_of_its_inputs(bench, mode, times, copies):
    made = bench(run_ms=times["run_ms"], copies=copies)
    measure(made)
    secrets, told = set(made.ground.secrets), numbers_in(made.channel.messages)
    assert len(secrets) > PROTOCOL.timing_runs
    assert not secrets & told
    forward_seeds = [message["seed"] for message in made.channel.messages if message.get("do") == "prepare"]
    assert len(set(forward_seeds)) > PROTOCOL.timing_runs  # a new one for each batch


def test_the_last_batch_is_audited_at_both_ends(bench):
    made = bench(protocol=PROTOCOL.model_copy(update={"audit_every": 10**9}))
    measure(made)
    tried, in_two_parts, *glances, last = made.ground.audited
    assert [len(audited) for audited in glances] == [1] * (PROTOCOL.timing_runs - 1)  # none is never looked at
    for audited in (tried, in_two_parts, last):
        assert audited == sorted(set(audited)) and {0, 15} <= set(audited)
        assert len(audited) <= AUDITED_SETS + 2


# ----------------------------------------------------------------------------------------- hidden time is charged


class ClaimsHalf(Honest):
    def claim(self, true_ms):
        return true_ms / 2


class ClaimsNothing(Honest):
    def claim(self, true_ms):
        return 0.0


class GoesOn(ClaimsHalf):
    """Answers after half the work; the rest runs on another stream."""

    def seen_ms(self, true_ms):
        return true_ms / 2


@MODES
@pytest.mark.parametrize("solution", [ClaimsHalf, ClaimsNothing, GoesOn])
def test_a_false_claim_is_charged_back_to_the_truth(bench, mode, times, solution):
    found = timed(bench, solution, **times)
    assert found.clock.mode == mode or times is LONG  # by what it says it is short enough for a graph
    assert found.clock.charged_ms >= 0.45 * times["run_ms"]
    assert found.solution.latency_ms == pytest.approx(times["run_ms"], rel=1e-6)
    assert found.speedup("torch_eager") == pytest.approx(2.0, rel=1e-6)


@MODES
def test_work_that_goes_on_behind_an_honest_claim_is_charged_too(bench, mode, times):
    class Both(GoesOn):
        def claim(self, true_ms):
            return true_ms

    found = timed(bench, Both, **times)
    assert found.solution.latency_ms == pytest.approx(1.5 * times["run_ms"], rel=0.05)


@MODES
def test_work_that_begins_when_inputs_are_shown_is_charged_in_full(bench, mode, times):
    class Early(Honest):
        """Something on the GPU waits for the inputs and does all the work; its runs hand out what it found."""

        def shown(self, first, end):
            if self.loaded:
                self.known = [result_of(value) for value in self.device.inputs]
                self.device.background_ms += (end - first) * self.run_ms

        def compute(self, index):
            self.put(index, self.known[index])

        def runs(self, first, end, gate_ms):
            super().runs(first, end, gate_ms)
            return (end - first) * gate_ms

    made = bench(Early, sets=SETS[mode], run_ms=times["run_ms"])
    made.ground.run_ms = times["baseline_ms"]
    found = measure(made)
    assert found.clock.mode == mode or times is LONG  # by what it says it is short enough for a graph
    assert found.clock.charged_ms == pytest.approx(times["run_ms"], rel=1e-6)
    assert found.clock.charged_parts_ms["showing"] == pytest.approx(times["run_ms"], rel=1e-6)
    assert found.solution.latency_ms == pytest.approx(times["run_ms"], rel=0.02)


@MODES
def test_a_lazy_copy_is_charged(bench, mode, times):
    class Lazy(Honest):
        def copied_ms(self, runs):
            return super().copied_ms(runs) + 15 * self.run_ms

    made = bench(Lazy, run_ms=times["run_ms"], copies=True)
    made.ground.run_ms = times["baseline_ms"]
    found = measure(made)
    assert found.clock.mode == mode
    charged_ms = 15 / RUNS[mode] * times["run_ms"]
    assert found.clock.charged_ms == pytest.approx(charged_ms, rel=1e-6)
    assert found.clock.charged_parts_ms["reading"] == pytest.approx(charged_ms, rel=1e-6)
    assert found.solution.latency_ms == pytest.approx(times["run_ms"] + charged_ms, rel=1e-6)


@pytest.mark.parametrize(("mode", "times"), [("stream", LONG), ("graph", SHORT)])
def test_work_that_does_not_end_is_a_timeout(bench, mode, times):
    class Endless(Honest):
        def leave_behind(self, true_ms):
            self.device.background_ms += 10_000.0
            return true_ms

    assert refused(bench(Endless, run_ms=times["run_ms"])).status is Status.TIMEOUT


def test_a_graph_that_does_not_end_is_a_timeout(bench):
    class Stuck(Honest):
        def runs(self, first, end, gate_ms):
            return super().runs(first, end, gate_ms) + (10_000.0 if gate_ms else 0.0)

    found = refused(bench(Stuck))
    assert found.status is Status.TIMEOUT
    assert "3 s" in found.detail


@pytest.mark.parametrize("claim", [None, "fast", -1.0, float("nan"), float("inf"), [1.0]])
def test_a_claim_that_is_no_time_is_interference(bench, claim):
    class Garbled(Honest):
        def claim(self, true_ms):
            return claim

    assert refused(bench(Garbled, run_ms=25.0)).status is Status.RUNTIME_ERROR


# ------------------------------------------------------------------------------------------- results must be fresh


class SuperBatch(Honest):
    """Its first run does the work of all."""

    def compute(self, index):
        if index == 0:
            for other in range(self.device.sets):
                super().compute(other)


@MODES
def test_outputs_of_runs_that_have_not_begun_are_an_error(bench, mode, times):
    found = refused(bench(SuperBatch, run_ms=times["run_ms"]))
    assert found.status is Status.RUNTIME_ERROR
    assert "had not begun" in found.detail


class Ahead(Honest):
    """Its first run does the work of all, the others only hand out what it found."""

    def compute(self, index):
        if index == 0:
            self.known = [result_of(value) for value in self.device.inputs]
        self.put(index, self.known[index])


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("captures", [True, False])
def test_stale_results_in_the_second_part_of_a_batch_leave_the_stream_alone(bench, copies, captures):
    """There each batch is one run, whose work cannot be done by another."""
    made = bench(Ahead, copies=copies)
    made.process.captures = captures
    found = measure(made)
    assert (found.clock.mode, found.clock.runs_per_sample) == ("stream", 1)
    assert found.clock.refused["queued"].startswith(OTHER_RESULTS)
    assert found.solution.latency_ms == pytest.approx(0.1, rel=1e-6)


class Tires(Honest):
    """Right for some batches, then only as fast as nothing."""

    count = 0

    def compute(self, index):
        self.count += 1
        if self.count < 5 * self.device.sets:
            super().compute(index)


@MODES
@pytest.mark.parametrize("copies", [False, True])
def test_a_solution_that_stops_working_is_found_by_the_last_audit_at_least(bench, mode, times, copies):
    rare = PROTOCOL.model_copy(update={"audit_every": 10**9})
    found = refused(bench(Tires, sets=SETS[mode], run_ms=times["run_ms"], copies=copies, protocol=rare))
    assert found.status is Status.WRONG_VALUE


@MODES
def test_changed_inputs_count_under_hones_rule_alone(bench, mode, times):
    found = refused(bench(InPlace, run_ms=times["run_ms"]))
    assert found.status is Status.INPUT_CHANGED
    assert "x" in found.detail
    lenient = bench(InPlace, run_ms=times["run_ms"], protocol=PROTOCOL.model_copy(update={"rule": "kernelbench"}))
    # Baselines run on the inputs as they were made all the same: see the process of the reference.
    assert measure(lenient).solution.latency_ms == pytest.approx(times["run_ms"], rel=1e-6)


@MODES
def test_writing_outside_the_outputs_is_an_error(bench, mode, times):
    class Outside(Honest):
        def compute(self, index):
            super().compute(index)
            self.device.guards = False

    assert refused(bench(Outside, run_ms=times["run_ms"])).status is Status.RUNTIME_ERROR


# ------------------------------------------------------------------------------------- very short runs, and floors

TINY = {"run_ms": 0.02, "baseline_ms": 0.04}


def test_very_short_runs_are_timed_by_their_kernels(bench):
    found = timed(bench, sets=75, **TINY)
    assert (found.clock.source, found.clock.mode, found.clock.charged_ms) == ("cupti", "graph", 0.0)
    assert found.solution.samples_ms == (0.02,) * BUSY_BATCHES
    assert found.speedup("torch_eager") == pytest.approx(2.0)


def test_lies_to_both_clocks_earn_nothing(bench):
    class Lies(Honest):
        def claim(self, true_ms):
            return true_ms / 4

        def busy_ms(self):
            return self.run_ms / 4

    for run_ms in (0.003, 0.005, 0.02, 0.1):
        found = timed(bench, Lies, sets=128, run_ms=run_ms, baseline_ms=run_ms)
        assert found.clock.source == "events"
        assert found.speedup("torch_eager") == pytest.approx(1.0, rel=1e-6)


def test_kernels_that_cannot_fill_the_graph_are_not_believed(bench):
    class Understates(Honest):
        def busy_ms(self):
            return self.run_ms / 4

    found = timed(bench, Understates, sets=75, **TINY)
    assert found.clock.source == "events"
    assert found.solution.latency_ms == pytest.approx(0.02, rel=1e-6)


@pytest.mark.parametrize("busy", [0.0, -1.0, "none", None])
def test_kernel_times_that_are_none_leave_the_events(bench, busy):
    class Says(Honest):
        def busy_ms(self):
            return busy

    assert timed(bench, Says, sets=75, **TINY).clock.source == "events"


def test_without_cupti_events_are_the_figure_for_all(bench):
    found = timed(bench, sets=75, cupti=False, **TINY)
    assert found.clock.source == "events"
    assert found.speedup("torch_eager") == pytest.approx(2.0, rel=1e-6)


def test_a_time_under_the_speed_of_light_is_a_finding(bench):
    item_bytes = 4 * (64 * 256 + 256)  # outputs stay in the cache
    slow = bench(run_ms=0.06, bandwidth_gbs=1.0)
    found = measure(slow)
    assert found.floor_ms == pytest.approx(item_bytes / 1e6)
    assert found.findings == ("below_floor",)
    assert measure(bench(run_ms=0.07, bandwidth_gbs=1.0)).findings == ()


def test_fewer_operations_than_the_references_are_no_finding(bench):
    quick = bench(run_ms=0.06, flops=10**12)  # three milliseconds at a third of the peak rate
    found = measure(quick)
    assert (found.floor_ms, found.findings) == (pytest.approx(3.0), ())

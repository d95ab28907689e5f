"""How sides are timed beside each other: what nobody gains by choosing for himself, and what nobody loses."""

import pytest

from hone.judge.baselines import BesideError
from hone.judge.device.cuda.timing import DeviceTiming
from hone.judge.protocols import hone
from hone.judge.verdict import Verdict
from hone.records import Status

from .fakes import Honest
from .test_kernel_baselines import beside
from .test_kernel_baselines import measure as measure_beside
from .test_timing import measure


class Noisy(Honest):
    """One empty batch in seven takes 0.1 ms longer: the noise that is forgiven at most."""

    empties = 0

    def time(self, message):
        wall_ms, answer = super().time(message)
        if message["mode"] == "null":
            self.empties += 1
            wall_ms += 0.1 * (self.empties == 3)
        return wall_ms, answer

    def _arm(self, message):
        answer = super()._arm(message)
        if message["null"]:
            self.empties += 1
            armed, late = self.device.armed, 0.1 * (self.empties % 7 == 3)
            self.device.armed = lambda first, end: armed(first, end) + late
        return answer


class RefusesAndForges(Noisy):
    """Is timed in the stream because it says so; claims 1 ms of 1.23."""

    captures = queues = False

    def claim(self, true_ms):
        return 1.0


def test_refusing_to_be_captured_earns_no_slack(bench):
    made = bench(RefusesAndForges, run_ms=1.22)
    made.ground.run_ms = 1.22
    found = measure(made)
    assert found.speedup("torch_eager") == pytest.approx(1.0, abs=0.04)


class ForgesInGraph(Noisy):
    """The same forger, in graphs of as many runs as the baseline has."""

    def claim(self, true_ms):
        return true_ms * 0.935


def test_what_can_be_forged_in_graphs_is_noise(bench):
    made = bench(ForgesInGraph, run_ms=1.23)
    made.ground.run_ms = 1.23
    found = measure(made)
    assert found.speedup("torch_eager") < 1.09


class SeemsSlow(Noisy):
    """Claims 49 ms a run in the stream, so that its graphs have five runs instead of thirty; then forges."""

    def time(self, message):
        wall_ms, answer = super().time(message)
        return wall_ms, answer if message["mode"] == "null" else {"device_ms": 49.0}

    def claim(self, true_ms):
        return max(true_ms - 0.22, 1.0)


def test_one_that_seems_slow_has_no_slack_beside_graphs(bench):
    made = bench(SeemsSlow, run_ms=0.135, sets=64)
    made.ground.run_ms = 0.135
    found = measure(made)
    assert found.clock.mode == "graph" and found.clock.runs_per_sample == 5
    assert found.speedup("torch_eager") < 1.04  # noise counts fully against so few short runs


class Branches(Honest):
    """Its graph takes its turns on the GPU while it waits."""

    def _arm(self, message):
        answer = super()._arm(message)
        if not message["null"] and not self.device.open_ahead:
            self.device.background_ms += 200.0
        return answer


class ReplayForger(Branches, Noisy):
    def claim(self, true_ms):
        return 0.79 * true_ms


def test_short_claims_have_no_slack_where_graphs_are_launched_one_by_one(bench):
    """A replayed run of 1 ms asks for four runs a batch: a claim below 1 ms has no slack, whatever launching takes."""
    made = bench(ReplayForger, run_ms=0.95, chain=False, launch_ms=20.0)
    made.ground.run_ms = 0.95
    found = measure(made)
    assert found.clock.mode == "replay"
    assert found.speedup("torch_eager") == pytest.approx(1.0, abs=0.04)


class Launches(Honest):
    """As PyTorch's baseline: its launches take much of its time in the stream."""

    launch_ms = 85.0

    def time(self, message):
        wall_ms, answer = super().time(message)
        if message["mode"] != "stream":
            return wall_ms, answer
        return wall_ms + self.launch_ms, {"device_ms": answer["device_ms"] + self.launch_ms}

    def _arm(self, message):
        if message["how"] == "queued":
            self.device.now_ms += self.launch_ms * self.device.count
        return super()._arm(message)


def test_the_same_program_is_timed_in_the_same_way_though_its_launches_take_longer(bench):
    made = bench(Launches, run_ms=20.0, chain=False, launch_ms=75.0)
    made.ground.run_ms = 20.0
    found = measure(made)
    assert found.speedup("torch_eager") == pytest.approx(1.0, abs=0.1)


def test_a_kernel_with_branches_does_not_bring_launches_back(bench):
    made = bench(run_ms=1.0, chain=False, launch_ms=30.0)
    made.ground.run_ms = 10.0
    kernel = beside(made, Branches, 5.0)
    DeviceTiming(made.reference, kernel, made.protocol, [{}]).rehearse()
    found = measure_beside(made, upstream=kernel)
    assert found.clock.baseline_modes["torch_eager"] == "replay"
    assert found.speedup("torch_eager") == pytest.approx(10.0, rel=0.01)


class LargeGraphs(Honest):
    """There is room for a graph of four of its runs."""

    def _arm(self, message):
        if not message["null"] and self.device.count > 4:
            return {"error": {"kind": "memory", "text": "out of memory"}}
        return super()._arm(message)


@pytest.mark.parametrize("chain", [True, False])
def test_a_kernel_beside_a_replay_is_rehearsed_with_as_many_runs_as_its_batches_have(bench, chain):
    made = bench(run_ms=10.0, chain=chain)
    made.ground.run_ms = 10.0
    made.channel.freeze()
    kernel = beside(made, LargeGraphs, 10.0)
    DeviceTiming(made.reference, kernel, made.protocol, [{}]).rehearse()
    found = measure_beside(made, upstream=kernel)
    assert found.clock.baseline_modes["torch_eager"] == ("graph" if chain else "replay")


FULL = {"error": {"kind": "memory", "text": "CUDA out of memory. Tried to allocate 8 GiB."}}


@pytest.mark.parametrize("enough", [True, False])
def test_a_baseline_that_lacks_memory_is_captured_without_what_the_solution_keeps(bench, monkeypatch, enough):
    made = bench()
    capture = made.ground._capture

    def captured(message):
        full = message["do"] == "capture" and (made.process.keeps_memory or not enough)
        return FULL if full else capture(message)

    monkeypatch.setattr(made.ground, "_capture", captured)
    if enough:
        assert measure(made).clock.baseline_modes["torch_eager"] == "graph"
        return
    with pytest.raises(Verdict, match=r"more GPU memory than is free.*8 GiB") as found:
        measure(made)
    assert found.value.status is Status.NOT_JUDGED  # which no solution is blamed for without another look
    assert not made.process.keeps_memory


class InTheStream(Honest):
    captures = queues = False


@pytest.mark.parametrize(("solution", "keeps"), [(Honest, False), (InTheStream, True)])
def test_memory_is_kept_for_later_only_where_taking_it_again_would_be_timed(bench, solution, keeps):
    made = bench(solution)
    measure(made)
    last = [message for message in made.channel.messages if message.get("do") == "prepare"][-1]
    assert last["keeps_memory"] == keeps


class BlocksLater(Honest):
    """Piles up its launches as often as it is tried out, and waits for the GPU when it is timed."""

    captures = False
    closed = 0

    def _arm(self, message):
        answer = super()._arm(message)
        self.closed += message["how"] == "queued" and not self.device.open_ahead
        return answer | ({"blocked": True} if self.closed > 1 else {})


def test_a_kernel_that_fails_in_the_way_it_was_to_be_timed_is_of_no_use(bench):
    made = bench(run_ms=10.0)
    made.ground.run_ms = 10.0
    made.channel.freeze()
    kernel = beside(made, BlocksLater, 10.0)
    with pytest.raises(Verdict, match="timed as queued") as caught:
        DeviceTiming(made.reference, kernel, made.protocol, [{}]).rehearse()
    assert caught.value.status is Status.RUNTIME_ERROR


@pytest.mark.parametrize("chain", [True, False])
def test_numbers_that_sometimes_change_accuse_nobody(bench, chain):
    for _ in range(8):
        made = bench(run_ms=1.0, chain=chain, scalars=lambda seed: {"factor": seed % 2})
        made.ground.run_ms = 1.0
        timing = DeviceTiming(made.reference, made.subject, made.protocol, [{"factor": 0}])
        hone.measure(timing, ("torch_eager",), made.protocol)


def test_a_solution_whose_graph_has_branches_is_launched_once(bench):
    class Forks(Launches, Branches):
        launch_ms = 30.0

    made = bench(Forks, run_ms=10.0, launch_ms=30.0)
    made.ground.run_ms = 10.0
    found = measure(made)
    assert found.speedup("torch_eager") == pytest.approx(1.0, abs=0.1)


# ----------------------------------------------------------------- PyTorch's baseline in a process of its own


def twin(made, kind, run_ms):
    """PyTorch's baseline in a process of its own, rehearsed."""
    made.channel.freeze()
    made.reference.mode("torch_eager")
    process = beside(made, kind, run_ms)
    DeviceTiming(made.reference, process, made.protocol, [{}]).rehearse()
    return process


def test_runs_over_the_limit_are_no_graphs_there_either(bench):
    made = bench(run_ms=450.0, chain=False)
    made.ground.run_ms = 450.0
    assert twin(made, Honest, 450.0).shape.mode == "stream"


def test_it_is_tried_with_as_many_runs_as_a_much_faster_solution_can_ask_for(bench):
    class Room(Honest):
        def _arm(self, message):
            if not message["null"] and self.device.count > 8:
                return {"error": {"kind": "memory", "text": "out of memory"}}
            return super()._arm(message)

    made = bench(run_ms=0.01, sets=64, chain=False)
    made.ground.run_ms = 1.0
    found = measure_beside(made, ("torch_eager",), torch_eager=twin(made, Room, 1.0))
    assert found.clock.baseline_modes["torch_eager"] == "replay"


class Fitful(Honest):
    """Its graph waits quietly but for some times."""

    times = 0
    restless = (5,)

    def _arm(self, message):
        answer = super()._arm(message)
        if not message["null"] and not self.device.open_ahead:
            self.times += 1
            self.device.background_ms += 200.0 * (self.times in self.restless)
        return answer


def test_one_restless_time_beside_a_solution_is_chance(bench):
    made = bench(run_ms=1.0, chain=False)
    made.ground.run_ms = 1.0
    process = twin(made, Fitful, 1.0)
    assert process.shape.mode == "graph"
    assert measure_beside(made, ("torch_eager",), torch_eager=process).clock.baseline_modes["torch_eager"] == "graph"


def test_one_restless_time_of_a_solutions_graph_is_chance_too(bench):
    class Once(Fitful):
        restless = (1,)

    made = bench(Once, run_ms=1.0)
    assert measure(made).clock.mode == "graph"


def test_a_solution_beside_which_pytorchs_baseline_fails_has_failed(bench):
    class Always(Fitful):
        restless = range(5, 100)

    made = bench(run_ms=1.0, chain=False)
    made.ground.run_ms = 1.0
    process = twin(made, Always, 1.0)
    with pytest.raises(BesideError, match="beside it the baseline torch_eager") as caught:
        measure_beside(made, ("torch_eager",), torch_eager=process)
    assert caught.value.status is Status.RUNTIME_ERROR


def test_what_the_machine_does_to_it_accuses_nobody():
    assert BesideError("torch_eager", Verdict(Status.MACHINE_ERROR, "killed")).status is Status.MACHINE_ERROR


@pytest.mark.parametrize(("stuck", "limit_s"), [("store", 23), ("collect", 20), ("spans", 6)])
def test_a_timeout_says_for_how_long_was_waited(bench, stuck, limit_s):
    class Stuck(Honest):
        def act(self, message):
            answer = super().act(message)
            return {**answer, "blocked": True} if message["do"] == stuck and self.loaded else answer

    made = bench(Stuck, run_ms=0.01, copies=True)
    assert made.protocol.run_timeout_s == 3.0
    with pytest.raises(Verdict, match=f"took over {limit_s} s") as caught:
        measure(made)
    assert caught.value.status is Status.TIMEOUT

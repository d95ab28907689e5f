"""The reference on the GPU as the parent sees it: inputs, expected outputs, comparison, baselines."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from hone.core.errors import on_failure
from hone.judge.device.cuda.plan import DevicePlan, check_memory
from hone.judge.device.cuda.sets import run_count
from hone.judge.plan import GIB
from hone.judge.procedure import PlannedTrial
from hone.judge.references import COMPILE_TIMEOUT_S, ask_reference, reference_failure
from hone.judge.runner import Runner, RunnerError, Zygote
from hone.judge.verdict import Verdict
from hone.judge.wire import LARGE_BYTES
from hone.machine.confinement import Confinement
from hone.machine.hardware import gpu_like
from hone.records import COMPILE_OPTIONS, Mode, Protocol, Status

REGIONS = ("inputs", "outputs", "parameters", "gate")
SETUP_TIMEOUT_S = 60.0
"""Beside the limit of one forward: what constructors and input generators get."""
SETTLE_LIMIT_S = 5.0
GRAPH_BELOW_MS = 400.0
"""Shorter runs are captured as graphs where that is possible: in the stream, launching would be part of their time."""
TRIED_SETS = 2
NO_MEMORY = "the reference needs more GPU memory than is free"


@dataclass(frozen=True)
class Device:
    """What the GPU is capable of, by its own account."""

    free_bytes: int
    bandwidth_gbs: float
    peak_gflops: float
    """Of the matrix units on 16-bit numbers."""
    l2_bytes: int

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        """From the reference's answer; raises MachineError where the table of GPUs has none like it."""
        rate = gpu_like(said["name"], said["capability"]).tensor_flops_per_clock_per_sm
        peak_gflops = rate * 1e-9 * said["sm_count"] * said["clock_khz"] * 1e3
        return cls(said["free_bytes"], said["bandwidth_gbs"], peak_gflops, said["l2_bytes"])


class DeviceReference:
    """Trusted code; its failures are the machine's or the definition's, never the solution's."""

    def __init__(
        self, zygote: Zygote, plan: DevicePlan, protocol: Protocol, *, gpu: str, compiles: bool, not_compiled: str = ""
    ) -> None:  # fmt: skip
        """Start the process and draw the weights: all that needs no GPU.

        Raises Verdict NOT_JUDGED or MACHINE_ERROR. `compiles`: it may start a compiler; `not_compiled`: why there is no
        `torch_compile` though the config has it.
        """
        self.plan = plan
        self._protocol = protocol
        self._not_compiled = not_compiled
        self._modes: dict[str, Mode] = {}
        self.graph_run_ms: dict[str, float] = {}
        """Of each baseline that can be a graph, what a run takes without its launches."""
        self._published_ms: dict[str, float] = {}
        """Of each baseline what KernelBench's own loop gives, taken once."""
        self.refused: set[str] = set()
        """Distributions of values that the reference gave no usable results for."""
        confinement = Confinement(int(protocol.memory_limit_gib * GIB), memory_only=compiles, gpu=True)
        self._runner: Runner = zygote.spawn("cuda_reference", {}, confinement)
        self._opened = False
        with on_failure(self.close):
            self._build(gpu)

    def open_gpu(self) -> None:
        """Open the GPU, and put nothing on it; raises Verdict as the constructor does."""
        if not self._opened:
            self._ask({"do": "open_gpu"}, SETUP_TIMEOUT_S)
            self._opened = True

    def load(self) -> None:
        """Allocate what is shared, bring the model to the GPU, try it out; raises Verdict as the constructor does."""
        with on_failure(self.close):
            self.open_gpu()
            self.device = Device.of(self._ask({"do": "warm", "tf32": self._protocol.tf32}, SETUP_TIMEOUT_S))
            check_memory(self.plan, self.device.free_bytes)
            self.regions = self.plan.regions(self.device.free_bytes)
            self._load()

    def _build(self, gpu: str) -> None:
        """Its model, on the CPU."""
        message = {"do": "build", "gpu": gpu, "threads": self._protocol.threads}
        message |= {"model_mode": self._protocol.model_mode, **self.plan.reference_message()}
        self._ask(message, SETUP_TIMEOUT_S + self._protocol.run_timeout_s)

    def _load(self) -> None:
        regions = [self.regions[name].message() | {"name": name} for name in REGIONS]
        message = {"do": "load", "flops": self.plan.definition.flops, "regions": regions}
        answer = self._ask(message, SETUP_TIMEOUT_S + self._protocol.run_timeout_s)
        self.written: list[str] = answer["written"]
        self.scalars: dict[str, Any] = answer["scalars"]
        """The arguments that are plain numbers, as one seed gives them."""
        self.strides: list[list[int]] = answer["strides"]
        """Owed of each result, in elements."""
        self.views: list[list[int]] = answer["views"]
        """Those of the reference's own results, which may be views of something larger."""
        self.random: bool = answer["random"]
        """Its results depend on a seed, not on the inputs alone."""

    @property
    def sets(self) -> int:
        """Sets that there are, the most that a batch can have."""
        return self.regions["inputs"].count

    def hand_over(self, *, own_gate: bool) -> tuple[list[int], int]:
        """Descriptors of the shared memory, in the order of `REGIONS`, which the caller closes; the gate's number.

        `own_gate`: a gate that no solution can reach.
        """
        gate = int(self._work({"do": "choose_gate", "own": own_gate})["gate"])
        try:
            return self._runner.take_descriptors(len(REGIONS), SETUP_TIMEOUT_S), gate
        except RunnerError as error:
            raise reference_failure(error) from None

    def ahead(self, trials: Iterable[PlannedTrial]) -> None:
        """Compute what these trials expect before there is a solution, as far as memory reaches."""
        for item in trials:
            if not self._work({"do": "ahead", **asdict(item)})["kept"]:
                return

    def trial(self, seed: int, forward_seed: int, distribution: str, *, exact: bool) -> dict[str, Any]:
        """Inputs and expected outputs of one trial: `scalars`, `usable`, `baseline_error`."""
        message = {"do": "trial", "seed": seed, "forward_seed": forward_seed}
        made = self._work(message | {"distribution": distribution, "exact": exact})
        if not made["usable"]:
            self.refused.add(distribution)
        return made

    def compare(self, distribution: str = "as_given", *, audit: Sequence[int] | None = None) -> dict[str, Any]:
        """A tally of the last trial's set, or of the sets of the last batch that are to be audited."""
        message: dict[str, Any] = {"do": "compare", "tolerance": self.plan.workload.tolerance.model_dump()}
        message |= {"distribution": distribution, "scaled": distribution != "as_given"}
        return self._work(message if audit is None else message | {"audit": list(audit), "random": self.random})

    def refresh(
        self, seed: int, forward_seed: int, sets: int, distribution: str = "as_given"
    ) -> list[dict[str, Any]]:  # fmt: skip
        """New inputs for so many sets, hidden until `reveal`; the arguments that are plain numbers, one mapping a set.

        Baselines are seeded with `forward_seed` before a batch, as the solution is.
        """
        message = {"do": "refresh", "seed": seed, "forward_seed": forward_seed, "sets": sets}
        message |= {"distribution": distribution}
        scalars: list[dict[str, Any]] = self._work(message)["scalars"]
        return scalars

    def refresh_rest(self, first: int, seed: int, distribution: str = "as_given") -> None:
        """New inputs for the sets from `first` on, hidden until `reveal`."""
        self._work({"do": "refresh_rest", "first": first, "seed": seed, "distribution": distribution})

    def reveal(self, first: int, end: int) -> float:
        """Show the inputs of some sets, which were hidden so far, and flush; milliseconds that this took."""
        return float(self._work({"do": "reveal", "first": first, "end": end})["reveal_ms"])

    def untouched(self, first: int) -> bool:
        """Whether no output of the sets from `first` on has been written since they were poisoned."""
        return bool(self._work({"do": "untouched", "first": first})["untouched"])

    def flush(self) -> None:
        """Make the L2 cache forget."""
        self._work({"do": "flush"})

    def settle(self) -> float:
        """Milliseconds until the GPU has no work left; raises Verdict TIMEOUT when somebody's work does not end."""
        answer = self._work({"do": "settle", "limit_s": SETTLE_LIMIT_S})
        if answer.get("busy"):
            raise Verdict(
                Status.TIMEOUT, f"it left work on the GPU that was not done {SETTLE_LIMIT_S:g} s after its answer"
            )
        return float(answer["settle_ms"])

    def idle_within(self, limit_s: float) -> bool:
        """Whether the GPU has no work left within so many seconds."""
        return "busy" not in self._work({"do": "settle", "limit_s": limit_s})

    def close_gates(self, sets: int, gate: int) -> int:
        """Before a graph over so many sets that waits at this gate is launched; the value that will say it is done.

        `open_gates` then means the same gate.
        """
        return int(self._work({"do": "close", "sets": sets, "gate": gate})["value"])

    def open_gates(self, first: int, end: int, limit_s: float, *, wait: bool = True) -> float:
        """Let runs `first` to `end` - 1 of the armed graph begin; with the last one, milliseconds until it was done.

        Not `wait`: nothing is launched yet.

        Raises Verdict TIMEOUT.
        """
        answer = self._work({"do": "open", "first": first, "end": end, "limit_s": limit_s, "wait": wait})
        if answer.get("late"):
            raise Verdict(Status.TIMEOUT, f"running took over {limit_s:g} s")
        return float(answer["wall_ms"])

    def open_all_gates(self) -> None:
        """Let everything go on that still waits at the gate that was closed last."""
        self._work({"do": "open", "first": 0, "end": self.sets, "limit_s": 0.0, "wait": False})

    def published_ms(self, baseline: str, pilot: int, trials: Callable[[float], int], *, flush: bool) -> float:
        """Mean milliseconds of a call of the baseline by KernelBench's own loop; taken once for all solutions.

        `trials`: how many, by what a call took in `pilot` trials.
        """
        if baseline not in self._published_ms:
            self._show_new(1)
            count = trials(self._published(baseline, pilot, flush=flush))
            self._published_ms[baseline] = self._published(baseline, count, flush=flush)
        return self._published_ms[baseline]

    def _published(self, baseline: str, trials: int, *, flush: bool) -> float:
        message = {"do": "as_published", "baseline": baseline, "trials": trials, "flush": flush}
        limit_s = SETUP_TIMEOUT_S + (trials + 4) * self._protocol.run_timeout_s
        return float(self._ask(message, limit_s)["device_ms"])

    def batch(self, baseline: str, mode: str, runs: int) -> float:
        """One batch over so many of the refreshed sets, a graph's over all; milliseconds of device time."""
        return float(self._work({"do": "batch", "baseline": baseline, "mode": mode, "runs": runs})["device_ms"])

    def capture(self, baseline: str) -> bool:
        """Whether a batch of the baseline could be made a graph; raises Verdict where memory is too short for it."""
        try:
            self._work({"do": "capture", "baseline": baseline})
        except Verdict as verdict:
            if not self.alive or verdict.detail.startswith(NO_MEMORY):
                raise
            return False
        return True

    def mode(self, baseline: str) -> Mode:
        """How this process can time a baseline; one whose graph has branches may not wait quietly at its gate.

        Found out before there is a solution, so that none has a say in it.
        """
        if baseline not in self._modes:
            self._modes[baseline] = "stream" if self.random else self._graph_mode(baseline)
            if self._modes[baseline] == "stream":
                self.graph_run_ms.pop(baseline, None)
        return self._modes[baseline]

    def _graph_mode(self, baseline: str) -> Mode:
        """`graph` for a chain of kernels, `replay` for branches; `stream`: it is no graph, or too long to be one."""
        sets = min(TRIED_SETS, self.sets)
        for _ in range(2):  # the first run of a kernel brings its code to the GPU
            self._show_new(sets)
            taken_ms = self.batch(baseline, "stream", sets)
        if taken_ms > sets * GRAPH_BELOW_MS:
            return "stream"
        tried = self._try_graph(baseline, sets)
        if tried is None:
            return "stream"
        self.graph_run_ms[baseline] = run_ms = tried["batch_ms"] / sets
        most = run_count(self.sets, run_ms, 0.0)
        if most > sets and self._try_graph(baseline, most) is None:
            return "stream"
        return "graph" if tried["chain"] else "replay"

    def _try_graph(self, baseline: str, sets: int) -> dict[str, Any] | None:
        """What a graph of so many runs is like; absent where there can be none."""
        self._show_new(sets)
        tried = self._optional({"do": "try_graph", "baseline": baseline})
        if tried is not None and "uncounted" in tried:
            raise Verdict(Status.MACHINE_ERROR, f"the steps of a graph cannot be counted: {tried['uncounted']}")
        return tried

    def _show_new(self, sets: int) -> None:
        seeds = random.SystemRandom()
        self.refresh(seeds.getrandbits(30), seeds.getrandbits(30), sets)
        self.reveal(0, sets)

    def gate_ms(self) -> dict[Mode, float]:
        """What each run loses at its gate, in a graph and among queued launches."""
        taken = self._work({"do": "gate_cost"})
        return {"graph": float(taken["graph_ms"]), "queued": float(taken["queued_ms"])}

    def spans(self, baseline: str) -> dict[str, Any]:
        """`busy_ms` and `kernels` per run, or `missing`."""
        return self._work({"do": "spans", "baseline": baseline})

    def compile_baseline(self) -> str:
        """What preparing `torch_compile` came to, in the process before this one if that had to be replaced."""
        return self._not_compiled

    def prepare_compiled(self, baseline: str) -> str:
        """Compile a baseline; a sentence why that did not work, else empty. The process is then in any state."""
        try:
            self._ask({"do": "compile", "baseline": baseline, "options": COMPILE_OPTIONS[baseline]}, COMPILE_TIMEOUT_S)
        except Verdict as verdict:
            return f"the baseline {baseline} could not be prepared: {verdict.detail.splitlines()[-1]}"
        return ""

    def fresh_run_ms(self, baseline: str) -> float:
        """One run in the stream, on inputs of a secret new seed; milliseconds of device time."""
        self._show_new(1)
        return self.batch(baseline, "stream", 1)

    def profile(self) -> str:
        """PyTorch's operator table of one forward."""
        return str(self._ask({"do": "profile"}, SETUP_TIMEOUT_S + self._protocol.run_timeout_s, LARGE_BYTES)["table"])

    @property
    def alive(self) -> bool:
        """Whether it can go on."""
        return self._runner.alive

    def close(self) -> None:
        """End the process; its GPU memory goes with it and with the solution's."""
        self._runner.end()

    def _work(self, message: dict[str, Any]) -> dict[str, Any]:
        return self._ask(message, SETUP_TIMEOUT_S + 3 * self._protocol.run_timeout_s)

    def _optional(self, message: dict[str, Any]) -> dict[str, Any] | None:
        try:
            return self._work(message)
        except Verdict:
            if not self.alive:
                raise
            return None

    def _ask(self, message: dict[str, Any], timeout_s: float, limit: int = 1 << 20) -> dict[str, Any]:
        try:
            return ask_reference(self._runner, message, timeout_s, limit, NO_MEMORY)
        except Verdict as verdict:
            if verdict.status is Status.NOT_JUDGED and not verdict.detail.startswith(NO_MEMORY):
                self._runner.end()  # it may still answer, when something else has been asked
            raise


def close_all(descriptors: Sequence[int]) -> None:
    """Close descriptors that were handed over."""
    for descriptor in descriptors:
        os.close(descriptor)

"""The solution under judgement on the GPU, in a confined process of its own."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hone.compile.outcome import UNSEEN
from hone.judge.clocks.observation import Observation, Overhead, between, usual_overhead
from hone.judge.device.cuda.plan import DevicePlan
from hone.judge.device.cuda.reference import REGIONS, DeviceReference, close_all
from hone.judge.device.cuda.sets import BatchShape
from hone.judge.plan import GIB
from hone.judge.runner import END_TIMEOUT_S, Runner, RunnerError, RunnerTimeoutError, Zygote
from hone.judge.sides import KINDS, TABLE_CHARACTERS, module_message, native_message, verdict_of
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.judge.wire import LARGE_BYTES, UNBUILT
from hone.machine.confinement import Confinement
from hone.machine.environment import oom_kills
from hone.records import Mode, Protocol, Solution, Status

SETUP_TIMEOUT_S = 20.0
"""Beside the limit of one batch: what constructors get."""
LAUNCHED_WITHIN_S = 1.0
QUIET_WITHIN_S = 0.1
"""Within these times a graph that waits at its gate is launched and leaves the GPU to others, or it is not used."""
NOT_LAUNCHED = "its launches do not come to an end while they wait: it waits for the GPU, or they are too many"
RESTLESS = "its graph takes turns on the GPU while it waits"
NOT_CAPTURED = "it cannot be captured as a graph"
NOTHING_CAPTURED = "its launches are not captured: they go to the default stream, or to streams of its own"
NO_ROOM = "there is no memory for a batch of it"
PUBLISHED_PATIENCE = 5.0
"""Times what a call of KernelBench's loop took in its first look."""
MOST = 1e9
"""That any number can be which a solution's process tells."""
QUESTION_S = 2e-4
"""What a question to a process and its answer take at least."""
REHEARSALS = 3
"""So often it must do so before there is a solution: one with the same graph is not accused of what chance does."""
CALIBRATIONS = 7
NULL_SETS = 2
"""An empty batch fills the outputs of so many sets: where much memory is written, processes take longer to change."""


class DeviceSubject:
    """Whatever goes wrong in here is raised as a Verdict: the solution's doing, unless the machine killed it."""

    def __init__(
        self, zygote: Zygote, gpu: str, protocol: Protocol, solution: Solution, *, artifact: Path | None,
        extensions: Mapping[str, Path], refused: Mapping[str, str] | None = None, scratch: Path | None = None,
        compiling: bool = False,
    ) -> None:  # fmt: skip
        """Start the process, which does not open the GPU yet.

        `scratch` is a folder with what a compiler left there; with `compiling` it is filled, and nothing is judged.
        """
        self.shape = BatchShape("stream", 1)
        """Of a baseline: how it is timed, after `DeviceTiming.rehearse`."""
        self.device_run_ms = 0.0
        """What a run took when it was first tried behind a gate, by its own account, launches left out."""
        self._opened = False
        self.apart = False
        """Batches copy the results of each run: the next one writes over them."""
        self.captured = False
        """A capture has been tried in this process."""
        self._launching_s = 0.0
        self._protocol = protocol
        self._solution = solution
        self._artifact = artifact
        self._extensions = extensions
        self._refused = dict(refused or {})
        self._kills_before = oom_kills()
        self._overhead = self._graph_overhead = Overhead(0.0, 0.0)
        self._store_ms = self._early_ms = [(1, 0.0), (1, 0.0)]
        readable = [str(path) for path in (artifact, scratch, *extensions.values()) if path is not None]
        confinement = Confinement(
            int(protocol.memory_limit_gib * GIB), tuple(readable), gpu=True,
            scratch=str(scratch) if compiling and scratch else "",
        )  # fmt: skip
        self._gate = 0
        self._compiling = compiling
        self._has_run = False
        self._runner: Runner = zygote.spawn("cuda_native" if artifact else "cuda_candidate", {}, confinement)
        self._warm = {"do": "warm", "gpu": gpu, "tf32": protocol.tf32, "compiles": compiling}
        self._warm |= {"triton_cache": str(scratch) if scratch else ""}

    @property
    def copies_outputs(self) -> bool:
        """Python returns tensors, which are copied after the clock has stopped; launchers write in place."""
        return self._artifact is None

    @property
    def confinement(self) -> tuple[str, ...]:
        """What holds it."""
        return self._runner.confinement

    def open_gpu(self) -> None:
        """Before there is any code, and while others may measure: half of the time that a process takes to be ready."""
        if not self._opened:
            self._ask(self._warm, SETUP_TIMEOUT_S, "starting")
            self._opened = True

    def attach(self, reference: DeviceReference, *, own_gate: bool = False) -> None:
        """Map the shared memory, before there is any code: all but the parameters can be written to.

        `own_gate`: for an existing kernel, whose gate a solution beside it must not reach.
        """
        self.open_gpu()
        try:
            writable = [name != "parameters" for name in REGIONS]
            regions = [reference.regions[name].message() | {"name": name} for name in REGIONS]
            descriptors, self._gate = reference.hand_over(own_gate=own_gate)
            try:
                message = {"do": "map", "count": len(descriptors), "regions": regions, "writable": writable}
                message |= {"strides": reference.strides, "views": reference.views}
                answer = self._runner.give_descriptors(message, descriptors, SETUP_TIMEOUT_S)
            finally:
                close_all(descriptors)
            if "error" in answer:  # nothing of the solution has run yet
                detail = f"shared memory cannot be mapped: {answer['error']['text']}"
                raise Verdict(Status.MACHINE_ERROR, detail)
        except RunnerError as error:
            raise self._verdict(error, "starting", SETUP_TIMEOUT_S) from None

    def calibrate(self, reference: DeviceReference) -> None:
        """Measure what an empty batch takes by the judge's clock, before any code of the solution is there."""
        walls, settles = [], []
        for _ in range(CALIBRATIONS):
            reference.flush()
            seen = self._timed({"mode": "null", "sets": min(NULL_SETS, reference.sets)}, reference)
            walls.append(seen.wall_ms - seen.claimed_ms)
            settles.append(seen.settle_ms)
        self._overhead = usual_overhead(walls, settles)
        if reference.plan.held_out:
            return
        found = []
        for _ in range(CALIBRATIONS):
            if problem := self.arm(reference, reference.sets, null=True):
                raise Verdict(Status.MACHINE_ERROR, f"an empty batch: {problem}")
            seen = self.run_armed(reference, reference.sets)
            claimed_ms, collect_ms = self.collect()
            found.append(replace(seen, claimed_ms=claimed_ms, collect_ms=collect_ms))
        self._early_ms = [(sets, self._reveal(reference, sets)) for sets in (1, reference.sets)]
        if self.copies_outputs:
            self._store_ms = [(sets, self._empty_store(reference, sets)) for sets in (1, reference.sets)]
        walls = [seen.wall_ms - seen.claimed_ms for seen in found]
        usual = usual_overhead(walls, [seen.settle_ms for seen in found])
        self._graph_overhead = replace(usual, collect_ms=max(seen.collect_ms for seen in found))

    def overhead(self, shape: BatchShape, sets: int) -> Overhead:
        """What `calibrate` found for batches behind gates or in the stream, and for copying the results of a batch."""
        chosen = self._graph_overhead if shape.gated else self._overhead
        return replace(chosen, store_ms=between(self._store_ms, sets), early_ms=between(self._early_ms, sets))

    @staticmethod
    def _reveal(reference: DeviceReference, sets: int) -> float:
        """What showing the inputs of so many sets takes when nobody makes use of it."""
        taken = [reference.reveal(0, sets) + reference.settle() for _ in range(CALIBRATIONS)]
        return statistics.median(taken)

    def _empty_store(self, reference: DeviceReference, sets: int) -> float:
        """The longest that copying honest results of so many sets took."""
        taken = []
        for _ in range(CALIBRATIONS):
            self._ask({"do": "returns_nothing_new", "sets": sets}, SETUP_TIMEOUT_S, "starting")
            self._freeze("starting")
            reference.flush()
            taken.append(self.store())
        return max(taken)

    def arm(self, reference: DeviceReference, sets: int, mode: Mode = "graph", *, null: bool = False) -> str:
        """Let it put a batch behind its gates, then stop it: none of its host code runs until `collect`.

        `graph`: one launch of its graph; `queued`: the launches of all runs; `null`: a graph of as many empty steps.
        Why its launches do not come to an end behind the gates, which then are open; empty when they do.
        """
        value = reference.close_gates(sets, self._gate)
        late = self._launch(self._arming(mode, value, sets if null else 0), reference, sets)
        self._freeze("launching a batch")
        if late:
            self.collect()
            return NOT_LAUNCHED
        reference.settle()  # what runs now has not waited for its gate: it may wait for inputs
        return ""

    def _launch(self, message: dict[str, Any], reference: DeviceReference, sets: int) -> bool:
        """Whether gates had to be opened before it answered."""
        late = False
        try:
            self._runner.begin(message, SETUP_TIMEOUT_S)
            try:
                answer = self._runner.finish(LAUNCHED_WITHIN_S)
            except RunnerTimeoutError:
                late = True
                reference.open_gates(0, sets, 0.0, wait=False)
                answer = self._runner.finish(SETUP_TIMEOUT_S + self._run_limit_s)
        except RunnerError as error:
            raise self._verdict(error, "launching a batch", SETUP_TIMEOUT_S) from None
        self._check(answer)
        return late

    def _arming(self, mode: Mode, value: int, null: int = 0) -> dict[str, Any]:
        return {"do": "arm", "how": mode, "null": null, "value": value, "apart": self.apart}

    def waits_quietly(self, reference: DeviceReference, sets: int, mode: Mode) -> str:
        """Let it launch a batch behind closed gates, then run; why it does not leave the GPU to others, else empty.

        Many graphs with parallel branches take their turns on the GPU even while they wait, and a forward that waits
        for the GPU never comes to its end: they cannot be timed behind a gate.
        """
        value = reference.close_gates(sets, self._gate)
        problem = NOT_LAUNCHED if self._launch(self._arming(mode, value), reference, sets) else ""
        if not problem:
            self._freeze("launching a batch")
            problem = "" if reference.idle_within(QUIET_WITHIN_S) else RESTLESS
            reference.open_gates(0, sets, self._run_limit_s)
        claimed_ms, _ = self.collect()
        self.device_run_ms = self.device_run_ms or claimed_ms / sets
        return problem

    def run_open(self, reference: DeviceReference, sets: int, mode: Mode) -> str:
        """Let it launch a batch with open gates, and wait for the end; why there is no room for it, else empty.

        The first launch brings a graph to the GPU. It takes so much room that one of a few thousand kernels would have
        to begin before it is launched as a whole. And PyTorch takes the memory for the results of all runs.
        """
        message = self._arming(mode, self.open_gates(reference, sets))
        started = time.perf_counter()
        try:
            self._ask(message, SETUP_TIMEOUT_S + self._run_limit_s, "launching a batch")
        except Verdict as verdict:
            if verdict.status is not Status.OUT_OF_MEMORY:
                raise
            self._freeze("launching a batch")
            return NO_ROOM
        self._launching_s = max(0.0, time.perf_counter() - started - QUESTION_S) / sets
        self._freeze("launching a batch")
        reference.open_gates(0, sets, self._run_limit_s)
        self.collect()
        return ""

    @property
    def alive(self) -> bool:
        """Whether its process has not been ended."""
        return self._runner.alive

    @property
    def launching_s(self) -> float:
        """Seconds that its host took for the launches of one run, in the last batch with open gates."""
        return self._launching_s

    @property
    def _run_limit_s(self) -> float:
        """Of one batch. In a process's first one compilers run, and cuDNN tries out what is fastest."""
        if self._compiling and not self._has_run:
            return self._protocol.build_timeout_s
        first_s = self._protocol.first_run_timeout_s if self._compiling or not self._has_run else 0.0
        return max(self._protocol.run_timeout_s, first_s)

    def run_armed(self, reference: DeviceReference, sets: int) -> Observation:
        """Show the inputs, then open the gates; the claim is not known before `collect`."""
        early_ms = reference.reveal(0, sets) + reference.settle()
        wall_ms = reference.open_gates(0, sets, self._run_limit_s)
        return Observation(0.0, wall_ms, reference.settle(), early_ms=early_ms)

    def collect(self) -> tuple[float, float]:
        """Milliseconds that the device's clock gives for what was armed, and those that asking for them took."""
        started = time.perf_counter()
        answer = self._ask({"do": "collect"}, SETUP_TIMEOUT_S, "finishing")
        self._freeze("finishing")
        return self._claim(answer), (time.perf_counter() - started) * 1e3

    def store(self) -> float:
        """Copy the results to the outputs; milliseconds that this took."""
        if not self.copies_outputs:
            return 0.0
        started = time.perf_counter()
        self._ask({"do": "store"}, SETUP_TIMEOUT_S + self._run_limit_s, "copying its results")
        self._freeze("copying its results")
        return (time.perf_counter() - started) * 1e3

    def load(self, plan: DevicePlan) -> None:
        """Open the shared object, or execute the module and build `ModelNew`."""
        message: dict[str, Any] = {"do": "load"}
        if self._artifact is not None:
            message |= native_message(self._solution, self._artifact, plan)
        else:
            message |= module_message(self._solution, self._protocol, plan)
            message |= {"extensions": {key: str(path) for key, path in self._extensions.items()}}
            message |= {"refused": self._refused}
        self._ask(message, SETUP_TIMEOUT_S + self._run_limit_s, "loading")

    def prepare(self, seed: int, scalars: Sequence[Mapping[str, Any]], *, keeps_memory: bool = False) -> None:
        """Seed the next batch, then stop: inputs are only written while it cannot look at them.

        Unless it `keeps_memory`, what PyTorch keeps for later is freed where the reference might lack it.
        """
        message = {"do": "prepare", "seed": seed, "scalars": list(scalars), "keeps_memory": keeps_memory}
        self._ask(message, SETUP_TIMEOUT_S, "preparing")
        self._freeze("preparing")

    def give_back(self) -> None:
        """Let it free what PyTorch keeps of the GPU's memory for later, then stop it."""
        self._ask({"do": "give_back"}, SETUP_TIMEOUT_S, "giving memory back")
        self._freeze("giving memory back")

    def run(self, sets: int, reference: DeviceReference, mode: Mode = "stream") -> Observation:
        """One batch in the stream on what has been revealed, or one launch of its graph, whose gates are open.

        It is stopped before and afterwards. Results are not copied yet: see `store`.
        """
        seen = self._timed({"mode": mode, "sets": sets}, reference)
        self._has_run = True
        return seen

    def as_published(self, trials: int, call_ms: float, *, flush: bool) -> tuple[float, float]:
        """KernelBench's own loop over set 0: mean milliseconds of a call by its own account, and by the judge's clock.

        The latter counts all that the loop does; `flush`: as branch main, which writes over the L2 cache. `call_ms`:
        what a call takes, as far as that is known.
        """
        limit_s = SETUP_TIMEOUT_S + 2 * self._run_limit_s + PUBLISHED_PATIENCE * trials * call_ms / 1e3
        try:
            elapsed_ns, answer = self._runner.time_run(
                {"as_published": True, "trials": trials, "flush": flush}, limit_s
            )
        except RunnerError as error:
            raise self._verdict(error, "running as published", limit_s) from None
        self._check(answer)
        return self._claim(answer), elapsed_ns / 1e6 / trials

    def open_gates(self, reference: DeviceReference, sets: int) -> int:
        """Let a graph that it has not launched yet run as soon as it is; the value that says it is done."""
        value = reference.close_gates(sets, self._gate)
        reference.open_gates(0, sets, 0.0, wait=False)
        return value

    def capture(self, runs: int) -> str:
        """Why a batch of so many runs could not be made a graph, empty when it could.

        A solution that does not survive the attempt has failed.
        """
        try:
            self.captured = True
            message = {"do": "capture", "apart": self.apart}
            answer = self._runner.ask(message, SETUP_TIMEOUT_S + self._run_limit_s, LARGE_BYTES)
            self._runner.freeze()
        except RunnerError as error:
            raise self._verdict(error, "being captured as a graph", SETUP_TIMEOUT_S + self._run_limit_s) from None
        if "error" in answer:
            return NOT_CAPTURED
        steps = answer.get("steps")
        return NOTHING_CAPTURED if isinstance(steps, int) and steps <= runs else ""

    def spans(self) -> dict[str, Any]:
        """`busy_ms` and `kernels` per run as its own process saw them, or `missing`."""
        answer = self._ask({"do": "spans"}, 2 * self._run_limit_s, "running under CUPTI")
        self._freeze("running under CUPTI")
        busy, kernels = answer.get("busy_ms"), answer.get("kernels")
        if isinstance(busy, (int, float)) and isinstance(kernels, int) and busy > 0 and kernels > 0:
            return {"busy_ms": float(busy), "kernels": kernels}
        return {"missing": str(answer.get("missing", ""))[:200]}

    def leave_out(self) -> tuple[float, float, float]:
        """Launches that were left out, the share of results that this changes, the share that other inputs change.

        As its own process tells (see `own_kernels`): raises Verdict where that is no numbers.
        """
        answer = self._ask({"do": "leave_out"}, SETUP_TIMEOUT_S + self._run_limit_s, "running without its own kernels")
        told: list[Any] = [answer.get(name) for name in ("launches", "changes", "varies")]
        if not all(isinstance(one, (int, float)) and 0 <= one < MOST for one in told):
            raise Verdict(
                Status.RUNTIME_ERROR, "its process interfered with the judge's protocol: no shares were given"
            )
        launches, changes, varies = told
        return launches, changes, varies

    def profile(self) -> str:
        """PyTorch's operator table of one forward, as the candidate's process gives it."""
        answer = self._ask({"do": "profile"}, SETUP_TIMEOUT_S + self._run_limit_s, "profiling")
        return str(answer.get("table", ""))[:TABLE_CHARACTERS]

    def close(self) -> None:
        """Kill the process; what it has on the GPU goes with it."""
        self._runner.end()

    def _timed(self, message: dict[str, Any], reference: DeviceReference) -> Observation:
        try:
            elapsed_ns, answer = self._runner.time_run(message, self._run_limit_s)
        except RunnerError as error:
            doing = "running" if self._has_run or message["mode"] == "null" else "its first run"
            raise self._verdict(error, doing, self._run_limit_s) from None
        self._check(answer)
        settle_ms = reference.settle()
        return Observation(self._claim(answer), elapsed_ns / 1e6, settle_ms)

    @staticmethod
    def _claim(answer: dict[str, Any]) -> float:
        claimed = answer.get("device_ms")
        if not isinstance(claimed, (int, float)) or not 0 <= claimed < MOST:
            raise Verdict(Status.RUNTIME_ERROR, "its process interfered with the judge's protocol: no time was given")
        return float(claimed)

    def _freeze(self, doing: str) -> None:
        try:
            self._runner.freeze()
        except RunnerError as error:
            raise self._verdict(error, doing, END_TIMEOUT_S) from None

    def _ask(self, message: dict[str, Any], timeout_s: float, doing: str) -> dict[str, Any]:
        try:
            answer = self._runner.ask(message, timeout_s, LARGE_BYTES)
        except RunnerError as error:
            raise self._verdict(error, doing, timeout_s) from None
        self._check(answer)
        return answer

    @staticmethod
    def _check(answer: dict[str, Any]) -> None:
        error = answer.get("error")
        if not isinstance(error, dict):
            return
        text = str(error.get("text", ""))
        if error.get("kind") == UNBUILT:
            raise UnsuitedVerdict(UNSEEN)
        status = KINDS.get(str(error.get("kind")), Status.RUNTIME_ERROR)
        status = Status.OUT_OF_MEMORY if "out of memory" in text else status
        if "illegal memory access" in text:
            text += "\n(parameters cannot be written to)"
        raise Verdict(status, text)

    def _verdict(self, error: RunnerError, doing: str, limit_s: float) -> Verdict:
        return verdict_of(error, doing, limit_s=limit_s, kills_before=self._kills_before)

"""The reference of one workload, in a runner of its own: inputs, parameters, expected outputs, baseline times."""

from __future__ import annotations

import functools
from typing import Any

from hone.core.errors import on_failure
from hone.judge.device.cpu.arena import Arena, Bytes
from hone.judge.plan import GIB, Plan
from hone.judge.references import COMPILE_TIMEOUT_S, ask_reference, check_reference, reference_failure
from hone.judge.runner import Runner, RunnerError, RunnerTimeoutError, Zygote
from hone.judge.verdict import Verdict
from hone.judge.wire import LARGE_BYTES
from hone.machine.confinement import Confinement
from hone.records import Protocol, Status

SETUP_TIMEOUT_S = 60.0
"""Beside the limit of one forward: what constructors, input generators and compilers of baselines get."""
SLOW_GFLOPS = 10.0
"""Any machine reaches this: only definitions that could then exceed the time limit are compared to its real peak."""
PEAK_MARGIN = 3.0
"""Times the measured peak: fast convolution algorithms need fewer operations than are counted."""


class Reference:
    """Trusted code; its failures are the machine's or the definition's, never the solution's."""

    def __init__(self, zygote: Zygote, plan: Plan, protocol: Protocol, *, compiles: bool = False) -> None:
        """`compiles`: a baseline has to start a compiler, which full confinement forbids.

        Start the runner; raises Verdict NOT_JUDGED when the work exceeds the time limit on this machine anyway.
        """
        self.plan = plan
        self._protocol = protocol
        self.pristine = Arena(plan.inputs)
        self.parameters = Arena(plan.parameters)
        self.outputs = Arena(plan.outputs)
        self._working = None if plan.shared_inputs else Arena(plan.inputs)
        arenas = {"pristine": self.pristine, "parameters": self.parameters, "outputs": self.outputs}
        if self._working is not None:
            arenas["inputs"] = self._working
        confinement = Confinement(int(protocol.memory_limit_gib * GIB), memory_only=compiles)
        self._spawn = functools.partial(zygote.spawn, "reference", arenas, confinement)
        self._runner: Runner | None = None
        with on_failure(self.close):
            self._runner = self._spawn()
            self._check_speed()

    def load(self) -> None:
        """Build the model afresh, so that every solution meets the same state, and write its parameters."""
        message = {"do": "load", "threads": self._protocol.threads, "model_mode": self._protocol.model_mode}
        message |= self.plan.reference_message()
        self._ask(message, SETUP_TIMEOUT_S + self._protocol.run_timeout_s)

    def make_inputs(self, seed: int) -> dict[str, Any]:
        """Write the inputs of a seed to `pristine`; returns the arguments that are plain numbers."""
        answer = self._ask({"do": "make_inputs", "seed": seed}, SETUP_TIMEOUT_S + self._protocol.run_timeout_s)
        scalars: dict[str, Any] = answer["scalars"]
        return scalars

    def run(self, seed: int, scalars: dict[str, Any], *, baseline: str = "torch_eager", copy: bool) -> int:
        """One forward; nanoseconds. With `copy` the copy of the outputs to the arena is part of what is timed."""
        assert self._runner is not None
        self._ask({"do": "prepare", "seed": seed, "scalars": scalars}, SETUP_TIMEOUT_S)
        try:
            self._runner.freeze()
            if self._working is not None:
                self._working.copy_from(self.pristine)
            if copy:  # as for the solution, also so that both find the memory in the same caches
                self.outputs.poison()
            message = {"baseline": baseline, "copy": copy}
            elapsed_ns, answer = self._runner.time_run(message, self._protocol.run_timeout_s)
        except RunnerTimeoutError:
            detail = f"the reference takes over {self._protocol.run_timeout_s:g} s"
            raise Verdict(Status.NOT_JUDGED, detail) from None
        except RunnerError as error:
            raise reference_failure(error) from None
        check_reference(answer, self._no_memory)
        return elapsed_ns

    def store(self) -> None:
        """Copy the outputs of the last run to the arena."""
        self._ask({"do": "store"}, self._protocol.run_timeout_s + SETUP_TIMEOUT_S)

    def expected(self) -> list[Bytes]:
        """The bytes of all results: the outputs in the arena, then what the last run left of the in-place inputs."""
        inputs = self._working or self.pristine
        outputs = [self.outputs.raw(slot) for slot in self.plan.outputs.slots]
        return outputs + [inputs.raw(slot) for slot in self.plan.in_place]

    def written_inputs(self) -> list[str]:
        """Names of the inputs that the last forward wrote to."""
        return [str(name) for name in self._ask({"do": "describe"}, SETUP_TIMEOUT_S)["written_inputs"]]

    def compile_baseline(self) -> str:
        """Prepare `torch_compile`; a sentence why that did not work, else empty. Needs inputs from `run`.

        After a failure the runner may be dead, late with its answer or in any state: it is replaced by a fresh one.
        """
        try:
            self._ask({"do": "compile"}, COMPILE_TIMEOUT_S)
        except Verdict as verdict:
            assert self._runner is not None
            self._runner.end()
            self._runner = self._spawn()
            self.load()
            return f"the baseline torch_compile could not be prepared: {verdict.detail.splitlines()[-1]}"
        return ""

    def profile(self) -> str:
        """PyTorch's operator table of one forward."""
        return str(self._ask({"do": "profile"}, SETUP_TIMEOUT_S + self._protocol.run_timeout_s, LARGE_BYTES)["table"])

    @property
    def alive(self) -> bool:
        """Whether it can go on."""
        return self._runner is not None and self._runner.alive

    def close(self) -> None:
        """End the runner and give the memory back."""
        if self._runner is not None:
            self._runner.end()
        for arena in (self.pristine, self.parameters, self.outputs, self._working):
            if arena is not None:
                arena.close()

    def _check_speed(self) -> None:
        flops, limit = self.plan.definition.flops, self._protocol.run_timeout_s
        if flops <= SLOW_GFLOPS * 1e9 * limit:
            return
        peak = PEAK_MARGIN * float(self._ask({"do": "peak"}, SETUP_TIMEOUT_S)["gflops"])
        if flops > peak * 1e9 * limit:
            detail = f"the reference takes over {limit:g} s: {flops / 1e9:.0f} GFLOP at no more than {peak:.0f} GFLOP/s"
            raise Verdict(Status.NOT_JUDGED, detail)

    def _ask(self, message: dict[str, Any], timeout_s: float, limit: int = 1 << 16) -> dict[str, Any]:
        assert self._runner is not None
        return ask_reference(self._runner, message, timeout_s, limit, self._no_memory)

    @property
    def _no_memory(self) -> str:
        return f"the reference needs more than {self._protocol.memory_limit_gib:g} GiB"

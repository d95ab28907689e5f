"""The solution under judgement, in a confined runner of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hone.core.errors import on_failure
from hone.judge.device.cpu.arena import Arena, Bytes
from hone.judge.device.cpu.reference import SETUP_TIMEOUT_S, Reference
from hone.judge.needs import gpu_error
from hone.judge.plan import GIB, Plan
from hone.judge.runner import Runner, RunnerError, Zygote
from hone.judge.sides import KINDS, TABLE_CHARACTERS, module_message, native_message, verdict_of
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.judge.wire import LARGE_BYTES
from hone.machine.confinement import Confinement
from hone.machine.environment import oom_kills
from hone.records import Protocol, Solution, Status


class Subject:
    """Whatever goes wrong in here is raised as a Verdict: the solution's doing, unless the machine killed it."""

    def __init__(
        self, zygote: Zygote, plan: Plan, protocol: Protocol, solution: Solution, artifact: Path | None
    ) -> None:
        """`artifact` is the shared object of a compiled solution."""
        self.plan = plan
        self._protocol = protocol
        self._solution = solution
        self._artifact = artifact
        self._kills_before = oom_kills()
        self._poison = 0
        self.inputs = Arena(plan.inputs)
        self.parameters = Arena(plan.parameters) if artifact else None
        self.outputs = Arena(plan.outputs)
        arenas = {"inputs": self.inputs, "outputs": self.outputs}
        if self.parameters is not None:
            arenas["parameters"] = self.parameters
        readable = (str(artifact),) if artifact else ()
        confinement = Confinement(int(protocol.memory_limit_gib * GIB), readable)
        self._runner: Runner | None = None
        with on_failure(self.close):
            self._runner = zygote.spawn("native" if artifact else "candidate", arenas, confinement)

    @property
    def copies_outputs(self) -> bool:
        """Python returns tensors, which are copied to the arena while the clock runs; launchers write in place."""
        return self._artifact is None

    @property
    def confinement(self) -> tuple[str, ...]:
        """What holds it."""
        assert self._runner is not None
        return self._runner.confinement

    def load(self, reference: Reference) -> None:
        """Open the shared object, or execute the module and build `ModelNew`."""
        message: dict[str, Any] = {"do": "load"}
        if self.parameters is not None:
            self.parameters.copy_from(reference.parameters)
            message |= native_message(self._solution, self._artifact, self.plan)
        else:
            message |= module_message(self._solution, self._protocol, self.plan)
        self._ask(message, SETUP_TIMEOUT_S + self._protocol.run_timeout_s, "loading")

    def prepare(self, seed: int, scalars: dict[str, Any]) -> None:
        """Seed the next run, then stop: inputs are only written while it cannot look at them."""
        assert self._runner is not None
        self._ask({"do": "prepare", "seed": seed, "scalars": scalars}, SETUP_TIMEOUT_S, "preparing")
        try:
            self._runner.freeze()
        except RunnerError as error:
            raise self._verdict(error, "preparing") from None

    def run(self) -> int:
        """One run on what lies in `inputs`, outputs poisoned; nanoseconds. It is stopped before and afterwards."""
        assert self._runner is not None
        self._poison = self.outputs.poison()
        try:
            elapsed_ns, answer = self._runner.time_run({}, self._protocol.run_timeout_s)
        except RunnerError as error:
            raise self._verdict(error, "running") from None
        self._check(answer)
        return elapsed_ns

    def got(self) -> list[Bytes]:
        """The bytes of all results: the outputs, then the inputs that are written in place."""
        outputs = [self.outputs.raw(slot) for slot in self.plan.outputs.slots]
        return outputs + [self.inputs.raw(slot) for slot in self.plan.in_place]

    def guards_hold(self) -> bool:
        """Whether nothing was written outside the tensors."""
        return self.outputs.guards_hold(self._poison) and self.inputs.guards_hold(0)

    def changed(self, reference: Reference, may_write: list[str]) -> list[str]:
        """Arguments that it wrote to though the reference leaves them alone."""
        allowed = {*may_write, *(slot.name for slot in self.plan.in_place)}
        changed = [name for name in self.inputs.differing(reference.pristine) if name not in allowed]
        if self.parameters is not None:
            changed += self.parameters.differing(reference.parameters)
        return changed

    def profile(self) -> str:
        """PyTorch's operator table of one forward, as the candidate's process gives it."""
        answer = self._ask({"do": "profile"}, SETUP_TIMEOUT_S + self._protocol.run_timeout_s, "profiling")
        return str(answer.get("table", ""))[:TABLE_CHARACTERS]

    def close(self) -> None:
        """Kill the runner and give the memory back."""
        if self._runner is not None:
            self._runner.end()
        for arena in (self.inputs, self.parameters, self.outputs):
            if arena is not None:
                arena.close()

    def _ask(self, message: dict[str, Any], timeout_s: float, doing: str) -> dict[str, Any]:
        assert self._runner is not None
        try:
            answer = self._runner.ask(message, timeout_s, LARGE_BYTES)
        except RunnerError as error:
            raise self._verdict(error, doing) from None
        self._check(answer)
        return answer

    def _check(self, answer: dict[str, Any]) -> None:
        error = answer.get("error")
        if isinstance(error, dict):
            if self.copies_outputs and (reason := gpu_error(str(error.get("text", "")))):
                raise UnsuitedVerdict(reason)
            raise Verdict(KINDS.get(str(error.get("kind")), Status.RUNTIME_ERROR), str(error.get("text", "")))

    def _verdict(self, error: RunnerError, doing: str) -> Verdict:
        return verdict_of(error, doing, limit_s=self._limit(doing), kills_before=self._kills_before)

    def _limit(self, doing: str) -> float:
        limits = {"running": self._protocol.run_timeout_s, "preparing": SETUP_TIMEOUT_S}
        return limits.get(doing, SETUP_TIMEOUT_S + self._protocol.run_timeout_s)

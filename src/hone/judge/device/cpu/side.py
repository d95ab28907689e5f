"""The solution under judgement, in a confined runner of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hone import launcher
from hone.judge.confinement import Confinement
from hone.judge.device.cpu.arena import Arena, Bytes
from hone.judge.device.cpu.reference import SETUP_TIMEOUT_S, Reference
from hone.judge.environment import oom_kills
from hone.judge.needs import gpu_error
from hone.judge.plan import GIB, Plan
from hone.judge.runner import (
    Runner,
    RunnerEndedError,
    RunnerError,
    RunnerForgedError,
    RunnerStuckError,
    RunnerTimeoutError,
    Zygote,
)
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.judge.wire import LARGE_BYTES
from hone.records import Protocol, Solution, Status

if TYPE_CHECKING:
    from hone.judge.device.cuda.plan import DevicePlan

KINDS = {"memory": Status.OUT_OF_MEMORY, "load": Status.LOAD_ERROR, "shape": Status.WRONG_SHAPE}
TABLE_CHARACTERS = 20_000


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
        try:
            self._runner = zygote.spawn("native" if artifact else "candidate", arenas, confinement)
        except BaseException:
            self.close()
            raise

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

    def check_memory(self, reference: Reference, may_write: list[str]) -> None:
        """Raises a Verdict when it wrote outside its outputs, or to an argument that the reference leaves alone."""
        if not (self.outputs.guards_hold(self._poison) and self.inputs.guards_hold(0)):
            raise Verdict(Status.RUNTIME_ERROR, "it wrote outside its outputs")
        allowed = {*may_write, *(slot.name for slot in self.plan.in_place)}
        changed = [name for name in self.inputs.differing(reference.pristine) if name not in allowed]
        if self.parameters is not None:
            changed += self.parameters.differing(reference.parameters)
        if changed:
            raise Verdict(Status.INPUT_CHANGED, f"it wrote to {', '.join(changed)}, which the reference leaves alone")

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


def native_message(solution: Solution, artifact: Path | None, plan: Plan | DevicePlan) -> dict[str, Any]:
    """What a process needs to open a shared object and to call its launcher for the workload's data type."""
    definition, dtype = plan.definition, plan.workload.dtype
    entry_point = launcher.entry_point(definition, dtype, solution.entry_point)
    wanted = launcher.signature(definition, solution.language, dtype if definition.dtypes else None)
    return {
        "artifact": str(artifact), "entry_point": entry_point, "signature": plan.native_signature(), "wanted": wanted
    }  # fmt: skip


def module_message(solution: Solution, protocol: Protocol, plan: Plan | DevicePlan) -> dict[str, Any]:
    """What a process needs to execute a module and to build its model."""
    message = {"source": solution.source, "entry_point": solution.entry_point, "threads": protocol.threads}
    message["model_mode"] = protocol.model_mode
    return message | plan.reference_message()


def verdict_of(error: RunnerError, doing: str, *, limit_s: float, kills_before: int) -> Verdict:
    """What a failure of the solution's process says about the solution.

    `kills_before`: how many processes the kernel had killed for lack of memory when it was started.
    """
    if isinstance(error, RunnerTimeoutError):
        return Verdict(Status.TIMEOUT, f"{doing} took over {limit_s:g} s")
    if isinstance(error, RunnerForgedError):
        return Verdict(Status.RUNTIME_ERROR, f"its process interfered with the judge's protocol: {error}")
    if isinstance(error, RunnerStuckError):
        return Verdict(Status.MACHINE_ERROR, f"its process could not be stopped after {doing}")
    assert isinstance(error, RunnerEndedError)
    return _verdict_of_ending(error, doing, kills_before)


def _verdict_of_ending(error: RunnerEndedError, doing: str, kills_before: int) -> Verdict:
    last = error.errors.strip()[-500:]
    detail = f"{error.reason} while {doing}" + (f": {last}" if last else "")
    if error.code is None:
        return Verdict(Status.MACHINE_ERROR, detail)
    if error.code == -9 and oom_kills() > kills_before:
        # Solutions are held by a limit of their own: the kernel kills when the machine as a whole has run out.
        return Verdict(Status.MACHINE_ERROR, f"the machine ran out of memory: {detail}")
    if "bad_alloc" in error.errors:
        return Verdict(Status.OUT_OF_MEMORY, detail)
    return Verdict(Status.RUNTIME_ERROR, detail)

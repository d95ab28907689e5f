"""What a solution's process is told, and what its failures say about it: the same on every device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hone import launcher
from hone.judge.plan import Plan
from hone.judge.runner import (
    RunnerEndedError,
    RunnerError,
    RunnerForgedError,
    RunnerStuckError,
    RunnerTimeoutError,
)
from hone.judge.verdict import Verdict
from hone.machine.environment import oom_kills
from hone.records import Protocol, Solution, Status

if TYPE_CHECKING:
    from hone.judge.device.cuda.plan import DevicePlan

KINDS = {"memory": Status.OUT_OF_MEMORY, "load": Status.LOAD_ERROR, "shape": Status.WRONG_SHAPE}
TABLE_CHARACTERS = 20_000


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

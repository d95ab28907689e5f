"""What builds of its extensions make of a Python solution's verdict; the parent knows it without asking the module."""

from __future__ import annotations

from hone.compile.extension_call import NOT_BUILT
from hone.compile.outcome import UNSEEN, fallback, first_refusal, is_refusal, module_raised, unbuilt
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.records import Build, Performance, Protocol, Solution, Status


def check_extensions(build: Build, solution: Solution) -> None:
    """Raises Verdict where nobody built the module's extensions: what would be judged is not what was written.

    A module that raised before it came to them may raise again, which is a verdict; else see `settled`. One that ended
    with a refused call where its calls were recorded would end so again: no process is needed for that.
    """
    if is_refusal(build, build.log):
        raise Verdict(Status.COMPILE_ERROR, first_refusal(build))
    if unbuilt(build, solution) and not module_raised(build):
        raise UnsuitedVerdict(UNSEEN)


def settled(build: Build, solution: Solution, status: Status, detail: str) -> tuple[Status, str]:
    """Status and detail of a module in the light of its builds.

    The error of a refused call is the compiler's; a module that passes although a call was refused says so; what passes
    or fails without extensions that nobody built is not judged.
    """
    ended_in_refusal = status in (Status.LOAD_ERROR, Status.RUNTIME_ERROR) and is_refusal(build, detail)
    if ended_in_refusal:
        return Status.COMPILE_ERROR, first_refusal(build)
    if status is Status.PASSED:
        detail = "\n".join(filter(None, (detail, fallback_note(build))))
    fails_to_load = status is Status.LOAD_ERROR and NOT_BUILT not in detail
    if status.resolved and not fails_to_load and unbuilt(build, solution):
        return Status.NOT_JUDGED, UNSEEN
    return status, detail


def fallback_note(build: Build) -> str:
    """What stands in the trace of a module that passes without a kernel that was refused; empty where none was."""
    return f"it goes on without a kernel that does not compile: {first_refusal(build)}" if fallback(build) else ""


def with_fallback(performance: Performance | None, build: Build, protocol: Protocol) -> Performance | None:
    """The finding `fallback` added where a call was refused; KernelBench's rule knows no such thing."""
    if performance is None or protocol.rule != "hone" or not fallback(build):
        return performance
    return performance.model_copy(update={"findings": (*performance.findings, "fallback")})

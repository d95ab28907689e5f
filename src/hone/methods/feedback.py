"""What a model is told about its last answer: the code (G), its verdict and time (E), the profiler's table (P)."""

from __future__ import annotations

from collections.abc import Collection

from hone.config.experiments import Feedback
from hone.records import Build, BuildStatus, Candidate, Performance, Record, Solution, Status, Trace

LOG_LIMIT = 4000
"""Characters of compiler output and tables in a prompt; the paper's multi-turn code cuts at the same length."""

TIMEOUT_SENTENCE = "It took too long and was stopped."
"""One fixed sentence, as in the paper's multi-turn protocol."""

UNANSWERED = "the question had no answer"
"""One fixed phrase: what a server says of a refused prompt may differ each time."""

VERDICTS = {
    Status.LOAD_ERROR: "It could not be loaded.",
    Status.RUNTIME_ERROR: "It was built, but failed while running.",
    Status.OUT_OF_MEMORY: "It was built, but ran out of memory.",
    Status.WRONG_SHAPE: "It ran, but the number, shape or type of its outputs is wrong.",
    Status.WRONG_VALUE: "It ran, but its result is wrong.",
    Status.INPUT_CHANGED: "It ran, but wrote to an input that must stay as it is.",
    Status.IMPRECISE: "It ran and is within the tolerance, but much less precise than the reference:",
    Status.NOT_JUDGED: "It was built, but could not be run here.",
    Status.MACHINE_ERROR: "It could not be judged, through no fault of its own.",
}


class Previous(Record):
    """The last answer as the next prompt shows it; empty texts are left out."""

    code: str = ""
    problem: str = ""
    """Why there is no code."""
    execution: str = ""
    profile: str = ""


def previous_answer(
    candidate: Candidate,
    solution: Solution | None,
    build: Build | None,
    trace: Trace | None,
    feedback: Collection[Feedback],
) -> Previous:
    """Collect what the experiment's feedback allows the model to see."""
    if candidate.unanswered:
        return Previous(problem=UNANSWERED)
    if solution is None:
        return Previous(problem=candidate.problem)
    execution = _execution(build, trace) if "execution" in feedback else ""
    profile = cut(trace.profile) if trace is not None and "profile" in feedback else ""
    return Previous(code=solution.source, execution=execution, profile=profile)


def _execution(build: Build | None, trace: Trace | None) -> str:
    return failure(build, trace) or _times(trace.performance if trace else None)


def failure(build: Build | None, trace: Trace | None) -> str:
    """What went wrong with a kernel, in words; empty when it passed."""
    if build is not None and build.status is BuildStatus.REJECTED:
        return f"It does not compile:\n\n```\n{cut(build.log)}\n```"
    if build is not None and build.status is BuildStatus.TIMEOUT:
        return "The compiler took too long and was stopped."
    if trace is None:
        return VERDICTS[Status.MACHINE_ERROR]
    if trace.status is Status.TIMEOUT:
        return TIMEOUT_SENTENCE
    if trace.status is Status.PASSED:
        return ""
    return f"{VERDICTS.get(trace.status, 'It failed.')}\n\n```\n{cut(trace.detail)}\n```"


def _times(performance: Performance | None) -> str:
    if performance is None:
        return "It is correct. It was not timed."
    parts = [f"It is correct. It takes {performance.solution.latency_ms:.4g} ms"]
    for name, timing in performance.baselines.items():
        words = name.replace("_", " ")
        parts.append(f"{words} takes {timing.latency_ms:.4g} ms (speedup {performance.speedup(name):.2f})")
    text = "; ".join(parts) + "."
    if performance.findings:
        text += f" This time is doubtful ({', '.join(performance.findings)}), so no speedup is credited."
    return text


def cut(text: str) -> str:
    """The text without surrounding space, cut to LOG_LIMIT; says how much was cut off."""
    if len(text) <= LOG_LIMIT:
        return text.strip()
    return f"{text[:LOG_LIMIT].rstrip()}\n[cut: {len(text) - LOG_LIMIT} more characters]"

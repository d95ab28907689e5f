"""What the trusted process of a reference answers, and what its failures come to: the same on every device."""

from __future__ import annotations

import re
from typing import Any

from hone.judge.runner import Runner, RunnerEndedError, RunnerError, RunnerTimeoutError
from hone.judge.verdict import Verdict
from hone.records import Status

COMPILE_TIMEOUT_S = 600.0
ADVICE = "If reserved but unallocated memory"
"""Here PyTorch's account of the memory ends, and its advice to the program's author begins."""
OTHERS = re.compile(r"Process \d+")
"""How it names other processes: by numbers that are others in each run."""


def ask_reference(
    runner: Runner, message: dict[str, Any], timeout_s: float, limit: int, no_memory: str
) -> dict[str, Any]:
    """The answer of a reference's process; raises Verdict, which begins with `no_memory` where memory is short."""
    try:
        answer = runner.ask(message, timeout_s, limit)
    except RunnerTimeoutError:
        detail = f"the reference did not answer to '{message['do']}' in {timeout_s:g} s"
        raise Verdict(Status.NOT_JUDGED, detail) from None
    except RunnerError as error:
        raise reference_failure(error) from None
    check_reference(answer, no_memory)
    return answer


def check_reference(answer: dict[str, Any], no_memory: str) -> None:
    """Raises Verdict when the answer is an error."""
    error = answer.get("error")
    if error is None:
        return
    if error["kind"] == "memory":
        account = OTHERS.sub("Another process", error["text"].partition(ADVICE)[0].strip())
        raise Verdict(Status.NOT_JUDGED, f"{no_memory}: {account}")
    if error["kind"] == "state":
        raise Verdict(Status.NOT_JUDGED, error["text"])
    if "missing" in error:
        raise Verdict(Status.NOT_JUDGED, f"the reference needs '{error['missing']}', which is not installed")
    raise Verdict(Status.MACHINE_ERROR, f"the reference failed: {error['text']}")


def reference_failure(error: RunnerError) -> Verdict:
    """What the end of a reference's process, or its silence, comes to."""
    if not isinstance(error, RunnerEndedError):
        return Verdict(Status.MACHINE_ERROR, f"the reference's process failed: {error}")
    said = error.errors.strip()[-300:]
    return Verdict(
        Status.MACHINE_ERROR, f"the reference's process failed: {error.reason}" + (f": {said}" if said else "")
    )

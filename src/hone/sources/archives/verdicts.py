"""What one result of KernelBench's evaluation says: `compiled`, `correctness`, `metadata` and times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hone.records import Claimed, ClaimedVerdict

ERROR_CHARACTERS = 500
ERRORS = ("runtime_error", "compilation_error", "cuda_error", "other_error", "error", "error_during_performance")
"""Fields of `metadata` that hold a message, the most telling first."""
NOT_THE_KERNELS = (
    "out of memory",  # main's sizes on GPUs of 24 and 40 GB
    "no kernel image is available",  # built for another GPU
    "no space left on device",
    # The harness turns all inputs to floats, the integer ones of these problems included: the reference raises it.
    "\"nll_loss_forward_reduce_cuda_kernel_2d_index\" not implemented for 'float'",
    "argument #1 'indices' to have one of the following scalar types: long, int",
)
"""Messages, in small letters, of what the archive's machine or harness failed at."""


def claimed_of(result: Mapping[str, Any] | None, hardware: str = "") -> Claimed:
    """Verdict and times of one result; no result is no verdict. `hardware`: where the result names none."""
    if result is None:
        return Claimed(hardware=hardware)
    metadata = as_mapping(result.get("metadata"))
    runtime_ms, reference_ms = positive(result.get("runtime")), positive(result.get("ref_runtime"))
    return Claimed(
        verdict=verdict_of(result),
        compiled=_flag(result.get("compiled")),
        correct=_flag(result.get("correctness")),
        runtime_ms=runtime_ms,
        reference_ms=reference_ms,
        speedup=reference_ms / runtime_ms if runtime_ms and reference_ms else None,
        hardware=str(metadata.get("hardware") or hardware),
        error=error_of(metadata)[:ERROR_CHARACTERS],
    )


def verdict_of(result: Mapping[str, Any]) -> ClaimedVerdict:
    """The class of a result. A wrong value that was seen counts before what failed after it."""
    metadata = as_mapping(result.get("metadata"))
    issue = str(metadata.get("correctness_issue") or "")
    if result.get("correctness") is True:
        return ClaimedVerdict.CORRECT
    if "shape mismatch" in issue:
        return ClaimedVerdict.WRONG_SHAPE
    if issue:
        return ClaimedVerdict.WRONG_VALUE
    if is_not_the_kernels(error_of(metadata)) or "error" in metadata:
        return ClaimedVerdict.NOT_RUN
    return _failed(result, metadata)


def _failed(result: Mapping[str, Any], metadata: Mapping[str, Any]) -> ClaimedVerdict:
    """Of a result that gave no values."""
    if "compilation_error" in metadata:
        return ClaimedVerdict.COMPILE_ERROR
    if {"runtime_error", "cuda_error", "other_error"} & set(metadata):
        return ClaimedVerdict.RUNTIME_ERROR
    if result.get("compiled") is False:
        return ClaimedVerdict.COMPILE_ERROR
    return ClaimedVerdict.WRONG if result.get("correctness") is False else ClaimedVerdict.NOT_RUN


def is_not_the_kernels(message: str) -> bool:
    """Whether the archive's machine or harness failed, and not the answer."""
    return any(words in message.lower() for words in NOT_THE_KERNELS)


def error_of(metadata: Mapping[str, Any]) -> str:
    """The first message, as text."""
    said = next((metadata[name] for name in (*ERRORS, "correctness_issue") if metadata.get(name)), "")
    return str(said)


def as_mapping(value: object) -> Mapping[str, Any]:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def positive(value: object) -> float | None:
    """A quantity; None for what stands for an absent one, such as KernelBench's -1.0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < float("inf") else None  # type: ignore[arg-type, operator]


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None

"""Is an output right? Computed on the GPU, by the trusted process alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from hone.judge.counts import Counts

CHUNK = 1 << 26
"""Elements that are compared at a time, to bound the memory of the comparison."""
ROUNDING_SLACK = 16.0
"""Times the reference's own error, as root mean square over a tensor: what an element may be off beside the tolerance.
Not times its error at the element itself, which is near zero here and there by chance."""

FLOAT8_STEPS = {torch.float8_e4m3fn: (2.0**-9, 2.0**-3), torch.float8_e5m2: (2.0**-16, 2.0**-2)}
"""(atol, rtol) of one step of the type. With rounding in another order a number between two values ends at the other
one, so that no smaller tolerance can be asked for."""


@dataclass
class DeviceTally(Counts):
    """Counted on the GPU, in the trusted process there."""

    wrong_by_tolerance: int = 0
    """Elements that are wrong without any slack."""

    def add(
        self, name: str, expected: torch.Tensor, got: torch.Tensor, *, atol: float, rtol: float, slack: float = 0.0,
        exact: torch.Tensor | None = None, figures: bool = True,
    ) -> None:  # fmt: skip
        """Compare one tensor: |got - expected| <= atol + slack + rtol * |expected|.

        NaN must stand where NaN is expected and nowhere else, infinities likewise with their sign. Integers and
        booleans must be equal to the bit. `exact`: what is that near to it is right too, however far off a reference
        is that rounds to TF32. Numbers of eight bits may always be one step of their type off. Without `figures` the
        largest errors stay as they are where nothing is wrong, which takes a third of the passes over memory.
        """
        least_atol, least_rtol = FLOAT8_STEPS.get(expected.dtype, (0.0, 0.0))
        atol, rtol = max(atol, least_atol), max(rtol, least_rtol)
        self.elements += expected.numel()
        wants, gots = expected.reshape(-1), got.reshape(-1)
        for start in range(0, wants.numel(), CHUNK):
            part = slice(start, start + CHUNK)
            want, have = wants[part], gots[part]
            if torch.equal(want.view(_raw(want)), have.view(_raw(want))):  # a tenth of the passes over memory
                continue
            if not figures and _all_right(want, have, atol + slack, rtol):
                continue
            wrong, beyond = _wrong(self, want, have, atol, rtol, slack)
            if exact is not None and want.is_floating_point() and bool(wrong.any()):
                wrong = wrong & ~_near(have, exact.reshape(-1)[part], atol, rtol)
            count = int(wrong.sum())
            if count and not self.first_wrong:
                at = int(torch.argmax(wrong.to(torch.uint8)))
                index = np.unravel_index(start + at, expected.shape)  # PyTorch's own imports for two seconds
                place = ", ".join(str(int(part)) for part in index)
                self.first_wrong = f"{name}[{place}] is {_shown(have[at])}, expected {_shown(want[at])}"
            self.wrong += count
            self.wrong_by_tolerance += int(beyond.sum())


def _all_right(want: torch.Tensor, have: torch.Tensor, atol: float, rtol: float) -> bool:
    """Whether all numbers are finite and within the tolerance (but for one rounding); else they have to be counted."""
    if not want.is_floating_point():
        return False
    wide = torch.float64 if want.dtype is torch.float64 else torch.float32
    wants = want.to(wide)
    beyond = (have.to(wide) - wants).abs_().sub_(wants.abs(), alpha=rtol)
    return float(beyond.max()) <= atol  # not if it is NaN, which is what infinities leave, too


def _wrong(
    tally: DeviceTally, want: torch.Tensor, have: torch.Tensor, atol: float, rtol: float, slack: float
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Which elements are wrong, with the slack and without; few passes, as results may have a billion elements."""
    if not want.is_floating_point():
        other = want.view(_raw(want)) != have.view(_raw(want))
        return other, other
    wide = torch.float64 if want.dtype is torch.float64 else torch.float32
    wants, haves = want.to(wide), have.to(wide)
    error = (haves - wants).abs_()
    largest, finite = float(error.max()), None
    if not math.isfinite(largest):
        finite = wants.isfinite() & haves.isfinite()
        error = torch.where(finite, error, 0.0)
        largest = float(error.max())
    tally.max_abs_error = max(tally.max_abs_error, largest)
    size = wants.abs()
    limit = (size * rtol).add_(atol)
    beyond = error > limit
    wrong = error > limit.add_(slack) if slack and bool(beyond.any()) else beyond
    if finite is not None:
        other = (wants != haves) & ~(wants.isnan() & haves.isnan())
        wrong, beyond = torch.where(finite, wrong, other), torch.where(finite, beyond, other)
        size = torch.where(finite, size, 0.0)
    relative = error.div_(size).masked_fill_(size <= atol, 0.0)
    tally.max_rel_error = max(tally.max_rel_error, float(relative.max()))
    return wrong, beyond


def _near(have: torch.Tensor, exact: torch.Tensor, atol: float, rtol: float) -> torch.Tensor:
    return _off(have, exact).abs_() <= exact.double().abs().mul_(rtol).add_(atol)


def _raw(tensor: torch.Tensor) -> torch.dtype:
    """Bytes for flags, so that 2 is not true, and for eight-bit numbers; else its own type."""
    return torch.uint8 if tensor.dtype is torch.bool or tensor.dtype in FLOAT8_STEPS else tensor.dtype


def widened(tensor: torch.Tensor) -> torch.Tensor:
    """In float32 where it has eight bits, for which PyTorch has hardly any operation; else the tensor itself."""
    return tensor.float() if tensor.dtype in FLOAT8_STEPS else tensor


def rounding_slack(expected: torch.Tensor, exact: torch.Tensor) -> float:
    """What an element may be off for the order of operations alone; 0 where the reference's error is not finite."""
    if not expected.is_floating_point():
        return 0.0
    squares, wants, exacts = 0.0, expected.reshape(-1), exact.reshape(-1)
    for start in range(0, wants.numel(), CHUNK):
        part = slice(start, start + CHUNK)
        squares += _squares(_off(wants[part], exacts[part]))
    rms = (squares / max(wants.numel(), 1)) ** 0.5
    return ROUNDING_SLACK * rms if math.isfinite(rms) else 0.0


def _shown(value: torch.Tensor) -> str:
    return f"{float(value):.9g}"


def distance(got: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]) -> float | None:
    """Largest ||got - exact|| / ||exact|| over floating-point outputs; absent where there is no finite one."""
    found = [_distance(mine, theirs) for mine, theirs in zip(got, exact, strict=True) if theirs.is_floating_point()]
    known = [value for value in found if value is not None]
    return max(known) if known else None


def _distance(got: torch.Tensor, exact: torch.Tensor) -> float | None:
    off, size = 0.0, 0.0
    mine, theirs = got.reshape(-1), exact.reshape(-1)
    for start in range(0, theirs.numel(), CHUNK):
        want = theirs[start : start + CHUNK].double()
        off += _squares(_off(mine[start : start + CHUNK], want))
        size += _squares(want)
    if not size or not math.isfinite(size):
        return None
    return float((off / size) ** 0.5) if math.isfinite(off) else float("inf")


def _off(got: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """got - exact in float64; the subtraction widens `got` itself, where PyTorch knows how."""
    narrow = got.dtype in FLOAT8_STEPS or got.dtype is torch.bool
    return (got.double() if narrow else got) - exact.double()


def _squares(tensor: torch.Tensor) -> float:
    """Their sum, in one pass; infinite where it is too large."""
    norm = float(torch.linalg.vector_norm(tensor))
    return norm * norm


def scale_of(tensor: torch.Tensor) -> float:
    """Root mean square, at least 1: what an absolute tolerance is multiplied with for unusual values."""
    if not tensor.is_floating_point() or not tensor.numel():
        return 1.0
    rms = float(tensor.float().square().mean().sqrt())
    return max(1.0, rms) if math.isfinite(rms) else 1.0


def changed_inputs(pristine: Mapping[str, torch.Tensor], now: Mapping[str, torch.Tensor]) -> list[str]:
    """Names of the inputs of which any byte differs."""
    return [name for name, tensor in pristine.items() if not _same_bytes(tensor, now[name])]


def _same_bytes(left: torch.Tensor, right: torch.Tensor) -> bool:
    one, other = _bytes(left), _bytes(right)
    whole = one.numel() // 8 * 8  # eight at a time, where both begin at a multiple of eight
    if one.storage_offset() % 8 or other.storage_offset() % 8:
        whole = 0
    words = torch.equal(one[:whole].view(torch.int64), other[:whole].view(torch.int64))
    return bool(words and torch.equal(one[whole:], other[whole:]))


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)  # `get_inputs` may give every other element of something

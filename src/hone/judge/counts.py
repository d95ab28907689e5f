"""Is an output right? Computed by the parent with numpy, from bytes that no candidate can reach any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hone.judge.device.cpu.arena import Bytes, same_bytes
from hone.records import ErrorFigures, Tolerance
from hone.records.layout import FLOATING, ITEM_BYTES, Slot

CHUNK = 1 << 20
"""Elements that are compared at a time, to bound the memory of the comparison."""

Numbers = npt.NDArray[np.float64]


@dataclass
class Counts:
    """How far outputs were off, summed up over tensors and trials."""

    elements: int = 0
    wrong: int = 0
    max_abs_error: float = 0.0
    """Over elements where both numbers are finite."""
    max_rel_error: float = 0.0
    first_wrong: str = ""

    def figures(self) -> ErrorFigures:
        """As a record."""
        return ErrorFigures(
            max_abs_error=self.max_abs_error,
            max_rel_error=self.max_rel_error,
            wrong_fraction=self.wrong / self.elements if self.elements else 0.0,
        )

    def sentence(self) -> str:
        """Which element was wrong first, and the share that was."""
        return f"{self.first_wrong}; {self.wrong} of {self.elements} elements are outside the tolerance"

    def message(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    def merge(self, message: Mapping[str, Any], place: str = "") -> None:
        """Add what another process has counted; `place` is said behind its first wrong element."""
        self.elements += message["elements"]
        self.wrong += message["wrong"]
        self.max_abs_error = max(self.max_abs_error, message["max_abs_error"])
        self.max_rel_error = max(self.max_rel_error, message["max_rel_error"])
        if message["first_wrong"] and not self.first_wrong:
            self.first_wrong = message["first_wrong"] + place


class Tally(Counts):
    """Counted by numpy, in the judge's own process."""

    def add(self, slot: Slot, expected: Bytes, got: Bytes, tolerance: Tolerance) -> None:
        """Compare one tensor: |got - expected| <= atol + rtol * |expected|.

        NaN must stand where NaN is expected and nowhere else, infinities likewise with their sign. Integers and
        booleans must be equal.
        """
        count = len(expected) // ITEM_BYTES[slot.dtype]
        self.elements += count
        if same_bytes(expected, got):
            return
        if slot.dtype not in FLOATING:
            tolerance = Tolerance(atol=0.0, rtol=0.0)
        wants, gots = _typed(expected, slot.dtype), _typed(got, slot.dtype)
        for start in range(0, count, CHUNK):
            want, have = wants[start : start + CHUNK], gots[start : start + CHUNK]
            wrong = self._chunk(_numbers(want, slot.dtype), _numbers(have, slot.dtype), tolerance)
            if slot.dtype not in FLOATING:
                wrong = want != have  # float64 cannot tell large integers apart
            self.wrong += int(wrong.sum())
            if wrong.any() and not self.first_wrong:
                self._describe(slot, start + int(np.argmax(wrong)), want, have, int(np.argmax(wrong)))

    def _chunk(self, want: Numbers, have: Numbers, tolerance: Tolerance) -> npt.NDArray[np.bool_]:
        finite = np.isfinite(want) & np.isfinite(have)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            error = np.abs(have - want)
            size = np.abs(want)
            right = np.where(finite, error <= tolerance.atol + tolerance.rtol * size, want == have)
            right |= np.isnan(want) & np.isnan(have)
            relative = np.where(finite & (size > tolerance.atol), error / size, 0.0)
        self.max_abs_error = max(self.max_abs_error, float(np.max(error, where=finite, initial=0.0)))
        self.max_rel_error = max(self.max_rel_error, float(np.max(relative, where=np.isfinite(relative), initial=0.0)))
        return ~right

    def _describe(
        self, slot: Slot, flat: int, want: npt.NDArray[np.generic], have: npt.NDArray[np.generic], at: int
    ) -> None:
        index = ", ".join(str(int(part)) for part in np.unravel_index(flat, slot.shape)) if slot.shape else ""
        expected, got = _numbers(want[at : at + 1], slot.dtype)[0], _numbers(have[at : at + 1], slot.dtype)[0]
        self.first_wrong = f"{slot.name}[{index}] is {got:.9g}, expected {expected:.9g}"


def _typed(raw: Bytes, dtype: str) -> npt.NDArray[np.generic]:
    """The bytes as numbers; bfloat16, which numpy lacks, as its bits; booleans as bytes, so that 2 is not true."""
    return raw.view({"bfloat16": np.uint16, "bool": np.uint8}.get(dtype) or np.dtype(dtype))


def _numbers(values: npt.NDArray[np.generic], dtype: str) -> Numbers:
    if dtype == "bfloat16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(invalid="ignore"):  # what an answer left in memory may be a signalling NaN
        return values.astype(np.float64)

"""Where each tensor lies in an arena of shared memory; imported by both sides, so it needs no numpy and no torch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

ALIGNMENT = 4096
"""Every tensor begins on a page, and at least one page that belongs to none follows it: a guard."""

ITEM_BYTES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
FLOATING = ("float64", "float32", "float16", "bfloat16")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
"""Types of eight bits: never those of a workload, and not judged on a CPU."""


@dataclass(frozen=True)
class Slot:
    """One tensor in an arena."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def nbytes(self) -> int:
        """Size of the tensor."""
        return math.prod(self.shape) * ITEM_BYTES[self.dtype]


@dataclass(frozen=True)
class Layout:
    """Tensors of one arena, in order."""

    slots: tuple[Slot, ...]
    nbytes: int
    """Size of the whole arena, guards included; a multiple of the page size."""

    @classmethod
    def of(cls, tensors: Iterable[tuple[str, str, tuple[int, ...]]]) -> Self:
        """Lay out (name, dtype, shape); raises KeyError for a data type that arenas do not hold."""
        slots, end = [], ALIGNMENT
        for name, dtype, shape in tensors:
            slot = Slot(name, dtype, shape, end)
            slots.append(slot)
            end += -(-slot.nbytes // ALIGNMENT) * ALIGNMENT + ALIGNMENT
        return cls(tuple(slots), end)

    @classmethod
    def read(cls, message: dict[str, Any]) -> Self:
        """The inverse of `message`."""
        slots = tuple(
            Slot(item["name"], item["dtype"], tuple(item["shape"]), item["offset"]) for item in message["slots"]
        )
        return cls(slots, message["nbytes"])

    def message(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    @property
    def tensor_bytes(self) -> int:
        """Size of the tensors alone."""
        return sum(slot.nbytes for slot in self.slots)

    def gaps(self) -> list[tuple[int, int]]:
        """(start, end) of all bytes that belong to no tensor."""
        found, end = [], 0
        for slot in self.slots:
            found.append((end, slot.offset))
            end = slot.offset + slot.nbytes
        return [*found, (end, self.nbytes)]

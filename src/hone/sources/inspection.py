"""What running a problem without data tells about it: the message from the inspecting child to its parent."""

from __future__ import annotations

from typing import Literal

from hone.records import Record

READY = "ready"
"""The child's first line, once torch is loaded: what goes wrong before it is the machine's fault, not a problem's."""


class Value(Record):
    """One argument, parameter or output as it was seen."""

    name: str
    """As Python has it: an argument's name, a key of `state_dict`, empty for an output."""
    kind: Literal["tensor", "scalar"] = "tensor"
    shape: tuple[int, ...] = ()
    dtype: str
    item_bytes: int
    follows: tuple[str, ...] = ()
    """The module constant that each dimension equals whatever its value, or empty; known from held-out sizes only."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        size = self.item_bytes
        for length in self.shape:
            size *= length
        return size


class Inspection(Record):
    """What one problem computes, by shapes and types."""

    inputs: tuple[Value, ...]
    parameters: tuple[Value, ...]
    outputs: tuple[Value, ...]
    constants: dict[str, int]
    """Integers that the module assigns at its top level, in order: the names of its sizes."""
    flops: int
    held_out: tuple[dict[str, int], ...] = ()
    """Further sizes of some axes, under which all shapes were found to be what the axes' names say."""


class Report(Record):
    """The child's word on one problem: its inspection, or the last line of the error."""

    name: str
    """Name of the definition to be."""
    inspection: Inspection | None = None
    error: str = ""
    field: str = ""
    """The part of the file that the error is about, where the file's author must fix it."""
    remedy: str = ""
    """With `field`: how."""

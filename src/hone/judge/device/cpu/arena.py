"""Shared memory as the parent sees it: numpy views of tensors that a runner maps into its own address space."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os

import numpy as np
import numpy.typing as npt

from hone.core.errors import MachineError
from hone.records.layout import FLOATING, Layout, Slot

Bytes = npt.NDArray[np.uint8]


class Arena:
    """Anonymous shared memory of fixed size: sealed, so that no runner can shrink it under the parent's feet."""

    def __init__(self, layout: Layout) -> None:
        """Raises MachineError when there is not enough memory."""
        self.layout = layout
        self.fd = os.memfd_create("hone", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.fd, layout.nbytes)
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self._memory = mmap.mmap(self.fd, layout.nbytes)
        except OSError as error:
            os.close(self.fd)
            raise MachineError(f"no shared memory of {layout.nbytes} bytes: {error.strerror}") from None
        self._bytes: Bytes = np.frombuffer(self._memory, dtype=np.uint8)

    def raw(self, slot: Slot) -> Bytes:
        """The bytes of one tensor, a view."""
        return self._bytes[slot.offset : slot.offset + slot.nbytes]

    def copy_from(self, other: Arena) -> None:
        """Take over all tensors of an arena with the same layout."""
        for mine, theirs in zip(self.layout.slots, other.layout.slots, strict=True):
            np.copyto(self.raw(mine), other.raw(theirs))

    def differing(self, other: Arena) -> list[str]:
        """Names of the tensors that differ in any byte from those of an arena with the same layout."""
        pairs = zip(self.layout.slots, other.layout.slots, strict=True)
        return [mine.name for mine, theirs in pairs if not same_bytes(self.raw(mine), other.raw(theirs))]

    def poison(self) -> int:
        """Overwrite everything, guards included, so that a result that was not written is not taken for one.

        Floating-point tensors become NaN (0xFF in every byte); where there are others, the byte is a random one.
        Returns the byte.
        """
        floating = all(slot.dtype in FLOATING for slot in self.layout.slots)
        byte = 0xFF if floating else 0x81 + os.urandom(1)[0] % 0x7D
        self._bytes[:] = byte
        return byte

    def guards_hold(self, byte: int) -> bool:
        """Whether nothing was written outside the tensors since `poison`."""
        return all(bool((self._bytes[start:end] == byte).all()) for start, end in self.layout.gaps())

    def close(self) -> None:
        """Give the memory back; views of it must not be used any more."""
        del self._bytes
        with contextlib.suppress(BufferError):  # a view is still alive somewhere: the memory goes with it
            self._memory.close()
        os.close(self.fd)


def same_bytes(left: Bytes, right: Bytes) -> bool:
    """Whether two equally long byte arrays are equal, compared eight bytes at a time."""
    whole = len(left) // 8 * 8
    return bool(np.array_equal(left[:whole].view(np.uint64), right[:whole].view(np.uint64))) and bool(
        np.array_equal(left[whole:], right[whole:])
    )

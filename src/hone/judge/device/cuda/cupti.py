"""When kernels began and ended on the device, by CUPTI's activity records; through ctypes, without PyTorch.

Only the two fields that are needed are read from CUPTI's records: they have lain at the same place in every version
of the kernel record since CUDA 9 (`CUpti_ActivityKernel4` and later in cupti_activity.h).
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, byref, c_size_t, c_uint8, c_uint32, c_void_p
from pathlib import Path
from typing import Any

CONCURRENT_KERNEL, MEMCPY, MEMSET = 10, 1, 2
BUFFER_BYTES = 8 << 20
START = {CONCURRENT_KERNEL: 16, MEMCPY: 16, MEMSET: 16}
"""Kind of record -> offset of `start`, which `end` follows; nanoseconds of CUPTI's clock."""

_REQUESTED = ctypes.CFUNCTYPE(None, POINTER(c_void_p), POINTER(c_size_t), POINTER(c_size_t))
_COMPLETED = ctypes.CFUNCTYPE(None, c_void_p, c_uint32, c_void_p, c_size_t, c_size_t)


class CuptiMissingError(Exception):
    """There is no CUPTI that can be used here."""


class Spans:
    """Records kernels, copies and memsets of this process between `start` and `stop`."""

    def __init__(self) -> None:
        self._library = _load()
        self._buffers: dict[int, Any] = {}
        self._found: list[tuple[int, int]] = []
        # The callbacks must live as long as the library may call them.
        self._requested, self._completed = _REQUESTED(self._give), _COMPLETED(self._take)
        self._call("cuptiActivityRegisterCallbacks", self._requested, self._completed)

    def start(self) -> None:
        """Forget what was recorded, and record from now on."""
        for kind in START:
            self._call("cuptiActivityEnable", c_uint32(kind))
        self._call("cuptiActivityFlushAll", c_uint32(1))
        self._found.clear()

    def stop(self) -> list[tuple[int, int]]:
        """(start, end) in nanoseconds of all that ran, in order of start; the device must be idle."""
        self._call("cuptiActivityFlushAll", c_uint32(1))
        for kind in START:
            self._call("cuptiActivityDisable", c_uint32(kind))
        return sorted(self._found)

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            raise CuptiMissingError(f"{name}: CUPTI error {code}")

    def _give(self, buffer: Any, size: Any, most: Any) -> None:
        memory = (c_uint8 * (BUFFER_BYTES + 8))()
        address = (ctypes.addressof(memory) + 7) & ~7
        self._buffers[address] = memory
        buffer[0], size[0], most[0] = address, BUFFER_BYTES, 0

    def _take(self, _context: Any, _stream: int, buffer: int, _size: int, valid: int) -> None:
        record = c_void_p(None)
        while valid and not self._library.cuptiActivityGetNextRecord(c_void_p(buffer), c_size_t(valid), byref(record)):
            address = record.value or 0
            kind = c_uint32.from_address(address).value
            if kind in START:
                times = (ctypes.c_uint64 * 2).from_address(address + START[kind])
                self._found.append((times[0], times[1]))
        self._buffers.pop(buffer, None)


def _load() -> Any:
    """CUPTI of the Python package that PyTorch brings, else of the system."""
    packages = [Path(folder) / "nvidia" for folder in sys.path if folder.endswith("-packages")]
    found = [str(file) for folder in packages for file in sorted(folder.glob("*/lib/libcupti.so.*"))]
    for name in (*found, "libcupti.so.13", "libcupti.so.12", "libcupti.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise CuptiMissingError("there is no libcupti")

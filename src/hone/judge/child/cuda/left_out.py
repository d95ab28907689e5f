"""One run of a module without its own kernels: does their work show in the results?

Launches of its extensions are answered by a function that does nothing, and so are Triton's. PyTorch and its libraries
have other launches, which go on. What the module tells is not to be relied on, as everywhere in its process.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from hone.judge.device.cuda import driver

LAUNCHES = re.compile(rb"_*cu(da)?Launch(Cooperative)?Kernel\w*")
"""CUDA's functions that launch a kernel: `cudaLaunchKernel` up to CUDA 12, `__cudaLaunchKernel` in 13, and others."""
KERNELS = re.compile(rb"__cudaRegisterFunction|cu(da)?Launch\w*Kernel|cu(Module|Library)Load|getNVRTC")
"""In an object that has kernels, or loads or launches some. nvcc gives all objects the section `.nv_fatbin`."""
SAMPLED = 1 << 20
"""Elements of a result that are compared, about."""
NOT_A_NUMBER = 0xFFFFFFFF
"""In float32 and in two numbers of 16 bits."""
_SYMBOLS, _NAMES, _TABLES = 6, 5, ((23, 2), (7, 8))
"""Tags of an object's dynamic section: symbols, their names, two tables of relocations with their sizes in bytes."""
_RELOCATION_BYTES, _SYMBOL_BYTES = 24, 24
_PROT_READ_WRITE = 3
_LAUNCHER = ctypes.CFUNCTYPE(ctypes.c_int)


class UnknownLaunchesError(Exception):
    """A shared object has kernels, but launches them by none of the functions that are known."""


@dataclass
class LeftOut:
    """What was left out so far."""

    launches: int = 0
    slots: dict[int, int] = field(default_factory=dict)
    """Address of a pointer to a launching function -> what it was."""

    def note(self, *_: Any, **__: Any) -> int:
        """In a launch's place: success."""
        self.launches += 1
        return 0


@contextmanager
def kernels_left_out(objects: Sequence[Path]) -> Iterator[LeftOut]:
    """Inside, neither the kernels of these shared objects nor Triton's are launched; counts what would have been.

    Raises UnknownLaunchesError where a loaded object has kernels, and nobody knows how it launches them.
    """
    found = LeftOut()
    nothing = _LAUNCHER(found.note)
    address = ctypes.cast(nothing, ctypes.c_void_p).value or 0
    triton = _triton_launcher()
    kept = triton.__call__ if triton else None
    for slot in [slot for path in objects for slot in launching_slots(path)]:
        found.slots[slot] = _write(slot, address)
    if triton:
        triton.__call__ = found.note
    try:
        yield found
    finally:
        for slot, pointer in found.slots.items():
            _write(slot, pointer)
        if triton:
            triton.__call__ = kept


def launching_slots(path: Path) -> list[int]:
    """Addresses of a loaded object's pointers to functions that launch kernels; none where it is not loaded.

    Read from its dynamic section in memory, whose pointers glibc has made absolute. Raises UnknownLaunchesError where
    there are none though it seems to have kernels.
    """
    try:
        handle = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)._handle
    except OSError:
        return []
    base, _, section = (ctypes.c_uint64 * 3).from_address(handle)  # the head of glibc's `struct link_map`
    tags = dict(_dynamic_section(section))
    slots = []
    for table, size in _TABLES:
        for entry in range(tags.get(table, 0), tags.get(table, 0) + tags.get(size, 0), _RELOCATION_BYTES):
            offset, info = (ctypes.c_uint64 * 2).from_address(entry)
            name = ctypes.c_uint32.from_address(tags[_SYMBOLS] + (info >> 32) * _SYMBOL_BYTES).value
            if LAUNCHES.fullmatch(ctypes.string_at(tags[_NAMES] + name)):
                slots.append(base + offset)
    if not slots and KERNELS.search(path.read_bytes()):
        raise UnknownLaunchesError(path.name)
    return slots


def _dynamic_section(address: int) -> Iterator[tuple[int, int]]:
    while True:
        tag, value = (ctypes.c_uint64 * 2).from_address(address)
        if not tag:
            return
        yield tag, value
        address += 16


def _write(slot: int, pointer: int) -> int:
    """Write a pointer, which may lie in memory that is read-only after relocation; what was there before."""
    page = os.sysconf("SC_PAGE_SIZE")
    first = slot // page * page
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(first), ctypes.c_size_t(slot + 8 - first), _PROT_READ_WRITE):
        raise OSError(ctypes.get_errno(), "mprotect")
    place = ctypes.c_uint64.from_address(slot)
    before, place.value = place.value, pointer
    return before


def _triton_launcher() -> Any:
    """The class whose instances launch Triton's kernels; None without Triton."""
    try:
        from triton.backends.nvidia.driver import CudaLauncher  # type: ignore[import-not-found]
    except ImportError:
        return None
    return CudaLauncher


def spoil_free_memory() -> None:
    """Fill what PyTorch's allocator has free: there may still lie results that a kernel has left there before."""
    driver.synchronize()
    for segment in torch.cuda.memory_snapshot():  # type: ignore[no-untyped-call]
        for block in segment["blocks"]:
            if block["state"] == "inactive":
                driver.fill_words(None, block["address"], NOT_A_NUMBER, block["size"] // 4)
    driver.synchronize()


def sampled(results: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Copies of about SAMPLED elements of each result."""
    flat = [item.detach().reshape(-1) for item in results]
    return [item[:: max(1, item.numel() // SAMPLED)].clone() for item in flat]


def share_of_others(left: Sequence[torch.Tensor], right: Sequence[torch.Tensor]) -> float:
    """The largest share, over all results, of sampled elements of which any bit differs; 1 where shapes or types do."""
    if len(left) != len(right):
        return 1.0
    return max((_other_bits(one, other) for one, other in zip(left, right, strict=True)), default=0.0)


def _other_bits(one: torch.Tensor, other: torch.Tensor) -> float:
    if one.shape != other.shape or one.dtype is not other.dtype:
        return 1.0
    if not one.numel():
        return 0.0
    differs = one.view(torch.uint8).reshape(one.numel(), -1) != other.view(torch.uint8).reshape(one.numel(), -1)
    return float(differs.any(1).double().mean())

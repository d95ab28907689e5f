"""The host's memory as a GPU reads it by itself, and how much of it there is."""

from __future__ import annotations

import math
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hone.core.errors import MachineError
from hone.gnn.sampling.pages import empty_pages

if TYPE_CHECKING:
    from torch import Tensor

BYTES_A_LOCK = 4 << 30
"""Locked at a time: one call for all would ask the system for tens of gigabytes at once."""
LEAST_BYTES_A_LOCK = 64 << 20
PORTABLE_AND_MAPPED = 3
"""cudaHostRegisterPortable | cudaHostRegisterMapped; a GPU then has the memory at the host's own addresses."""
REMEDY = "free host memory, allow containers and jobs to lock it (ulimit -l), or train with systems: [pipelined]"


def host_zeros(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """A tensor of the host that shares no page with anything else, as `page_locked` wants it.

    Raises MachineError where there is no memory.
    """
    count = math.prod(shape)
    if count == 0:
        return torch.zeros(shape, dtype=dtype)
    memory = empty_pages(count * dtype.itemsize, "host memory")
    return torch.frombuffer(memory, dtype=dtype, count=count).view(shape)


def page_locked(tensor: Tensor, device: torch.device) -> Tensor:
    """What `host_zeros` made, so that kernels of the device can read it at its address; on a CPU as it is.

    It is faster for memory that has been written to. It stays so until the returned object is gone. Raises MachineError
    where the system refuses.
    """
    if device.type != "cuda" or tensor.numel() == 0:
        return tensor
    runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call]
    locked: list[int] = []
    size, piece = tensor.nbytes, BYTES_A_LOCK
    begin, end = tensor.data_ptr(), tensor.data_ptr() + size
    while begin < end:
        code = int(runtime.cudaHostRegister(begin, min(piece, end - begin), PORTABLE_AND_MAPPED))
        if code == 0:
            locked.append(begin)
            begin += piece
            continue
        with suppress(RuntimeError):
            torch.zeros(1, device=device)  # takes the error, which the next kernel would be blamed for
        piece //= 2  # a full GPU refuses large pieces now and then
        if piece < LEAST_BYTES_A_LOCK:
            _unlock(runtime, locked, tensor)
            said = f"{size / 2**30:.1f} GiB of host memory cannot be page-locked: cudaError {code}"
            raise MachineError(said, where=str(device), remedy=REMEDY)
    # The finalizer has the memory, too: it is unlocked before it is given back.
    unlock = weakref.finalize(tensor, _unlock, runtime, locked, tensor.detach())
    unlock.atexit = False  # the system does it
    return tensor


def _unlock(runtime: Any, locked: list[int], memory: Tensor) -> None:
    for begin in locked:
        runtime.cudaHostUnregister(begin)
    del memory


def available_bytes(
    memory: Path = Path("/proc/meminfo"),
    groups: Path = Path("/sys/fs/cgroup"),
    process: Path = Path("/proc/self/cgroup"),
) -> int:
    """Host memory that this process could still get: the machine's, and what its control groups (v2) leave of it.

    What only caches files counts as available.
    """
    fields = dict(line.split(":", 1) for line in memory.read_text().splitlines())
    found = 1024 * int(fields["MemAvailable"].split()[0])
    for group in _own_groups(groups, process):
        limit = (group / "memory.max").read_text().strip() if (group / "memory.max").exists() else "max"
        if limit != "max":
            counted = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            files = int(counted["file"]) - int(counted["shmem"])
            found = min(found, int(limit) - int((group / "memory.current").read_text()) + files)
    return max(0, found)


def _own_groups(root: Path, process: Path) -> list[Path]:
    """This process's control group and all around it; just the root in a container that sees no other."""
    lines = process.read_text().splitlines() if process.exists() else []
    own = next((line[3:].strip("/") for line in lines if line.startswith("0::")), "")
    inner = root / own
    return [group for group in (inner, *inner.parents) if group.is_relative_to(root) and group.is_dir()]

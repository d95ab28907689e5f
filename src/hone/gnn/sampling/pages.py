"""The pages of a graph: mapped before they are read, or large ones.

The first read of a page of a file's map interrupts the thread, even if the file is in memory. Later random reads still
spend more time on addresses than on data: a page is 4 KiB (on most systems), of which a processor knows the addresses
of some thousands; behind every other random read stands a walk through the page table. Pages of 2 MiB cover 512 times
as much.
"""

from __future__ import annotations

import ctypes
import mmap
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_size_t, c_void_p
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hone.core.errors import MachineError
from hone.machine.environment import available_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hone.gnn.graph import Graph

LARGE_PAGE_BYTES = 1 << 21
POPULATED_AT_ONCE = 1 << 28
"""Bytes of one call."""
POPULATE_READ = 22
"""Linux's MADV_POPULATE_READ, which Python's `mmap` does not name."""


def in_large_pages(graph: Graph) -> Graph:
    """The same graph, what is read at random copied into this process's memory, in large pages if the system has them.

    For one process on a machine: each process has its own copy, where maps of the files are shared. Forked processes
    share it. Raises MachineError when the memory is not there.
    """
    where = str(graph.path)
    return replace(
        graph,
        indptr=in_pages(graph.indptr, where),
        indices=in_pages(graph.indices, where),
        features=in_pages(graph.features, where),
    )


def in_pages(array: NDArray[Any], where: str) -> NDArray[Any]:
    """A read-only copy of one array; `where` it comes from is for the message of the MachineError."""
    memory = empty_pages(array.nbytes, where)
    copied = np.frombuffer(memory, dtype=array.dtype, count=array.size).reshape(array.shape)
    np.copyto(copied, array)
    copied.flags.writeable = False
    return copied


def empty_pages(size_bytes: int, where: str) -> mmap.mmap:
    """Zeros, in pages that nothing else lies in; raises MachineError as `in_pages`."""
    size = -(-max(size_bytes, 1) // LARGE_PAGE_BYTES) * LARGE_PAGE_BYTES
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        remedy = "use the files' maps, which need no memory of their own"
        raise MachineError(f"no memory for {size} bytes: {error.strerror}", where=where, remedy=remedy) from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def map_pages(graph: Graph, threads: int) -> bool:
    """Map what is read at random, by `threads`, before the first batch is; whether all of it is mapped now.

    Files that are not in memory yet are read. Nothing happens where they are larger than the memory that is available,
    or where Linux is older than 5.14.
    """
    arrays = (graph.indptr, graph.indices, graph.features, graph.labels)
    if sum(array.nbytes for array in arrays) > available_bytes():
        return False
    parts = [part for array in arrays for part in _parts(array)]
    with ThreadPoolExecutor(max(1, threads)) as pool:  # a call of ctypes gives the interpreter's lock away
        return all(pool.map(_populated, parts))


def _populated(part: tuple[int, int]) -> bool:
    address, size = part
    return bool(ctypes.CDLL(None).madvise(c_void_p(address), c_size_t(size), POPULATE_READ) == 0)


def _parts(array: NDArray[Any]) -> list[tuple[int, int]]:
    """Addresses and sizes that together cover an array, in whole pages."""
    begin = array.ctypes.data // mmap.PAGESIZE * mmap.PAGESIZE
    end = -(-(array.ctypes.data + array.nbytes) // mmap.PAGESIZE) * mmap.PAGESIZE
    return [(first, min(POPULATED_AT_ONCE, end - first)) for first in range(begin, end, POPULATED_AT_ONCE)]

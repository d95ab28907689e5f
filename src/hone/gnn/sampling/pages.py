"""A graph in large pages: random reads of small pages spend more time on addresses than on data.

A file's map is in pages of 4 KiB (on most systems), of which a processor knows the addresses of some thousands; behind
every other random read stands a walk through the page table. Pages of 2 MiB cover 512 times as much.
"""

from __future__ import annotations

import mmap
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hone.core.errors import MachineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hone.gnn.graph import Graph

LARGE_PAGE_BYTES = 1 << 21


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

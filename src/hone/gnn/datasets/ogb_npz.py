"""OGB's binary format, `data.npz` and `node-label.npz`, read front to back: one array alone may be larger than memory.

numpy's own reader gives whole arrays. A `.npz` is a zip archive of `.npy` files, compressed or not, so that each
array is a stream behind a short header; the zip format's checksum is compared at its end.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from hone.core.errors import SourceError
from hone.gnn.datasets.ogb_csv import AGAIN, as_labels

Array = np.ndarray[Any, np.dtype[Any]]
SKIP_BYTES = 1 << 22
NO_FEATURES = "save the graph with node_feat, an array (num_nodes, numbers): models here need features"


class NpzGraph:
    """A folder `raw/` with data.npz (edge_index, node_feat, num_nodes_list, num_edges_list) and node-label.npz.

    Everything raises SourceError for a file that is missing, truncated or lacks an array.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._data = folder / "data.npz"
        self.num_nodes = self._number("num_nodes_list")
        self.num_edges = self._number("num_edges_list")
        with member(self._data, "edge_index") as (_, shape, _dtype, _order):
            if shape != (2, self.num_edges):
                said = f"edge_index is {shape}, num_edges_list says {self.num_edges}"
                raise SourceError(said, where=str(self._data), remedy=AGAIN)

    @cached_property
    def feature_dim(self) -> int:
        """Columns of node_feat."""
        with member(self._data, "node_feat", NO_FEATURES) as (_, shape, _dtype, _order):
            if len(shape) != 2:
                said = f"node_feat is {shape}, not a row of numbers for each node"
                raise SourceError(said, where=str(self._data), remedy=NO_FEATURES)
            return int(shape[1])

    def edges(self, size: int) -> Iterator[tuple[Array, Array]]:
        """Chunks (sources, destinations) of at most `size` edges.

        All sources lie before all destinations, so that the array is opened twice, once from its middle.
        """
        with ExitStack() as stack:
            stream, _, dtype, fortran = stack.enter_context(member(self._data, "edge_index"))
            if fortran:
                for pairs in _rows(stream, (self.num_edges, 2), dtype, size, self._data):
                    yield pairs[:, 0], pairs[:, 1]
                return
            second, *_ = stack.enter_context(member(self._data, "edge_index"))
            _skip(second, self.num_edges * dtype.itemsize)
            sources = _rows(stream, (self.num_edges,), dtype, size, self._data, ends=False)
            yield from zip(sources, _rows(second, (self.num_edges,), dtype, size, self._data), strict=True)

    def features(self, size: int) -> Iterator[Array]:
        """Chunks (n, feature_dim) of at most `size` rows, in the file's data type."""
        with member(self._data, "node_feat", NO_FEATURES) as (stream, shape, dtype, fortran):
            if fortran:
                remedy = "save it again, with node_feat as numpy.ascontiguousarray(node_feat)"
                raise SourceError("node_feat does not lie row by row", where=str(self._data), remedy=remedy)
            yield from _rows(stream, shape, dtype, size, self._data)

    def labels(self, size: int) -> Iterator[Array]:
        """Chunks (n,) of at most `size` rows, int64; NaN is UNLABELLED."""
        path = self.folder / "node-label.npz"
        with member(path, "node_label") as (stream, shape, dtype, _):
            for chunk in _rows(stream, shape, dtype, size, path):
                yield as_labels(chunk, path)

    def _number(self, name: str) -> int:
        with member(self._data, name) as (stream, shape, dtype, _):
            found = next(_rows(stream, shape, dtype, 1, self._data, ends=False), np.empty(0))
        if shape not in ((1,), (1, 1)):
            raise SourceError(f"{name} holds {shape} numbers, not one", where=str(self._data), remedy=AGAIN)
        return int(found.item())


Member = tuple[IO[bytes], tuple[int, ...], np.dtype[Any], bool]
"""An array's bytes behind its header, its shape, its data type, and whether columns lie together."""


@contextmanager
def member(path: Path, name: str, remedy: str = AGAIN) -> Iterator[Member]:
    """One array of an archive, opened; what reading it raises becomes a SourceError too.

    `remedy`: where there is no such array.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as stream:
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(stream)
            if dtype.hasobject:
                raise ValueError(f"{name} holds Python objects, which are not read")
            yield stream, shape, dtype, fortran
    except FileNotFoundError:
        raise SourceError("no such file", where=str(path), remedy=AGAIN) from None
    except KeyError:
        raise SourceError(f"lacks the array {name}", where=str(path), remedy=remedy) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise SourceError(f"truncated or damaged: {error}", where=str(path), remedy=AGAIN) from None


def _rows(
    stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any], size: int, path: Path, *, ends: bool = True
) -> Iterator[Array]:
    """Chunks of at most `size` rows of a C-ordered array; where the stream `ends` here, its checksum is compared."""
    row_bytes = int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize
    for first in range(0, shape[0], size):
        count = min(size, shape[0] - first)
        content = _exactly(stream, count * row_bytes)
        if content is None:
            raise SourceError(f"ends before row {first + count} of {shape[0]}", where=str(path), remedy=AGAIN)
        yield np.frombuffer(content, dtype).reshape(count, *shape[1:])
    if ends and stream.read(1):
        raise SourceError(f"goes on behind its {shape[0]} rows", where=str(path), remedy=AGAIN)


def _exactly(stream: IO[bytes], size: int) -> bytearray | None:
    """So many bytes, or nothing when there are fewer."""
    content = bytearray(size)
    left = memoryview(content)
    while left:
        part = stream.read(min(len(left), SKIP_BYTES))
        if not part:
            return None
        left[: len(part)] = part
        left = left[len(part) :]
    return content


def _skip(stream: IO[bytes], size: int) -> None:
    if stream.seekable():
        stream.seek(size, 1)  # free where the archive is not compressed
        return
    _exactly(stream, size)

"""OGB's text format: one `*.csv.gz` a table, without a header; read in chunks."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from gzip import BadGzipFile
from pathlib import Path
from typing import Any

import numpy as np

from hone.core.errors import SourceError
from hone.gnn.graph import UNLABELLED

Array = np.ndarray[Any, np.dtype[Any]]
AGAIN = "get the file again, or correct raw_dir in the config"


class CsvGraph:
    """A folder `raw/` with edge, node-feat, node-label, num-node-list and num-edge-list, each `.csv.gz`.

    Everything raises SourceError for a file that is missing, truncated or not a table of numbers.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.num_nodes = _number(folder / "num-node-list.csv.gz")
        self.num_edges = _number(folder / "num-edge-list.csv.gz")

    @cached_property
    def feature_dim(self) -> int:
        """Columns of the feature table."""
        return int(next(_chunks(self.folder / "node-feat.csv.gz", 1)).shape[1])

    def edges(self, size: int) -> Iterator[tuple[Array, Array]]:
        """Chunks (sources, destinations) of at most `size` edges, int64."""
        path = self.folder / "edge.csv.gz"
        for chunk in _chunks(path, size):
            ends = _integers(chunk, path)
            if ends.shape[1] != 2:
                raise SourceError(f"has {ends.shape[1]} columns, not 2", where=str(path), remedy=AGAIN)
            yield ends[:, 0], ends[:, 1]

    def features(self, size: int) -> Iterator[Array]:
        """Chunks (n, feature_dim) of at most `size` rows, float32."""
        for chunk in _chunks(self.folder / "node-feat.csv.gz", size):
            yield chunk.astype(np.float32)

    def labels(self, size: int) -> Iterator[Array]:
        """Chunks (n,) of at most `size` rows, int64; an empty or NaN field is UNLABELLED."""
        path = self.folder / "node-label.csv.gz"
        for chunk in _chunks(path, size):
            yield as_labels(chunk, path)


def as_labels(column: Array, path: Path) -> Array:
    """(n, 1) or (n,) numbers, NaN where there is no label -> (n,) int64.

    Raises SourceError, naming the file, for several labels a node and for numbers that are no classes.
    """
    if column.ndim > 2 or (column.ndim == 2 and column.shape[1] != 1):
        said, remedy = f"has {column.shape[1:]} labels for each node", "give each node one class, from 0 on"
        raise SourceError(said, where=str(path), remedy=remedy)
    flat = column.reshape(-1)
    if flat.dtype.kind == "f":
        flat = np.where(np.isnan(flat), UNLABELLED, flat)
        if (flat != np.floor(flat)).any():
            remedy = "number the classes from 0 on: there is no model here for other numbers"
            raise SourceError("has labels that are no whole numbers", where=str(path), remedy=remedy)
    return flat.astype(np.int64)


def read_ids(path: Path) -> Array:
    """(n,) int64: all rows of a table with one column, such as a split's; raises SourceError."""
    chunks = [_integers(chunk, path).reshape(-1) for chunk in _chunks(path, 1 << 20)]
    return np.concatenate(chunks) if chunks else np.empty(0, np.int64)


def _number(path: Path) -> int:
    """The only number of a file: these graphs are one each."""
    found = read_ids(path)
    if len(found) != 1:
        raise SourceError(f"holds {len(found)} numbers, not one", where=str(path), remedy=AGAIN)
    return int(found[0])


def _integers(chunk: Array, path: Path) -> Array:
    if chunk.dtype.kind not in "iu":
        raise SourceError("holds something else than whole numbers", where=str(path), remedy=AGAIN)
    return chunk.astype(np.int64, copy=False)


def _chunks(path: Path, size: int) -> Iterator[Array]:
    """(n, columns) numbers of at most `size` rows at a time; nothing for an empty file."""
    import pandas

    with _readable(path):
        if path.stat().st_size == 0:  # pandas takes it for a table without rows
            raise EOFError("the file is empty")
        try:
            opened = pandas.read_csv(path, compression="gzip", header=None, chunksize=size)
        except pandas.errors.EmptyDataError:
            return
        with opened:
            for frame in opened:
                yield frame.to_numpy(_common_type(frame.dtypes.tolist(), path))


def _common_type(kinds: list[Any], path: Path) -> np.dtype[Any]:
    """Of a table's columns; raises SourceError when one holds text."""
    if any(kind.kind not in "iuf" for kind in kinds):
        raise SourceError("holds text where numbers should be", where=str(path), remedy=AGAIN)
    return np.result_type(*kinds)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise SourceError("no such file", where=str(path), remedy=AGAIN) from None
    except (EOFError, BadGzipFile, zlib.error, ValueError) as error:  # pandas' errors are ValueErrors
        raise SourceError(f"truncated or damaged: {error}", where=str(path), remedy=AGAIN) from None

"""A prepared graph: a folder of memory-mapped arrays that all workers of a machine share, and `graph.json`.

`hone.records.GraphInfo` says which arrays there are, with shapes and data types. They are mapped read-only: a page is
in memory once, however many processes read it, and only while there is room for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hone.core.errors import RecordError
from hone.core.files import read_record
from hone.records.gnn import ARRAYS, GraphInfo

if TYPE_CHECKING:
    from torch import Tensor

Array = np.ndarray[Any, np.dtype[Any]]
INFO = "graph.json"
UNLABELLED = -1
"""In `labels`: this node has no label; never among train, valid and test."""
STORED_DTYPES: Mapping[str, type[np.generic]] = {"float16": np.float16, "bfloat16": np.uint16, "float32": np.float32}
"""Feature data type -> data type of the file; numpy has no bfloat16."""
PREPARE_AGAIN = "delete the folder and run the same command again: the graph is prepared afresh"
ROWS_A_CHECK = 1 << 24


@dataclass(frozen=True)
class Graph:
    """An opened graph; the arrays are read-only maps of the files."""

    path: Path
    info: GraphInfo
    indptr: Array
    """(num_nodes + 1,) int64: node v's neighbours are `indices[indptr[v]:indptr[v + 1]]`."""
    indices: Array
    """(num_edges,) int32, ascending within a row."""
    features: Array
    """(num_nodes, feature_dim) as the info's feature_dtype; bfloat16 as uint16."""
    labels: Array
    """(num_nodes,) int64, UNLABELLED where there is none."""
    train: Array
    """(num_train,) int64, ascending."""
    valid: Array
    """(num_valid,) int64, ascending."""
    test: Array
    """(num_test,) int64, ascending."""

    @classmethod
    def open(cls, path: Path, *, verify: bool = False) -> Self:
        """Map a graph's folder; `verify` also reads all of it, as `Graph.verify`.

        Raises RecordError: no graph.json, a file missing or truncated, a data type or size that graph.json denies.
        """
        info = read_record(path / INFO, GraphInfo)
        arrays = {name: _mapped(path / f"{name}.npy") for name in ARRAYS}
        for name, (dtype, shape) in layout(info).items():
            found = arrays[name]
            if found.dtype != dtype or found.shape != shape:
                said = f"holds {found.dtype} {found.shape}, {INFO} says {np.dtype(dtype)} {shape}"
                raise RecordError(said, where=str(path / f"{name}.npy"), remedy=PREPARE_AGAIN)
        graph = cls(path, info, **arrays)
        ends = (int(graph.indptr[0]), int(graph.indptr[-1]))
        if ends != (0, info.num_edges):
            said = f"goes from {ends[0]} to {ends[1]}, not from 0 to {info.num_edges}"
            raise RecordError(said, where=str(path / "indptr.npy"), remedy=PREPARE_AGAIN)
        if verify:
            graph.verify()
        return graph

    def verify(self) -> None:
        """Read every file: its checksum, and that all ids are in range; raises RecordError."""
        for name in ARRAYS:
            path = self.path / f"{name}.npy"
            found, wanted = sha256_of(path), self.info.sha256[path.name]
            if found != wanted:
                said = f"sha256 is {found}, {INFO} has {wanted}"
                raise RecordError(said, where=str(path), remedy=PREPARE_AGAIN)
        for name in ("indices", "train", "valid", "test"):
            for first in range(0, len(self.array(name)), ROWS_A_CHECK):
                part = self.array(name)[first : first + ROWS_A_CHECK]
                if part.min() < 0 or part.max() >= self.info.num_nodes:
                    said = f"has ids outside 0 to {self.info.num_nodes - 1}"
                    raise RecordError(said, where=str(self.path / f"{name}.npy"), remedy=PREPARE_AGAIN)

    def array(self, name: str) -> Array:
        """The map of one of `hone.records.gnn.ARRAYS`."""
        found: Array = getattr(self, name)
        return found

    def tensor(self, name: str) -> Tensor:
        """The same pages as a CPU tensor, without a copy; features have the info's feature_dtype.

        torch knows no read-only tensors. The map behind this one is private: whoever writes to it changes their own
        copy of the page, never the file nor what other processes see.
        """
        import torch

        private = np.load(self.path / f"{name}.npy", mmap_mode="c")
        if name == "features" and self.info.feature_dtype == "bfloat16":
            return torch.from_numpy(private.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(private)

    def neighbours(self, node: int) -> Array:
        """(degree,) int32: the ids next to one node, ascending."""
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    def degrees(self) -> Array:
        """(num_nodes,) int64, in memory."""
        return np.diff(self.indptr)


def layout(info: GraphInfo) -> Mapping[str, tuple[type[np.generic], tuple[int, ...]]]:
    """Array -> data type and shape of its file."""
    return {
        "indptr": (np.int64, (info.num_nodes + 1,)),
        "indices": (np.int32, (info.num_edges,)),
        "features": (STORED_DTYPES[info.feature_dtype], (info.num_nodes, info.feature_dim)),
        "labels": (np.int64, (info.num_nodes,)),
        "train": (np.int64, (info.num_train,)),
        "valid": (np.int64, (info.num_valid,)),
        "test": (np.int64, (info.num_test,)),
    }


def sha256_of(path: Path) -> str:
    """Checksum of a file of any size, as 64 hexadecimal digits; raises OSError."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _mapped(path: Path) -> Array:
    try:
        return np.load(path, mmap_mode="r")  # type: ignore[no-any-return]
    except FileNotFoundError:
        raise RecordError("no such file", where=str(path), remedy=PREPARE_AGAIN) from None
    except (ValueError, EOFError) as error:  # shorter than its header says, or no header
        raise RecordError(f"truncated or not an array: {error}", where=str(path), remedy=PREPARE_AGAIN) from None

"""What every reader and generator of graphs gives: streams of bounded chunks, so that no graph need fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hone.records import GraphSource
from hone.records.gnn import GraphInfo

Array = np.ndarray[Any, np.dtype[Any]]
EdgeStream = Callable[[int], Iterator[tuple[Array, Array]]]
"""Most edges of a chunk -> chunks (sources, destinations), each (n,) of one integer type. Called more than once, and
gives the same edges each time."""
RowStream = Callable[[int], Iterator[Array]]
"""Most rows of a chunk -> chunks of rows, in the order of the nodes."""
FolderWriter = Callable[[str, Path], GraphInfo]
"""Name of a graph, and its folder to be -> its graph.json; all of the folder is written, or nothing."""


@dataclass(frozen=True)
class GraphStreams:
    """A graph on its way to the disk."""

    num_nodes: int
    feature_dim: int
    num_classes: int
    edges: EdgeStream
    features: RowStream
    """Chunks (n, feature_dim) of a floating or integer type."""
    labels: RowStream
    """Chunks (n,) of int64; UNLABELLED where there is none."""
    splits: Mapping[str, Array]
    """train, valid, test -> (n,) int64 node ids."""
    source: GraphSource
    symmetric: bool = True
    """Each edge also counts backwards."""
    deduplicate: bool = True
    """An edge that is there several times, also by being there in both directions, counts once."""
    self_loops: bool = True
    """Whether edges from a node to itself are kept."""
    num_stream_edges: int | None = None
    """Edges of the stream, where known: for the progress bar alone."""
    entries: int | None = None
    """Exact number of entries of the CSR; what the stream has more is dropped, its first edges first. Only for
    streams without self-loops that are symmetrised and deduplicated."""


def edge_chunks(sources: Array, destinations: Array) -> EdgeStream:
    """The stream of edges that are in memory."""

    def chunks(size: int) -> Iterator[tuple[Array, Array]]:
        for first in range(0, len(sources), size):
            yield sources[first : first + size], destinations[first : first + size]

    return chunks


def row_chunks(rows: Array) -> RowStream:
    """The stream of rows that are in memory."""

    def chunks(size: int) -> Iterator[Array]:
        for first in range(0, len(rows), size):
            yield rows[first : first + size]

    return chunks

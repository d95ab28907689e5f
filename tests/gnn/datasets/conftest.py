"""A small graph as streams, and what the readers and generators of this folder are compared with."""

import numpy as np
import pytest

from hone.gnn.datasets.streams import GraphStreams, edge_chunks, row_chunks
from hone.records import GraphSource


def streams_of(sources, destinations, num_nodes, **changes):
    """Streams of edges, with features 0, 1, 2 … and every third node's label missing."""
    labels = np.arange(num_nodes, dtype=np.int64) % 3 - 1
    known = np.flatnonzero(labels >= 0)
    values = {
        "num_nodes": num_nodes,
        "feature_dim": 2,
        "num_classes": 2,
        "edges": edge_chunks(np.asarray(sources), np.asarray(destinations)),
        "features": row_chunks(np.arange(2 * num_nodes, dtype=np.float32).reshape(-1, 2)),
        "labels": row_chunks(labels),
        "splits": {"train": known[::3], "valid": known[1::3], "test": known[2::3]},
        "source": GraphSource(kind="test", location="made here"),
        "num_stream_edges": len(sources),
    }
    return GraphStreams(**{**values, **changes})


@pytest.fixture
def small():
    """Eight nodes; 0-1 in both directions, 1-2 twice, 3 with itself, 7 alone."""
    return streams_of([0, 1, 1, 1, 3, 4, 5, 6], [1, 0, 2, 2, 3, 0, 0, 1], 8)


def expected_csr(sources, destinations, num_nodes, *, symmetric=True, deduplicate=True, self_loops=True):
    """indptr and indices by the shortest way: pairs in a list."""
    pairs = list(zip(destinations, sources, strict=True))
    if symmetric:
        pairs += [(column, row) for row, column in pairs]
    if deduplicate:
        pairs = list(set(pairs))
    pairs = sorted((int(row), int(column)) for row, column in pairs if self_loops or row != column)
    counts = np.bincount([row for row, _ in pairs], minlength=num_nodes)
    return [0, *np.cumsum(counts).tolist()], [column for _, column in pairs]

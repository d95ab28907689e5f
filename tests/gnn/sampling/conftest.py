"""Graphs made by hand, and the sampler with all kinds of the design study."""

import numpy as np
import pytest

from hone.gnn.graph import Graph
from hone.gnn.sampling import build_sampler
from hone.records.gnn import ARRAYS, GraphInfo, GraphSource


def graph_of(path, indptr, indices, feature_dim=8):
    """A graph in memory; node v's features are v, v + 1, …, its label is v modulo 5, every node is to be trained on."""
    nodes = len(indptr) - 1
    features = (np.arange(nodes)[:, None] % 2048 + np.arange(feature_dim)).astype(np.float16)
    splits = {"train": np.arange(nodes), "valid": np.arange(0), "test": np.arange(0)}
    info = GraphInfo(
        name="by_hand", num_nodes=nodes, num_edges=len(indices), feature_dim=feature_dim, feature_dtype="float16",
        num_classes=5, num_train=nodes, num_valid=0, num_test=0, source=GraphSource(kind="hand", location="test"),
        sha256={f"{name}.npy": "0" * 64 for name in ARRAYS},
    )  # fmt: skip
    return Graph(
        path=path, info=info, indptr=np.asarray(indptr, dtype=np.int64), indices=np.asarray(indices, dtype=np.int32),
        features=features, labels=np.arange(nodes) % 5, **splits,
    )  # fmt: skip


def graph_of_degrees(path, degrees, rng, feature_dim=8):
    """Node v has degrees[v] distinct random neighbours."""
    nodes = len(degrees)
    lists = [np.sort(rng.choice(nodes, degree, replace=False)) for degree in degrees]
    return graph_of(path, np.concatenate([[0], np.cumsum(degrees)]), np.concatenate(lists), feature_dim)


@pytest.fixture(scope="session")
def odd_graph(tmp_path_factory):
    """900 nodes: every 7th isolated, one next to all, lists of up to 150, and degrees around the fan-outs."""
    rng = np.random.default_rng(3)
    degrees = rng.integers(1, 150, 900)
    degrees[::2] = rng.integers(1, 9, 450)
    degrees[::7] = 0
    degrees[123] = 900
    return graph_of_degrees(tmp_path_factory.mktemp("odd"), degrees, rng)


@pytest.fixture(scope="session")
def study_library(tmp_path_factory):
    return build_sampler(tmp_path_factory.mktemp("store"), study=True)

"""The planted classes can be learned from the neighbours and hardly from a node alone."""

import numpy as np

from hone.config.graphs import SyntheticGraph
from hone.gnn.graph import Graph
from hone.gnn.prepare import prepare


def made(folder, **changes):
    prepare("synthetic", SyntheticGraph(kind="synthetic", **changes), folder)
    return Graph.open(folder, verify=True)


def neighbour_means(graph, features):
    rows = np.repeat(np.arange(graph.info.num_nodes), graph.degrees())
    sums = np.zeros_like(features)
    np.add.at(sums, rows, features[graph.indices])
    return sums / np.maximum(graph.degrees(), 1)[:, None]


def accuracy(graph, features):
    """Of ridge regression to the classes' indicators, trained on the training nodes."""
    inputs = np.hstack([features, np.ones((len(features), 1))])
    train, test = np.asarray(graph.train), np.asarray(graph.test)
    targets = np.eye(graph.info.num_classes)[graph.labels[train]]
    gram = inputs[train].T @ inputs[train] + np.eye(inputs.shape[1])
    weights = np.linalg.solve(gram, inputs[train].T @ targets)
    return float(((inputs[test] @ weights).argmax(axis=1) == graph.labels[test]).mean())


def test_neighbours_say_what_a_node_alone_does_not(tmp_path):
    graph = made(tmp_path)
    own = np.asarray(graph.features, np.float64)
    once = neighbour_means(graph, own)
    alone, together = accuracy(graph, own), accuracy(graph, np.hstack([own, once, neighbour_means(graph, once)]))
    assert 0.3 < alone < 0.75
    assert together > alone + 0.15


def test_without_homophily_neighbours_say_nothing(tmp_path):
    graph = made(tmp_path, homophily=0.0)
    own = np.asarray(graph.features, np.float64)
    assert accuracy(graph, neighbour_means(graph, own)) < 0.35


def test_edges_fall_within_classes_as_asked(tmp_path):
    graph = made(tmp_path, nodes=4000, homophily=0.7)
    rows = np.repeat(np.arange(4000), graph.degrees())
    within = (graph.labels[rows] == graph.labels[graph.indices]).mean()
    assert abs(within - (0.7 + 0.3 / 5)) < 0.03
    assert not (rows == graph.indices).any()


def test_degrees_are_as_asked(tmp_path):
    graph = made(tmp_path / "a", nodes=4000, mean_degree=10.0, degree_sigma=0.0)
    spread = made(tmp_path / "b", nodes=4000, mean_degree=10.0, degree_sigma=1.2)
    assert abs(graph.degrees().mean() - 10) < 0.2
    assert graph.degrees().var() < 13, "Poisson"
    assert spread.degrees().max() > 5 * graph.degrees().max()


def test_the_seed_decides_everything(tmp_path):
    first, again, other = (made(tmp_path / str(n), seed=seed) for n, seed in enumerate((1, 1, 2)))
    assert first.info.sha256 == again.info.sha256
    assert all(first.info.sha256[name] != other.info.sha256[name] for name in first.info.sha256)

"""Every subset of neighbours is equally likely: chi-square over a thousand nodes, for each degree and fan-out."""

from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from hone.gnn.sampling import Design, Sampler
from tests.gnn.sampling.conftest import graph_of

NODES = 1000
EPOCHS = 40
# Fan-out 1, degree = fan-out + 1, lists of one machine word and longer, few and many positions.
PAIRS = [(2, 1), (6, 5), (10, 5), (30, 5), (30, 1), (16, 15), (64, 10), (65, 64), (100, 40), (300, 5)]
LEAST = 1e-4
"""P-values below this fail. The draws are seeded: a test that passes once passes always."""


def star_graph(path, degree):
    """NODES nodes that all have the neighbours 0, 1, …, degree - 1, and nodes up to there without any."""
    empty = max(degree - NODES, 0)
    indptr = np.concatenate([np.arange(NODES + 1) * degree, np.full(empty, NODES * degree)])
    return graph_of(path, indptr, np.tile(np.arange(degree), NODES), feature_dim=1)


def draws(graph, degree, fanout, library, design=None, epochs=EPOCHS):
    """(epochs, NODES, fanout): the neighbours that each node drew in each epoch."""
    with Sampler(graph, (fanout,), library, seed=1, design=design) as sampler:
        found = []
        for epoch in range(epochs):
            batch = sampler.sample(torch.arange(NODES), 0, epoch)
            found.append(batch.nodes[batch.blocks[0].indices.long()].view(NODES, fanout).numpy())
    return np.stack(found)


def p_values(drawn, degree):
    """Of all nodes' counts together (per node, then summed), and of the counts over all nodes.

    k of d positions without replacement in T draws: a count has variance T p (1 - p) with p = k / d, two counts have
    covariance -T p (1 - p) / (d - 1), so that the squares summed, times (d - 1) / d, are chi-square with d - 1 degrees.
    """
    epochs, nodes, fanout = drawn.shape
    p = fanout / degree
    counts = np.stack([np.bincount(drawn[:, v].ravel(), minlength=degree) for v in range(nodes)])
    scale = p * (1 - p) * degree / (degree - 1)
    each = ((counts - epochs * p) ** 2).sum() / (epochs * scale)
    total = ((counts.sum(0) - nodes * epochs * p) ** 2).sum() / (nodes * epochs * scale)
    upper = chi2.sf(each, nodes * (degree - 1))
    return min(upper, 1 - upper), chi2.sf(total, degree - 1)


@pytest.mark.parametrize(("degree", "fanout"), PAIRS)
def test_every_neighbour_is_equally_likely(tmp_path, library, degree, fanout):
    drawn = draws(star_graph(tmp_path, degree), degree, fanout, library)
    assert (np.diff(np.sort(drawn, axis=2), axis=2) > 0).all(), "without replacement"
    assert min(p_values(drawn, degree)) > LEAST


@pytest.mark.parametrize("bookkeeping", ["array", "set"])
def test_so_it_is_with_the_other_bookkeeping(tmp_path, study_library, bookkeeping):
    drawn = draws(star_graph(tmp_path, 10), 10, 5, study_library, Design(bookkeeping=bookkeeping))
    assert min(p_values(drawn, 10)) > LEAST


def test_every_subset_is_equally_likely(tmp_path, library):
    """Equal shares of the single neighbours would not be enough."""
    drawn = np.sort(draws(star_graph(tmp_path, 6), 6, 3, library), axis=2).reshape(-1, 3)
    counts = np.array([(drawn == subset).all(1).sum() for subset in combinations(range(6), 3)])
    expected = len(drawn) / 20
    assert counts.sum() == len(drawn)
    assert chi2.sf(((counts - expected) ** 2).sum() / expected, 19) > LEAST


def test_nodes_epochs_and_hops_draw_independently(tmp_path, library):
    """Pairs of draws that should have nothing to do with each other agree as often as chance has it."""
    degree = 8
    graph = star_graph(tmp_path, degree)
    drawn = draws(graph, degree, 1, library, epochs=64)[:, :, 0]
    pairs = {"nodes": drawn[:, 1:] == drawn[:, :-1], "epochs": drawn[1:] == drawn[:-1]}
    with Sampler(graph, (1, 1), library, seed=1) as sampler:
        batch = sampler.sample(torch.arange(NODES), 0, 0)
    first, second = (batch.nodes[block.indices[:NODES].long()] for block in reversed(batch.blocks))
    pairs["hops"] = (first == second).numpy()
    for what, equal in pairs.items():
        sigma = np.sqrt(equal.size * (1 / degree) * (1 - 1 / degree))
        assert abs(equal.sum() - equal.size / degree) < 4.5 * sigma, what


def test_the_test_finds_a_biased_sampler():
    """Floyd's algorithm with draws below j instead of j + 1, as in two public samplers."""
    rng = np.random.default_rng(0)
    degree, fanout = 30, 5
    drawn = np.empty((EPOCHS, NODES, fanout), dtype=np.int64)
    for i, j in enumerate(range(degree - fanout, degree)):
        option = rng.integers(0, j, (EPOCHS, NODES))
        taken = (drawn[:, :, :i] == option[:, :, None]).any(2)
        drawn[:, :, i] = np.where(taken, j, option)
    assert min(p_values(drawn, degree)) < 1e-12

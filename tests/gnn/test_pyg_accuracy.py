"""A model of ours learns what PyTorch Geometric's own learns: accuracy over seeds, same graph, same settings."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from hone.gnn.batch import Block
from hone.gnn.models import build_model
from hone.gnn.pyg import library

NODES, CLASSES, WORDS, HIDDEN, STEPS, SEEDS = 400, 4, 1000, 16, 25, 10
"""Many words and few nodes to learn from, as in citation graphs: there it matters how weights begin."""


@pytest.fixture(scope="module")
def papers():
    """Words (nodes, words) of zeros and ones, edges (2, m) in both directions, labels, and who trains."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, CLASSES, NODES)
    liking = np.where(generator.random((CLASSES, WORDS)) < 0.1, 0.06, 0.01)
    words = generator.random((NODES, WORDS)) < liking[labels]
    ends = generator.integers(0, NODES, (2, 4 * NODES))
    kept = ends[:, (labels[ends[0]] == labels[ends[1]]) | (generator.random(ends.shape[1]) < 0.2)]
    edges = np.unique(np.concatenate([kept, kept[::-1]], axis=1), axis=1)
    return torch.from_numpy(words).float(), torch.from_numpy(edges), torch.from_numpy(labels), torch.arange(40)


def own(seed):
    model = build_model(
        "sage", inputs=WORDS, hidden=HIDDEN, outputs=CLASSES, layers=3, dropout=0.5, seed=seed
    )  # fmt: skip
    generator = torch.Generator().manual_seed(seed)

    def scores(x, edges):
        order = edges[1].argsort(stable=True)
        indptr = F.pad(torch.bincount(edges[1], minlength=NODES).cumsum(0), (1, 0))
        block = Block(indptr.int(), edges[0][order].int(), NODES, NODES)
        return model(x, [block] * 3, generator if model.training else None)

    return model, scores


def theirs(seed):
    torch.manual_seed(seed)
    model = library().nn.models.GraphSAGE(WORDS, HIDDEN, 3, CLASSES, dropout=0.5)
    return model, lambda x, edges: F.log_softmax(model(x, edges), dim=1)


def accuracy(made, papers):
    """On the nodes that did not train, after STEPS steps on the whole graph."""
    (model, scores), (words, edges, labels, train) = made, papers
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _ in range(STEPS):
        optimizer.zero_grad()
        F.nll_loss(scores(words, edges)[train], labels[train]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = scores(words, edges).argmax(dim=1) == labels
    return float(right[len(train) :].float().mean())


def test_sage_is_as_accurate_as_pytorch_geometrics_own(papers):
    with torch.random.fork_rng(devices=[]):
        ours, peers = ([accuracy(make(seed), papers) for seed in range(SEEDS)] for make in (own, theirs))
    difference = np.mean(ours) - np.mean(peers)
    error = math.sqrt((np.var(ours, ddof=1) + np.var(peers, ddof=1)) / SEEDS)
    assert np.mean(peers) > 0.4, "a quarter would be chance"
    assert abs(difference) < 2.5 * error, f"{np.mean(ours):.3f} and {np.mean(peers):.3f}, error {error:.4f}"
    assert error < 0.02, "or nothing could be seen"

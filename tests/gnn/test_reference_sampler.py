import numpy as np
import pytest
import torch

from hone.gnn.reference_sampler import ReferenceSampler
from tests.gnn.samples import check_batch


def sampler(graph, fanouts, seed=0):
    return ReferenceSampler(graph.indptr, graph.indices, fanouts, seed=seed)


def same(one, other):
    pairs = [(one.nodes, other.nodes)]
    for a, b in zip(one.blocks, other.blocks, strict=True):
        pairs += [(a.indptr, b.indptr), (a.indices, b.indices)]
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("fanouts", [(5, 3, 2), (-1, 2), (4,), (0, 3)])
def test_a_batch_is_what_it_should_be(small_graph, fanouts):
    seeds = small_graph.tensor("train")[:30]
    batch = sampler(small_graph, fanouts).sample(seeds, 4, 2)
    assert (batch.index, batch.epoch, batch.num_seeds) == (4, 2, 30)
    check_batch(batch, small_graph, seeds, fanouts)


def test_the_same_key_gives_the_same_batch_and_another_key_another(small_graph):
    seeds = small_graph.tensor("train")[:30]
    batch = sampler(small_graph, (3, 3)).sample(seeds, 4, 2)
    assert same(batch, sampler(small_graph, (3, 3)).sample(seeds, 4, 2))
    for other in ((sampler(small_graph, (3, 3), 1), 4, 2), (sampler(small_graph, (3, 3)), 5, 2),
                  (sampler(small_graph, (3, 3)), 4, 3)):  # fmt: skip
        assert not same(batch, other[0].sample(seeds, *other[1:]))


def test_what_a_seed_draws_does_not_depend_on_the_other_seeds(small_graph):
    """So that the ranks of a distributed run together draw what one process would."""
    seeds = small_graph.tensor("train")[:20]
    drawn = []
    for chosen in (seeds, seeds[::2]):
        batch = sampler(small_graph, (3,)).sample(chosen, 0, 0)
        block = batch.blocks[0]
        first = block.indices[: block.indptr[1]].long()
        drawn.append(batch.nodes[first].tolist())
    assert drawn[0] == drawn[1]


def test_every_neighbour_is_drawn_equally_often():
    """Chi-square over the neighbours of 300 stars: 9 degrees of freedom each, 3000 draws of 4 of 10."""
    degree, stars, draws = 10, 300, 100
    indptr = np.concatenate([np.arange(stars + 1) * degree, np.full(degree, stars * degree)])
    indices = np.tile(np.arange(stars, stars + degree), stars).astype(np.int32)
    counts = np.zeros((stars, degree))
    for index in range(draws):
        batch = ReferenceSampler(indptr, indices, (4,), seed=7).sample(torch.arange(stars), index, 0)
        chosen = batch.nodes[batch.blocks[0].indices.long()].numpy().reshape(stars, 4) - stars
        np.add.at(counts, (np.arange(stars)[:, None], chosen), 1)
    expected = draws * 4 / degree
    # Drawing without replacement lowers the variance by (1 - fanout / degree) against independent draws.
    statistic = ((counts - expected) ** 2 / (expected * (1 - 4 / degree))).sum() * (degree - 1) / degree
    freedom = stars * (degree - 1)
    assert abs(statistic - freedom) < 5 * (2 * freedom) ** 0.5


def test_no_seeds_give_an_empty_batch(small_graph):
    batch = sampler(small_graph, (3, 2)).sample(torch.zeros(0, dtype=torch.int64), 0, 0)
    assert len(batch.nodes) == 0 and batch.num_edges == 0
    assert [(block.num_dst, block.num_src, len(block.indptr)) for block in batch.blocks] == [(0, 0, 1)] * 2

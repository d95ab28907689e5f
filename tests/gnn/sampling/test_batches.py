"""What a batch is: invariants on odd graphs, and batches worked out by hand."""

import numpy as np
import pytest
import torch

from hone.gnn.sampling import Design, Sampler
from hone.gnn.sampling.design import BOOKKEEPING, MAPS
from hone.gnn.seeds import Plan
from tests.gnn.samples import check_batch, rows
from tests.gnn.sampling.conftest import graph_of, graph_of_degrees
from tests.gnn.sampling.specified import batch_of

FANOUTS = [(5, 3, 2), (-1,), (1, 1), (150, 2), (4, -1), (0, 3), (40, 1)]
DESIGNS = [Design(kind, book, block, 4, fused) for kind in MAPS for book in BOOKKEEPING for block, fused in
           ((0, False), (8, True), (64, False))]  # fmt: skip


def prepared(graph, fanouts, library, seeds, design=None, epoch=0):
    """The one batch of an epoch."""
    with Sampler(graph, fanouts, library, seed=11, threads=1, design=design) as sampler:
        (batch,) = sampler.epoch(Plan(seeds, len(seeds), epoch))
        return batch  # its memory stays as it is: no batch comes after it


@pytest.mark.parametrize("fanouts", FANOUTS)
def test_a_batch_is_what_it_should_be(odd_graph, library, fanouts):
    seeds = torch.arange(100, 160)
    batch = prepared(odd_graph, fanouts, library, seeds)
    check_batch(batch, odd_graph, seeds, fanouts)
    ids = batch.nodes.numpy()
    assert np.array_equal(batch.features.numpy(), odd_graph.features[ids])
    assert batch.labels.tolist() == [node % 5 for node in range(100, 160)]


@pytest.mark.parametrize("fanouts", FANOUTS)
def test_a_batch_is_the_one_that_the_specification_gives(odd_graph, library, fanouts):
    seeds = torch.arange(110, 140)
    batch = prepared(odd_graph, fanouts, library, seeds, epoch=3)
    expected = batch_of(odd_graph, seeds.tolist(), fanouts, seed=11, epoch=3, batch=0)
    assert (batch.nodes.tolist(), rows(batch)) == expected


def test_all_designs_give_the_same_batch(odd_graph, study_library):
    seeds, fanouts = torch.arange(110, 170), (6, 70, 3)
    expected = prepared(odd_graph, fanouts, study_library, seeds)
    for design in DESIGNS:
        found = prepared(odd_graph, fanouts, study_library, seeds, design)
        pairs = zip(found.device_tensors(), expected.device_tensors(), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs), design


@pytest.mark.parametrize(("feature_dim", "stream"), [(3, True), (32, True), (32, False), (64, True)])
def test_rows_of_any_length_arrive_whole(tmp_path, library, feature_dim, stream):
    """Rows that are whole cache lines take another way than the others."""
    graph = graph_of_degrees(tmp_path, np.full(500, 20), np.random.default_rng(0), feature_dim)
    batch = prepared(graph, (5, 5), library, torch.arange(50), Design(stream=stream))
    assert np.array_equal(batch.features.numpy(), graph.features[batch.nodes.numpy()])


def test_a_graph_without_edges_and_a_batch_without_seeds(tmp_path, library):
    graph = graph_of(tmp_path, [0] * 11, [])
    batch = prepared(graph, (3, -1), library, torch.arange(4))
    assert batch.nodes.tolist() == [0, 1, 2, 3] and batch.num_edges == 0
    with Sampler(graph, (3,), library) as sampler:
        empty = sampler.sample(torch.empty(0, dtype=torch.int64), 0, 0)
    assert (empty.num_seeds, len(empty.nodes), empty.blocks[0].indptr.tolist()) == (0, 0, [0])


def test_a_neighbour_listed_twice_is_one_node(tmp_path, library):
    """Parallel edges are edges of their own; a self-loop leads to the seed."""
    graph = graph_of(tmp_path, [0, 3, 3, 3], [1, 1, 0])
    batch = prepared(graph, (-1,), library, torch.tensor([0]))
    assert batch.nodes.tolist() == [0, 1] and rows(batch) == [[[1, 1, 0]]]


def test_sample_gives_the_same_without_features(odd_graph, library):
    seeds = torch.arange(100, 160)
    whole = prepared(odd_graph, (5, 3), library, seeds)
    with Sampler(odd_graph, (5, 3), library, seed=11) as sampler:
        bare = sampler.sample(seeds, 0, 0)
        sampler.sample(torch.arange(30), 1, 0)  # does not overwrite the one before
    assert bare.features is None and bare.labels is None
    assert torch.equal(bare.nodes, whole.nodes) and rows(bare) == rows(whole)

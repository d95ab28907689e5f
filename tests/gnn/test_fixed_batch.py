"""A batch of fixed sizes holds what was copied in, and what fills it up touches nothing."""

from dataclasses import replace

import pytest
import torch

from hone.gnn.batch import Batch, Block
from hone.gnn.fixed_batch import EDGES_A_ROW, NO_LABEL, FixedBatch, Sizes, measured_sizes
from hone.gnn.observer import NullObserver
from hone.gnn.seeds import Plan, shuffled
from hone.gnn.systems import assemble
from tests.gnn.samples import rows

SEEDS = 50


@pytest.fixture
def batches(small_graph, library):
    """An epoch's, the last of which has fewer seeds; each with arrays of its own."""
    plan = Plan(shuffled(small_graph.tensor("train"), 0, 1), SEEDS, 1)
    pipeline = assemble(
        "shared_memory", small_graph, (5, 3), seed=1, device=torch.device("cpu"), threads=2, slots=4, sampler=library
    )
    found = [batch.mapped(torch.clone) for batch in pipeline.batches(plan, NullObserver())]
    pipeline.close()
    assert [batch.num_seeds for batch in found] == [50] * 7 + [10]
    return found


@pytest.fixture
def sizes(batches):
    return measured_sizes(batches, SEEDS)


def test_measured_sizes_hold_every_batch_that_was_measured(batches, sizes):
    assert all(map(sizes.hold, batches))
    assert sizes.nodes >= sizes.rows[0] >= sizes.rows[1] > sizes.seeds == SEEDS


def test_what_was_copied_in_is_there_and_stays_in_its_place(batches, sizes):
    fixed = FixedBatch(sizes, batches[0])
    places = [tensor.data_ptr() for tensor in fixed.batch.device_tensors()]
    for batch in [*batches, batches[0]]:  # a large one after a small one
        fixed.load(batch)
        held = fixed.batch
        assert [tensor.data_ptr() for tensor in held.device_tensors()] == places
        for got, wanted in zip(rows(held), rows(batch), strict=True):
            assert got[: len(wanted)] == wanted
            assert max(map(len, got[len(wanted) :])) <= EDGES_A_ROW, "a long row would hold up a step"
        assert torch.equal(held.features[: len(batch.features)], batch.features)
        assert held.labels.tolist() == batch.labels.tolist() + [NO_LABEL] * (SEEDS - batch.num_seeds)


def test_what_fills_it_up_is_a_batch_too(batches, sizes):
    fixed = FixedBatch(sizes, batches[0])
    for batch in batches:
        fixed.load(batch)
        sources = [sizes.nodes, *sizes.rows[:-1]]
        for block, count in zip(fixed.batch.blocks, sources, strict=True):
            assert block.num_src == count and len(block.indptr) == block.num_dst + 1
            assert block.indptr[0] == 0 and block.indptr[-1] == block.num_edges == len(block.indices)
            assert (block.indptr.diff() >= 0).all()
            assert block.indices.min() >= 0 and block.indices.max() < count


def refused(name):
    """Sizes that `batch` does not fit."""
    return {
        "nodes": lambda sizes, batch: replace(sizes, nodes=batch.blocks[0].num_src - 1),
        "seeds": lambda sizes, batch: replace(sizes, seeds=batch.num_seeds - 1),
        "edges": lambda sizes, batch: replace(sizes, edges=(batch.blocks[0].num_edges - 1, sizes.edges[1])),
        "no spare row": lambda sizes, batch: replace(sizes, rows=(sizes.rows[0], batch.num_seeds)),
        "too few spare rows": lambda sizes, batch: replace(
            sizes, edges=(batch.blocks[0].num_edges + 1000 * EDGES_A_ROW, sizes.edges[1])
        ),
    }[name]


@pytest.mark.parametrize("name", ["nodes", "seeds", "edges", "no spare row", "too few spare rows"])
def test_a_batch_that_does_not_fit_is_not_held(batches, sizes, name):
    assert not refused(name)(sizes, batches[0]).hold(batches[0])


def test_scaled_sums_are_not_held():
    pointers, nothing = torch.zeros(2, dtype=torch.int32), torch.empty(0, dtype=torch.int32)
    block = Block(pointers, nothing, num_dst=1, num_src=1, scale=torch.ones(1))
    batch = Batch(0, 0, nothing, 1, (block,))
    sizes = Sizes(nodes=4, rows=(3,), edges=(2,), seeds=2)
    assert not sizes.hold(batch)
    assert sizes.hold(replace(batch, blocks=(replace(block, scale=None),)))


def test_nothing_to_measure_is_an_error():
    with pytest.raises(ValueError, match="no batch"):
        measured_sizes([], 4)

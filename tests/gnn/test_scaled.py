"""Sums over drawn neighbours as estimates of sums over all of them."""

import pytest
import torch

from hone.gnn.aggregate import degrees, estimated_sum
from hone.gnn.models import build_model
from hone.gnn.observer import NullObserver
from hone.gnn.reference_sampler import ReferenceSampler
from hone.gnn.scaled import scaled
from hone.gnn.seeds import Plan
from hone.gnn.systems import assemble
from tests.gnn.blocks import dense, random_block

CPU = torch.device("cpu")
EPOCHS = 100


def pipeline(graph, system, library, fanouts, wanted=True):
    threads = 0 if system == "plain" else 1
    return assemble(
        system, graph, fanouts, seed=5, device=CPU, threads=threads, slots=4, sampler=library, scaled_sums=wanted
    )  # fmt: skip


def batches(graph, system, library, fanouts, **values):
    """All nodes, 200 at a time; to be read before the next is asked for."""
    chain = pipeline(graph, system, library, fanouts, **values)
    yield from chain.batches(Plan(torch.arange(graph.info.num_nodes), 200), NullObserver())
    chain.close()


def test_a_block_without_factors_adds_up_what_it_has_and_with_them_a_multiple():
    block = random_block()
    x = torch.randn(block.num_src, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    factors = torch.arange(1.0, block.num_dst + 1)
    assert torch.allclose(estimated_sum(x, block), dense(block) @ x)
    twice = type(block)(block.indptr, block.indices, block.num_dst, block.num_src, factors)
    assert torch.allclose(estimated_sum(x, twice), factors[:, None] * (dense(block) @ x))
    assert torch.autograd.gradcheck(lambda x: estimated_sum(x, twice), (x.requires_grad_(),))


def test_factors_of_a_star_are_known():
    """Node 0 has 6 neighbours, nodes 1 to 6 have node 0, node 7 has none."""
    indptr = torch.tensor([0, 6, 7, 8, 9, 10, 11, 12, 12])
    indices = torch.tensor([1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0])
    sampler = ReferenceSampler(indptr.numpy(), indices.numpy(), [4, 2], seed=0)
    outer, inner = scaled(sampler.sample(torch.tensor([0, 7, 1]), 0, 0), indptr).blocks
    assert inner.scale.tolist() == [1.5, 1, 1]
    assert outer.scale[:3].tolist() == [3, 1, 1]
    assert outer.scale.dtype == torch.float32


@pytest.mark.parametrize("system", ["plain", "fast_sampler", "shared_memory", "pipelined"])
def test_every_samplers_factors_are_degree_by_fan_out_and_never_below_one(small_graph, library, system):
    every_degree = small_graph.tensor("indptr").diff()
    for batch in batches(small_graph, system, library, (4, 3)):
        for block, fanout in zip(batch.blocks, (3, 4), strict=True):
            degree = every_degree[batch.nodes[: block.num_dst].long()]
            assert torch.equal(block.scale, (degree / fanout).clamp(min=1))
            assert torch.equal(block.scale == 1, degrees(block) == degree), "1 where all were drawn, and only there"


@pytest.mark.parametrize("system", ["plain", "pipelined"])
def test_estimates_are_on_average_the_sum_over_all_neighbours(small_graph, library, system):
    """And their deviation is the one of a draw without replacement, so that the average is no accident."""
    fanout, every_degree = 3, small_graph.tensor("indptr").diff()
    x = small_graph.tensor("features")[:, :1].double()
    whole = ReferenceSampler(small_graph.indptr, small_graph.indices, [-1], seed=0)
    everyone = torch.arange(small_graph.info.num_nodes)
    (block,) = whole.sample(everyone, 0, 0).blocks
    matrix = dense(block)
    expected = (matrix @ x)[:, 0]
    spread = (matrix @ x**2)[:, 0] - expected**2 / every_degree.clamp(min=1)
    variance = every_degree * (every_degree / fanout - 1) * spread / (every_degree - 1).clamp(min=1)
    chain, estimates = pipeline(small_graph, system, library, (fanout,)), torch.zeros(len(everyone), dtype=torch.double)
    for epoch in range(EPOCHS):
        for batch in chain.batches(Plan(everyone, 300, epoch), NullObserver()):
            found = estimated_sum(x[batch.nodes.long()], batch.blocks[0])[:, 0]
            estimates[batch.nodes[: batch.num_seeds].long()] += found / EPOCHS
    chain.close()
    drawn = every_degree > fanout
    assert drawn.sum() > 300
    assert torch.allclose(estimates[~drawn], expected[~drawn])
    deviations = ((estimates - expected) / (variance / EPOCHS).sqrt())[drawn]
    assert deviations.abs().max() < 5
    assert 0.8 < deviations.square().mean() < 1.2


def test_nothing_is_scaled_unless_wanted_and_all_neighbours_give_the_same_bits_either_way(small_graph, library):
    model = build_model("gin", inputs=16, hidden=8, outputs=4, layers=2, dropout=0.0, seed=0).eval()
    scores = []
    for wanted in (False, True):
        for batch in batches(small_graph, "pipelined", library, (-1, -1), wanted=wanted):
            assert {block.scale is None for block in batch.blocks} == {not wanted}
            scores.append(model(batch.features.float(), batch.blocks, None))
    half = len(scores) // 2
    assert all(torch.equal(a, b) for a, b in zip(scores[:half], scores[half:], strict=True))


def test_factors_travel_with_the_batch(small_graph, library):
    (batch,) = pipeline(small_graph, "plain", library, (3, 2)).batches(Plan(torch.arange(9), 9), NullObserver())
    assert len(list(batch.device_tensors())) == 2 * 3 + 2
    assert all(torch.equal(a.scale + 1, b.scale) for a, b in zip(
        batch.blocks, batch.mapped(lambda tensor: tensor + 1).blocks, strict=True
    ))  # fmt: skip

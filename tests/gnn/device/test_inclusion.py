"""Vertex-inclusion probabilities: exact where batches are certain, close to frequencies elsewhere."""

import pytest
import torch

from hone.gnn.device.memory import BatchRoom, Room
from hone.gnn.device.places.inclusion import inclusion_probabilities, likeliest
from hone.gnn.device.sampler import DeviceSampler
from hone.gnn.seeds import Plan

SEEDS, BATCH, FANOUTS = 300, 3, (3, 2)


def star(leaves, isolated, device):
    """Node 0 with its leaves, then nodes without neighbours."""
    degrees = torch.cat([torch.tensor([leaves]), torch.ones(leaves).long(), torch.zeros(isolated).long()])
    indptr = torch.cat([torch.zeros(1).long(), degrees.cumsum(0)])
    indices = torch.cat([torch.arange(1, leaves + 1), torch.zeros(leaves).long()])
    return indptr.to(device), indices.int().to(device)


def test_they_are_exact_where_one_node_is_certain(device):
    graph = star(10, 3, device)
    found = inclusion_probabilities(*graph, torch.tensor([0]), 4, (5,)).cpu()
    assert torch.allclose(found, torch.tensor([1.0] + [0.5] * 10 + [0.0] * 3))
    twice = inclusion_probabilities(*graph, torch.tensor([0]), 4, (5, 2)).cpu()
    assert torch.allclose(twice[1:11], torch.tensor(1 - 0.5 * 0.8)), "a hop draws for all nodes found so far"
    leaf = inclusion_probabilities(*graph, torch.tensor([4]), 1, (1, 1)).cpu()
    assert leaf[[0, 4]].tolist() == [1, 1] and torch.allclose(leaf[[1, 2, 3]], torch.tensor(0.1))
    alone = inclusion_probabilities(*graph, torch.arange(11, 14), 1, (5, 5)).cpu()
    assert torch.allclose(alone, torch.tensor([0.0] * 11 + [1 / 3] * 3))
    assert inclusion_probabilities(*graph, torch.tensor([], dtype=torch.int64), 1, (5, 5)).sum() == 0


@pytest.mark.parametrize("edges", [1, 37, 1 << 25])
def test_parts_and_edges_on_the_host_change_nothing(device_graph, edges):
    arguments = torch.arange(SEEDS), BATCH, FANOUTS
    whole = inclusion_probabilities(device_graph.indptr, device_graph.indices, *arguments)
    parts = inclusion_probabilities(device_graph.indptr, device_graph.indices.cpu(), *arguments, edges_a_part=edges)
    assert torch.allclose(whole, parts, rtol=1e-5)


def frequencies(graph, kernels, fanouts, epochs):
    """How often real batches have each node."""
    room, device = Room.largest(BATCH, fanouts, len(graph.labels)), graph.labels.device
    sampler = DeviceSampler(graph, room, kernels, seed=1, max_seeds=SEEDS)
    place, counts, batches = BatchRoom(room, len(fanouts), device), torch.zeros(600, device=device), 0
    for epoch in range(epochs):
        order = torch.randperm(SEEDS, generator=torch.Generator().manual_seed(epoch))
        plan = Plan(order, BATCH, epoch=epoch)
        sampler.begin(plan)
        for _ in range(len(plan)):
            sampler.make_ready(1)
            sampler.sample(place)
            counts[nodes_of(place)] += 1
        batches += len(plan)
    return counts.cpu() / batches


def nodes_of(place):
    """Of all hops; those of the last one are global ids already."""
    rows, fanout = int(place.sizes[len(place.hops) - 1]), place.room.fanouts[-1]
    slots = place.hops[-1].neighbours[: rows * fanout].view(rows, fanout)
    there = torch.arange(fanout, device=slots.device) < place.hops[-1].degrees[:rows, None]
    return torch.cat([place.nodes[:rows], slots[there]]).unique().long()


def test_they_order_nodes_as_batches_do(device_graph, kernels):
    """Where neighbourhoods overlap, as all do in so small a graph, they are too high, but in the right order."""
    frequency = frequencies(device_graph, kernels, FANOUTS, epochs=3)
    arguments = device_graph.indptr, device_graph.indices, torch.arange(SEEDS), BATCH, FANOUTS
    expected = inclusion_probabilities(*arguments).cpu()
    assert float(torch.corrcoef(torch.stack([frequency, expected]))[0, 1]) > 0.97
    best = likeliest(expected, 100)
    assert float(frequency[best].sum()) > 0.97 * float(frequency.topk(100).values.sum())
    hits, promised = (float(shares[best].sum() / shares.sum()) for shares in (frequency, expected))
    assert promised == pytest.approx(hits, abs=0.05) and hits > 0.3


def test_of_a_single_hop_they_are_how_often_batches_have_a_node(device_graph, kernels):
    frequency = frequencies(device_graph, kernels, (3,), epochs=6)
    expected = inclusion_probabilities(
        device_graph.indptr, device_graph.indices, torch.arange(SEEDS), BATCH, (3,)
    ).cpu()  # fmt: skip
    noise = (expected * (1 - expected) / 600).sqrt()
    there = expected > 0
    assert not frequency[~there].any()
    assert float(((frequency - expected)[there] / noise[there]).square().mean().sqrt()) < 1.2


def test_the_likeliest(device):
    assert set(likeliest(torch.tensor([0.1, 0.9, 0.0, 0.5], device=device), 2).tolist()) == {1, 3}
    assert len(likeliest(torch.rand(4, device=device), 0)) == 0

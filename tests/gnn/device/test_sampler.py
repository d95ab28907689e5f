"""Sampling on the device: the C++ sampler's batches, whatever the room, and what does not fit is said."""

import pytest
import torch

from hone.config.trainings import MAX_DEVICE_FANOUT
from hone.core.errors import ConfigError, MachineError
from hone.gnn.device.memory import BatchRoom, DeviceGraph, Room
from hone.gnn.device.sampler import DeviceSampler
from hone.gnn.sampling import Sampler
from hone.gnn.seeds import Plan, shuffled
from tests.gnn.device.host_batch import as_batch

FANOUTS = (5, 4, 3)
BATCH = 32


def sampled(kernels, graph, plan, *, fanouts=FANOUTS, room=None, seed=7, batches=None, **options):
    """The plan's batches, one after the other in the same room."""
    room = room or Room.largest(plan.batch_size, fanouts, len(graph.labels))
    sampler = DeviceSampler(graph, room, kernels, seed=seed, max_seeds=len(plan.order), world=plan.world, **options)
    place = BatchRoom(room, 2, graph.labels.device)
    sampler.begin(plan)
    for index in range(len(plan) if batches is None else batches):
        sampler.make_ready(1)
        sampler.sample(place)
        yield place, index


def assert_same(found, expected):
    assert found.nodes.tolist() == expected.nodes.tolist()
    assert found.num_seeds == expected.num_seeds
    for mine, theirs in zip(found.blocks, expected.blocks, strict=True):
        assert (mine.num_dst, mine.num_src) == (theirs.num_dst, theirs.num_src)
        assert mine.indptr.tolist() == theirs.indptr.tolist()
        assert mine.indices.tolist() == theirs.indices.tolist()


@pytest.mark.parametrize("fanouts", [(5, 4, 3), (15, 10, 5), (2,), (20, 20), (32, 1)])
def test_batches_are_the_cpp_samplers(kernels, device_graph, small_graph, library, fanouts):
    plan = Plan(shuffled(small_graph.tensor("train"), 3, 1), BATCH, epoch=1)
    theirs = Sampler(small_graph, fanouts, library, seed=7)
    for place, index in sampled(kernels, device_graph, plan, fanouts=fanouts):
        assert_same(as_batch(place, index, 1), theirs.sample(plan.seeds(index), index, 1))
        assert int(place.global_seeds) == plan.global_seeds(index)
    assert index == len(plan) - 1 and plan.global_seeds(index) < BATCH  # the last one is smaller


def test_ranks_share_the_batches(kernels, device_graph, small_graph, library):
    order = small_graph.tensor("train")[:65]
    theirs = Sampler(small_graph, FANOUTS, library, seed=7)
    for rank in range(2):
        plan = Plan(order, 32, epoch=0, rank=rank, world=2)
        for place, index in sampled(kernels, device_graph, plan, rank=rank):
            seeds = plan.seeds(index)
            assert int(place.sizes[0]) == len(seeds)
            assert int(place.global_seeds) == plan.global_seeds(index)
            if len(seeds):
                assert_same(as_batch(place, index, 0), theirs.sample(seeds, index, 0))
    assert len(plan.seeds(1)) == 0  # the second rank's last batch is empty, and was sampled


def test_readers_are_the_inverse_of_neighbours(kernels, device_graph, small_graph):
    plan = Plan(small_graph.tensor("train"), BATCH)
    for place, _ in sampled(kernels, device_graph, plan, batches=2, deterministic=True):
        for number, hop in enumerate(place.hops[:-1]):
            rows, sources = int(place.sizes[number]), int(place.sizes[number + 1])
            fanout, neighbours, degrees = FANOUTS[number], hop.neighbours.tolist(), hop.degrees.tolist()
            expected = {source: [] for source in range(sources)}
            for row in range(rows):
                for k in range(degrees[row]):
                    expected[neighbours[row * fanout + k]].append(row * fanout + k)
            offsets = hop.offsets.tolist()
            assert {s: hop.readers[offsets[s] : offsets[s + 1]].tolist() for s in range(sources)} == expected


def test_what_does_not_fit_is_said_and_the_next_batch_is_right_again(kernels, device_graph, small_graph, library):
    plan = Plan(small_graph.tensor("train"), BATCH)
    full = [int(place.sizes[2]) for place, _ in sampled(kernels, device_graph, plan)]
    assert min(full[:-1]) < max(full)
    room = Room((BATCH, BATCH * 6, max(full) - 1), FANOUTS)
    theirs = Sampler(small_graph, FANOUTS, library, seed=7)
    overflowed = []
    for place, index in sampled(kernels, device_graph, plan, room=room):
        overflowed.append(bool(place.overflow))
        if overflowed[-1]:
            with pytest.raises(ValueError, match="did not fit"):
                as_batch(place, index, 0)
        else:
            assert_same(as_batch(place, index, 0), theirs.sample(plan.seeds(index), index, 0))
    assert overflowed == [size == max(full) for size in full]


def test_the_map_is_cleared_before_its_tags_run_out(kernels, device_graph, small_graph, library):
    plan = Plan(small_graph.tensor("train"), BATCH)
    room = Room.largest(BATCH, FANOUTS, 600)
    sampler = DeviceSampler(device_graph, room, kernels, seed=7, max_seeds=len(plan.order))
    sampler._batches_a_map = 3
    place, theirs = BatchRoom(room, 2, device_graph.labels.device), Sampler(small_graph, FANOUTS, library, seed=7)
    sampler.begin(plan)
    for index in range(8):
        sampler.make_ready(1)
        sampler.sample(place)
        assert_same(as_batch(place, index, 0), theirs.sample(plan.seeds(index), index, 0))


def test_the_config_knows_the_kernels_largest_fan_out(kernels):
    assert kernels.max_fanout == MAX_DEVICE_FANOUT


@pytest.mark.parametrize("fanout", [0, -1, 33])
def test_fanouts_that_the_kernels_have_no_registers_for(kernels, device_graph, fanout):
    with pytest.raises(ConfigError, match="another system"):
        DeviceSampler(device_graph, Room((4,), (fanout,)), kernels, seed=0, max_seeds=4)


def star(leaves):
    """A hub with so many leaves behind it, a node of degree one beside them, and an isolated node."""
    indptr = torch.arange(leaves - 1, 2 * leaves + 3)
    indptr[0], indptr[-1] = 0, 2 * leaves + 1
    indices = torch.zeros(2 * leaves + 1, dtype=torch.int32)  # of leaves, and of the node beside them: the hub
    indices[:leaves] = torch.arange(1, leaves + 1)
    return indptr, indices, leaves + 1


@pytest.mark.parametrize("leaves", [5000, 10_000_000])
def test_a_hub_a_node_of_degree_one_and_an_isolated_node(kernels, device, leaves):
    indptr, indices, single = star(leaves)
    arrays = (indptr, indices, torch.zeros(1, 8, dtype=torch.bfloat16), torch.zeros(leaves + 3).long())
    graph = DeviceGraph(*(array.to(device) for array in arrays))
    plan = Plan(torch.tensor([0, single, single + 1]), 3)
    ((place, _),) = sampled(kernels, graph, plan, fanouts=(4, 3))
    found = as_batch(place, 0, 0)
    assert found.blocks[-1].indptr.tolist() == [0, 4, 5, 5]
    drawn = found.nodes[found.blocks[-1].indices[:4]].tolist()
    assert len(set(drawn)) == 4 and all(1 <= node <= leaves for node in drawn)
    assert found.nodes[found.blocks[-1].indices[4]] == 0


def test_a_launch_that_cuda_refuses_is_an_error(kernels, device_graph, monkeypatch):
    monkeypatch.setattr(kernels, "_last_error", lambda: 98)
    with pytest.raises(MachineError, match="CUDA refuses the kernel begin_batch: error 98"):
        next(sampled(kernels, device_graph, Plan(torch.arange(BATCH), BATCH)))

"""Sizes and graphs at their extremes: what a kernel reads is there, and what it draws and sums up is right."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from hone.core.errors import ConfigError
from hone.gnn.device.loop import DeviceLoop, measured_room
from hone.gnn.device.memory import DeviceGraph, Room
from hone.gnn.device.native import GraphView, address
from hone.gnn.device.passes import sage_model
from hone.gnn.device.sampler import DRAWN, DeviceSampler
from hone.gnn.sampling import Sampler
from hone.gnn.seeds import Plan
from tests.gnn.device.host_batch import as_batch
from tests.gnn.device.test_sage import BATCH, CLASSES, FANOUTS, Made, off
from tests.gnn.device.test_sampler import assert_same, sampled
from tests.gnn.sampling.test_uniform import LEAST, p_values

HUB = 10_000_000


def graph_of(device, degrees, indices, width=16):
    """A graph of these lists, with some features and labels."""
    nodes = len(degrees)
    indptr = torch.cat([torch.zeros(1, dtype=torch.int64), torch.as_tensor(degrees).cumsum(0)])
    features = torch.randn(nodes, width, generator=torch.Generator().manual_seed(3)).bfloat16()
    arrays = indptr, torch.as_tensor(indices).int(), features, torch.arange(nodes) % CLASSES
    return DeviceGraph(*(array.to(device) for array in arrays))


def drawn_by(place, hop=-1):
    """(rows, fanout): what each row of a hop drew, where every row has drawn all that it may."""
    number = hop % len(place.hops)
    rows, fanout = int(place.sizes[number]), place.room.fanouts[number]
    assert place.hops[hop].degrees[:rows].eq(fanout).all()
    return place.hops[hop].neighbours[: rows * fanout].view(rows, fanout).cpu().clone()


# ------------------------------------------------------------------------------------------------------ draws


@pytest.mark.parametrize(("degree", "fanout"), [(2, 1), (6, 5), (30, 5), (33, 32), (100, 20)])
def test_every_neighbour_is_equally_likely(kernels, device, degree, fanout):
    nodes, epochs = 400, 20
    graph = graph_of(device, [degree] * nodes, torch.arange(degree).repeat(nodes))
    plans = (Plan(torch.arange(nodes), nodes, epoch=epoch) for epoch in range(epochs))
    places = (place for plan in plans for place, _ in sampled(kernels, graph, plan, fanouts=(fanout,)))
    drawn = np.stack([drawn_by(place).numpy() for place in places])
    assert (np.diff(np.sort(drawn, axis=2), axis=2) > 0).all(), "without replacement"
    assert min(p_values(drawn, degree)) > LEAST


def test_a_hub_of_ten_million_neighbours_is_drawn_from_uniformly(kernels, device):
    graph = graph_of(device, [HUB], torch.arange(HUB), width=8)
    plan = Plan(torch.zeros(200, dtype=torch.int64), 1)  # in every batch it draws by another key
    drawn = torch.cat([drawn_by(place).flatten() for place, _ in sampled(kernels, graph, plan, fanouts=(32,))])
    assert len(drawn) == 6400 and int(drawn.min()) >= 0 and int(drawn.max()) < HUB
    counts = torch.bincount(drawn // (HUB // 64), minlength=64).double()
    assert chi2.sf(float(((counts - 100) ** 2).sum() / 100), 63) > LEAST
    assert len(drawn.unique()) > 6390, "of ten million, hardly one comes twice"


class Shifted(DeviceGraph):
    """Lists whose places begin where those of a graph of billions of edges are; the places before do not exist."""

    @property
    def view(self):
        return GraphView(address(self.indptr), address(self.indices) - 4 * int(self.indptr[0]))


@pytest.mark.parametrize("first", [2**31 - 50, 2**32 - 50, 3_200_000_000])
def test_lists_behind_the_32_bits_of_an_offset(kernels, device, device_graph, first):
    shifted = Shifted(
        device_graph.indptr + first, *(getattr(device_graph, n) for n in ("indices", "features", "labels"))
    )
    plan = Plan(torch.arange(100), 32)
    pairs = zip(sampled(kernels, device_graph, plan), sampled(kernels, shifted, plan), strict=True)
    found = [(as_batch(one[0], one[1], 0), as_batch(other[0], other[1], 0)) for one, other in pairs]
    assert len(found) == 4
    for one, other in found:
        assert_same(other, one)


# ------------------------------------------------------------------------------------- rooms, and the map's tags


@pytest.fixture
def fences(monkeypatch):
    """What lies behind each array of numbers that is made: (array with its fence, length without); all -5."""
    made, zeros = [], torch.zeros

    def fenced(*size, pin_memory=False, **options):
        if len(size) > 1 or pin_memory or options.get("dtype") not in (torch.int32, torch.int64):
            return zeros(*size, pin_memory=pin_memory, **options)
        whole = zeros(size[0] + 1024, **options)
        whole[size[0] :] = -5
        made.append((whole, size[0]))
        return whole[: size[0]]

    monkeypatch.setattr(torch, "zeros", fenced)
    return made


@pytest.mark.parametrize("nodes", [(32, 60, 300), (32, 150, 170), (32, 33, 34), (32, 32, 32)])
def test_a_batch_that_does_not_fit_has_no_place_outside_its_room(kernels, device_graph, small_graph, nodes, fences):
    """It is sampled and gathered to its end before anybody knows; what a later kernel follows must lead somewhere."""
    plan, room = Plan(small_graph.tensor("train"), 32), Room(nodes, FANOUTS)
    overflowed = []
    for place, _ in sampled(kernels, device_graph, plan, room=room, batches=4):
        overflowed.append(bool(place.overflow))
        sizes = place.sizes.tolist()[:3]
        assert all(size <= most for size, most in zip(sizes, nodes, strict=True))
        assert place.nodes[: sizes[2]].ge(0).all() and place.nodes[: sizes[2]].lt(600).all()
        for number, hop in enumerate(place.hops):
            rows, fanout = sizes[number], FANOUTS[number]
            degrees, slots = hop.degrees[:rows], hop.neighbours[: rows * fanout].view(rows, fanout)
            there = torch.arange(fanout, device=slots.device) < degrees[:, None]
            most = 600 if hop.last else sizes[number + 1]
            assert degrees.le(fanout).all() and slots[there].ge(0).all() and slots[there].lt(most).all()
            if not hop.last:
                offsets, total = hop.offsets[: most + 1], int(degrees.sum())
                assert int(offsets[0]) == 0 and offsets.diff().ge(0).all() and int(offsets[-1]) == total
                readers = hop.readers[:total].sort().values
                assert torch.equal(readers, there.flatten().nonzero().flatten().int())
    assert all(overflowed)
    assert len(fences) > 20 and all(whole[length:].eq(-5).all() for whole, length in fences)


def test_room_for_a_hop_is_room_in_the_next_one():
    """Where the last of a few batches is small, the first hop's sizes may differ by more than the second's."""
    sizes = [(32, 560, 560), (32, 560, 560), (3, 300, 559)]

    class Measured:
        room, graph = Room.largest(32, (20, 20, 20), 5000), SimpleNamespace(features=torch.zeros(1))

        def begin(self, plan):
            self.batches = iter(sizes)

        def make_ready(self, batches):
            pass

        def sample(self, place):
            place.sizes[:3] = torch.tensor(next(self.batches))

    assert measured_room(Measured(), Plan(torch.arange(67), 32), 3, multiple=1).nodes == (32, 672, 672)
    with pytest.raises(ValueError, match="room in the next"):
        Room((4, 8, 7), (2, 2, 2))


def test_the_last_tags_before_the_map_is_cleared_are_as_good_as_the_first(kernels, device_graph, small_graph, library):
    plan, room = Plan(small_graph.tensor("train"), 32), Room.largest(32, FANOUTS, 600)
    sampler = DeviceSampler(device_graph, room, kernels, seed=7, max_seeds=len(plan.order))
    theirs, place = Sampler(small_graph, FANOUTS, library, seed=7), next(sampled(kernels, device_graph, plan))[0]
    sampler.begin(plan)
    sampler._drawn = sampler._batches_a_map - 2
    sampler._progress[DRAWN] = sampler._drawn
    for index in range(4):
        sampler.make_ready(1)
        sampler.sample(place)
        assert_same(as_batch(place, index, 0), theirs.sample(plan.seeds(index), index, 0))
    assert sampler._drawn == int(sampler._progress[DRAWN]) == 2


@pytest.mark.parametrize(("rows", "batches"), [(1 << 29, 3), (1 << 31, 1)])
def test_batches_too_large_for_the_map_are_refused(kernels, device_graph, rows, batches):
    sampler = DeviceSampler(device_graph, Room((rows, rows), (1, 1)), kernels, seed=0, max_seeds=4)
    sampler.make_ready(batches - 1)
    with pytest.raises(ConfigError, match=f"no room for {batches} batches"):
        sampler.make_ready(batches)


# ------------------------------------------------------------------------------------- gradients at the extremes


def test_a_graph_without_edges(kernels, device):
    made = Made(kernels, graph_of(device, [0] * 50, []))
    assert made.place.sizes.tolist()[:3] == [BATCH] * 3
    for found, expected in zip(made.gradients(), made.expected()[1], strict=True):
        assert off(found, expected) < 0.01
        assert not found[: len(found) // 2].any(), "there is no neighbour to learn from"


def test_a_graph_of_nodes_of_degree_one(kernels, device):
    """A ring in which every node knows the next one alone."""
    nodes = 60
    made = Made(kernels, graph_of(device, [1] * nodes, (torch.arange(nodes) + 1) % nodes))
    batch = as_batch(made.place, 0, 0)
    assert batch.nodes.tolist() == list(range(BATCH + 3))
    assert all(block.indices.tolist() == list(range(1, block.num_dst + 1)) for block in batch.blocks)
    for found, expected in zip(made.gradients(), made.expected()[1], strict=True):
        assert off(found, expected) < 0.01


def test_one_source_that_every_slot_reads(kernels, device):
    """All lists name the hub alone, several times over: its readers are all slots of a hop, of many blocks."""
    nodes, seeds = 900, 700
    graph = graph_of(device, [4] * nodes, [nodes - 1] * (4 * nodes))
    for deterministic in (False, True):
        plan = Plan(torch.arange(seeds), seeds)
        ((place, _),) = sampled(kernels, graph, plan, fanouts=(3, 2, 1), deterministic=deterministic)
        assert place.sizes.tolist()[:3] == [seeds, seeds + 1, seeds + 1]
        for hop, slots in zip(place.hops, (3 * seeds, 2 * (seeds + 1)), strict=False):
            assert hop.neighbours[:slots].eq(seeds).all()
            assert hop.offsets[: seeds + 2].tolist() == [0] * (seeds + 1) + [slots]
            readers = hop.readers[:slots].tolist()
            assert sorted(readers) == list(range(slots)) and (readers == sorted(readers) or not deterministic)
    made = Made(kernels, graph)
    for found, expected in zip(made.gradients(), made.expected()[1], strict=True):
        assert off(found, expected) < 0.01


# ------------------------------------------------------------------------------------------ batches without seeds


def test_an_epoch_whose_last_batch_is_empty_here(kernels, device_graph):
    """Another rank has the last batch's one seed; this one goes through it without moving on its own."""
    whole, short = (Made(kernels, device_graph, seeds=0) for _ in range(2))
    order = torch.arange(2 * BATCH + 1)
    plan = Plan(order, BATCH, rank=1, world=2)
    assert len(plan) == 2 and len(plan.seeds(0)) == BATCH and len(plan.seeds(1)) == 0
    losses = []
    for made, used in ((whole, plan), (short, Plan(order[: 2 * BATCH], BATCH, rank=1, world=2))):
        sampler = DeviceSampler(
            device_graph, made.room, kernels, seed=5, max_seeds=len(order), world=2, rank=1, deterministic=True
        )  # fmt: skip
        model = sage_model(made.weights, device_graph, 0.1, kernels)
        loop = DeviceLoop(device_graph, model, sampler, group=1)
        losses.append(loop.run(used))
        assert loop.overflows == 0 and len(used) == int(made.weights._steps)
    assert losses[0] == losses[1] > 0
    assert whole.weights.parameters.isfinite().all()

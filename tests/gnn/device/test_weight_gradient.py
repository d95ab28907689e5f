"""The gradient of the first layer's weights without one of its states, on GPUs that have the kernel."""

import pytest
import torch

from hone.gnn.device import roofline, training
from hone.gnn.device.kernel_work import HopCounts
from hone.gnn.device.memory import BatchRoom
from hone.gnn.device.native import address
from hone.gnn.device.operators import Operators
from hone.gnn.device.passes import sage_model
from hone.gnn.device.sampler import DeviceSampler
from hone.gnn.device.weight_gradient import BLOCK, WeightGradient, is_faster
from hone.gnn.distributed import Ranks
from hone.gnn.training_stage import model_for
from tests.gnn.device.test_sage import Made, off
from tests.gnn.device.test_states import Made as MadeHop
from tests.gnn.device.test_states import drawn, with_hubs
from tests.gnn.device.test_training import told


@pytest.fixture
def hopper(kernels, device):
    """Kernels on a GPU that has this one."""
    if not kernels.weight_parts(256, 256):
        pytest.skip("no such kernel here")
    return kernels


class MadeTerms(MadeHop):
    """A hop, and an input of the layer below: what is not there holds NaN."""

    def found(self, kernels, inputs, *, in_turn=False, times=1):
        self.mean(kernels, noting=True)
        self.input = self._random(self.sources, inputs, self.room[1], torch.Generator().manual_seed(3))
        out = torch.full((inputs, self.width), 77.0, device=self.device)
        made = WeightGradient(kernels, inputs, self.width, self.device, in_turn=in_turn)
        results = []
        for _ in range(times):
            kernels.call(
                "gradient_of_weights", self._hop, self.input.to(self.device), inputs, self.given.to(self.device),
                self.notes, self.width, self._dropout, made._next, made._partials, out,
            )  # fmt: skip
            results.append(out.cpu())
        return results

    def expected(self):
        return self.input[: self.sources].double().T @ self.expected_gradient()


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize(("inputs", "width"), [(8, 8), (40, 200), (256, 256), (208, 136), (504, 264)])
@pytest.mark.parametrize(("rows", "fanout", "sources"), [(37, 6, 90), (700, 10, 3000), (1, 1, 2), (300, 20, 301)])
def test_it_is_the_product_with_the_gradient_of_states(hopper, device, rows, fanout, sources, inputs, width, in_turn):
    made = MadeTerms(*drawn(rows, fanout, sources), sources, width, (rows + 4, sources + 7), device)
    found = made.found(hopper, inputs, in_turn=in_turn, times=3)
    assert all(off(each, made.expected()) < 0.004 for each in found)


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_hubs_and_lists_of_any_length(hopper, device, share):
    made = MadeTerms(*with_hubs(500, 16, 900, [5, 6, 7]), 900, 256, (512, 1000), device, share=share)
    assert off(made.found(hopper, 256)[0], made.expected()) < 0.004


def test_in_turn_it_has_the_same_bits_every_time(hopper, device):
    made = MadeTerms(*drawn(2000, 10, 9000), 9000, 256, (2100, 9100), device)
    first, *others = made.found(hopper, 256, in_turn=True, times=5)
    assert all(torch.equal(first, other) for other in others)


def test_a_batch_without_rows_has_no_gradient(hopper, device):
    made = MadeTerms(*drawn(4, 3, 9), 9, 64, (8, 9), device)
    made._on_device[2].zero_()  # rows and sources
    assert not made.found(hopper, 64)[0].any()


@pytest.fixture(params=["kernel", "terms"])
def summing(request, monkeypatch, kernels):
    """By the kernel where there is one, and by a second way to say what it does."""
    if request.param == "terms":
        monkeypatch.setattr(WeightGradient, "__call__", by_terms)
    elif not kernels.weight_parts(256, 256):
        pytest.skip("no such kernel here")


@pytest.mark.usefixtures("summing")
@pytest.mark.parametrize("dropout", [0.0, 0.1, 0.5])
def test_a_step_has_the_same_gradients_without_lists_of_readers(kernels, device_graph, device, dropout):
    made = Made(kernels, device_graph, dropout=dropout)
    wanted = [each.clone() for each in made.gradients()]
    of_weights = WeightGradient(kernels, *made.weights.gradients[0].shape, device, in_turn=True)
    model = sage_model(made.weights, device_graph, dropout, kernels, weight_gradient=of_weights)
    assert model.unread == {1}
    place = sampled(made, kernels, device_graph, model.unread)
    part = model.passes(made.room)
    part.gather(place)
    part.forward(place, training=True)
    made.weights.gradients[0].fill_(77.0)
    part.backward(place)
    for found, expected in zip(made.weights.gradients, wanted, strict=True):
        assert off(found[:, : expected.shape[1]], expected) < 0.01


def sampled(made, kernels, graph, unread):
    """The batch of `made` in a room of its own."""
    sampler = DeviceSampler(graph, made.room, kernels, seed=5, max_seeds=600, deterministic=True, unread=unread)
    place = BatchRoom(made.room, 2, graph.labels.device, graph.features.shape[1])
    sampler.begin(made.plan)
    sampler.make_ready(1)
    sampler.sample(place)
    return place


def test_readers_are_listed_but_where_nobody_asks(kernels, device_graph):
    made = Made(kernels, device_graph)
    place = sampled(made, kernels, device_graph, frozenset({1}))
    for number, (hop, other) in enumerate(zip(made.place.hops, place.hops, strict=True)):
        assert torch.equal(hop.neighbours, other.neighbours) and torch.equal(hop.degrees, other.degrees)
        listed = number == 0  # the last hop lists none
        assert torch.equal(hop.readers, other.readers) == (listed or hop.last)
        assert bool(other.readers.any()) == bool(other.offsets.any()) == listed
    assert torch.equal(made.place.sizes, place.sizes) and torch.equal(made.place.nodes, place.nodes)


def test_a_sampler_in_another_room_lists_the_same_hops_unless_told(kernels, device_graph):
    made = Made(kernels, device_graph)
    sampler = DeviceSampler(device_graph, made.room, kernels, seed=5, max_seeds=600, unread=frozenset({1}))
    assert sampler.with_room(made.room)._unread == {1}
    assert sampler.with_room(made.room, frozenset())._unread == frozenset()


def hop(rows, sources):
    return HopCounts(rows=rows, edges=rows * 9.3, index_bytes=0, distinct=0, sources=sources)


def test_it_is_faster_where_few_slots_read_the_same_source():
    """At papers100M's size; not in a graph of 60,000 nodes, and not where a block has columns to spare."""
    large = hop(8_812, 84_100)
    assert is_faster(large, 10, 256, 256) and is_faster(large, 10, 256, 128)
    assert not is_faster(hop(9_800, 40_000), 10, 64, 256)
    assert not is_faster(large, 10, 264, 256) and not is_faster(large, 10, 64, 256)
    assert not is_faster(hop(14_500, 60_000), 10, 256, 256)
    assert is_faster(hop(8_812, 70_000), 10, 256, 256) and not is_faster(hop(8_812, 60_000), 10, 256, 256)


class Told:
    """Kernels that say how many parts they have, and note their calls."""

    def __init__(self, parts):
        self.parts, self.calls = parts, []

    def weight_parts(self, inputs, width):
        return self.parts

    def call(self, *arguments):
        self.calls.append(arguments)


def test_a_cpu_and_another_gpu_have_no_such_kernel():
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert WeightGradient.has(Told(33), 256, 256, gpu)
    assert not WeightGradient.has(Told(33), 256, 256, cpu)
    assert not WeightGradient.has(Told(0), 256, 256, gpu)


def by_terms(self, batch, hop, share, input, out_gradient, notes, out):
    """`WeightGradient`, written down a second time: a sum over what rows read."""
    read, rows, width = batch.hops[hop], int(batch.sizes[hop]), out.shape[1]
    order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7], device=notes.device)  # bits of a byte's elements
    passes = (notes[:, :, None] >> order & 1).flatten(1)
    degrees, fanout = read.degrees[:rows], read.view.fanout
    there = torch.arange(fanout, device=notes.device) < degrees[:, None]
    itself = torch.arange(rows, device=notes.device)
    source = torch.cat([read.neighbours[: rows * fanout].view(rows, fanout)[there], itself]).long()
    of_mean = out_gradient[:rows, :width].float() / degrees.clamp(min=1)[:, None]
    terms = torch.cat([of_mean.repeat_interleave(degrees, 0), out_gradient[:rows, width:].float()])
    out.copy_(input[source].float().T @ (terms * passes[source] / (1 - share)))


@pytest.mark.parametrize("in_turn", [False, True])
def test_the_kernel_is_given_its_hop_and_the_first_states_dropout(kernels, device_graph, in_turn):
    place, told = Made(kernels, device_graph, dropout=0.1).place, Told(3)
    input, gradient, notes, out = (torch.zeros(1, columns) for columns in (16, 48, 3, 24))
    made = WeightGradient(told, 16, 24, torch.device("cpu"), in_turn=in_turn)
    made(place, 1, 0.25, input, gradient, notes, out)
    ((name, hop, *rest, dropout, next_, partials, found),) = told.calls
    assert (name, rest) == ("gradient_of_weights", [input, 16, gradient, notes, 24]) and hop is place.hops[1].view
    assert found is out and partials.shape == (3, 16, 24)
    assert (dropout.key, dropout.threshold) == (address(place.keys), 16384) and dropout.scale == pytest.approx(4 / 3)
    assert (next_ is None) if in_turn else (not next_.any() and len(next_) >= 1)


def test_there_is_a_counter_for_each_block_of_the_weights():
    for inputs, width in ((8, 8), (256, 128), (504, 264), (16, 2048)):
        made = WeightGradient(Told(1), inputs, width, torch.device("cpu"), in_turn=False)
        assert len(made._next) >= -(-inputs // BLOCK[0]) * -(-width // BLOCK[1])


def test_operators_that_note_nothing_are_refused(kernels, device_graph, device):
    made, silent = Made(kernels, device_graph), Operators(kernels)
    silent.noting = False
    of_weights = WeightGradient(Told(1), *made.weights.gradients[0].shape, device, in_turn=True)
    model = sage_model(made.weights, device_graph, 0.1, kernels, silent, of_weights)
    with pytest.raises(ValueError, match="reads notes"):
        model.passes(made.room)


@pytest.fixture
def loop_of(small_graph, kernels, device, monkeypatch):
    """A function: what is so -> the loop of a training, with the sum over terms in place of the kernel."""

    def made(*, there=True, faster=True, noting=True, **options):
        asked = []

        def is_faster(hop, fanout, inputs, width):
            asked.append((round(hop.rows), fanout, inputs, width))
            return faster

        monkeypatch.setattr(WeightGradient, "has", staticmethod(lambda *of: there))
        monkeypatch.setattr(WeightGradient, "__call__", by_terms)
        monkeypatch.setattr(training, "is_faster", is_faster)
        job = told(device, validation=None, inference={"splits": []}, **options)
        operators = Operators(kernels)
        operators.noting = noting
        _, loop, counts = training.device_loop(
            job, small_graph, model_for(job, small_graph), training.training_graph(job, small_graph, device, Ranks()),
            operators, kernels, Ranks(),
        )  # fmt: skip
        layer = job.layers - 2
        widths = loop.weights.gradients[0].shape if job.model == "sage" else ()
        assert asked in ([], [(round(counts.hops[layer].rows), job.hyper.fanouts[layer], *widths)])
        assert loop._sampler._unread == loop.unread
        assert loop._model.operators is (operators if job.model == "sage" else None)
        if loop.unread:
            assert loop._pass._operators is operators
            assert (loop._pass._weight_gradient._next is None) == job.deterministic
        return loop, training.first_plan(job, small_graph, Ranks())

    return made


@pytest.mark.parametrize("options", [{"there": False}, {"faster": False}, {"noting": False}, {"model": "gin"}])
def test_a_loop_lists_all_readers_unless_the_kernel_is_faster(loop_of, options):
    assert loop_of(**options)[0].unread == frozenset()


@pytest.mark.parametrize("deterministic", [False, True])
def test_blocks_take_turns_in_a_deterministic_training(loop_of, deterministic):
    assert loop_of(deterministic=deterministic)[0].unread == {1}


def test_the_roofline_is_told_which_lists_there_are(loop_of, monkeypatch):
    loop, plan = loop_of()
    asked = {}
    monkeypatch.setattr(roofline, "batch_work", lambda *_, **options: asked.update(options) or [])
    monkeypatch.setattr(roofline, "watched", lambda *_: [])
    monkeypatch.setattr(roofline, "attributed", lambda *_: [])
    assert roofline.profiled(loop, plan, 1) == ([], [])
    assert asked["unread"] == {1} and asked["noting"]


@pytest.mark.parametrize("overflow", [False, True])
def test_a_loop_without_readers_learns_the_same(loop_of, overflow):
    losses = {}
    for there in (False, True):
        loop, plan = loop_of(there=there, deterministic=True)
        assert loop.unread == (frozenset({1}) if there else frozenset())
        if overflow:  # as if no batch fitted: each goes through the room for the largest
            monkey = pytest.MonkeyPatch()
            monkey.setattr("hone.gnn.device.loop.bool", lambda value: True, raising=False)
        losses[there] = [loop.run(plan), loop.run(plan)]
        if overflow:
            monkey.undo()
            assert loop.overflows == 2 * len(plan)
        loop.close()
    assert losses[True] == pytest.approx(losses[False], rel=2e-3)
    assert losses[True][1] < losses[True][0]

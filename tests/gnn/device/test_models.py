"""GAT, GIN and SAGE-RI on the device: the models of the other systems, on batches in rooms."""

import itertools
import statistics
from types import SimpleNamespace

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hone.config.models import FAMILIES, HyperParameters
from hone.gnn.device import padded
from hone.gnn.device.autograd_pass import AutogradPass, ModelWeights
from hone.gnn.device.kernel_work import BatchCounts
from hone.gnn.device.loop import DeviceLoop, measured_room
from hone.gnn.device.memory import BatchRoom, DeviceGraph, Room
from hone.gnn.device.padded import HashDropout, PaddedBlock
from hone.gnn.device.passes import DeviceModel
from hone.gnn.device.places.budget import room_bytes
from hone.gnn.device.sampler import DeviceSampler
from hone.gnn.device.training import DeviceInference
from hone.gnn.distributed import Ranks
from hone.gnn.inference_stage import infer
from hone.gnn.layers import BatchNorm, activated, dropout
from hone.gnn.learner import autocast, model_input
from hone.gnn.models import build_model
from hone.gnn.scaled import scaled
from hone.gnn.seeds import Plan, shuffled
from hone.gnn.training_stage import train
from hone.records import InferenceRun, TrainingRun
from tests.gnn.blocks import interrupted_after_two_epochs, job
from tests.gnn.device.host_batch import as_batch

MODELS = [name for name in FAMILIES if name != "sage"]
FANOUTS, BATCH, HIDDEN, CLASSES = (4, 3, 2), 16, 16, 4


def built(name, inputs=16, dropout=0.0):
    return build_model(name, inputs=inputs, hidden=HIDDEN, outputs=CLASSES, layers=3, dropout=dropout, seed=1)


class Made:
    """A model on the device, and one sampled batch."""

    def __init__(
        self, kernels, graph, name, *, seeds=BATCH, room=None, dropout=0.0, precision="float32", scaled_sums=False,
        inputs=None, plan=None,
    ):  # fmt: skip
        self.graph, self.name, self.precision, self.scaled_sums = graph, name, precision, scaled_sums
        self.inputs = inputs or graph.features.shape[1]
        hyper = HyperParameters(hidden=HIDDEN, fanouts=FANOUTS, batch_size=BATCH, lr=0.01, dropout=dropout)
        self.weights = ModelWeights(built(name, self.inputs, dropout), graph.labels.device, hyper, kernels)
        self.part = AutogradPass(
            self.weights, graph, kernels, Ranks(), inputs=self.inputs, precision=precision, scaled_sums=scaled_sums
        )
        self.room = room or Room.largest(BATCH, FANOUTS, len(graph.labels), numbered=True)
        plan = plan or Plan(torch.arange(seeds), BATCH)
        self.sampler = DeviceSampler(
            graph, self.room, kernels, seed=5, max_seeds=600, world=plan.world, rank=plan.rank, deterministic=True
        )
        self.place = BatchRoom(self.room, 3, graph.labels.device, graph.features.shape[1])
        for hop in self.place.hops:
            hop.neighbours.fill_(1 << 30)  # nobody may look where no neighbour has been drawn
        self.sampler.begin(plan)
        self.sampler.make_ready(1)
        self.sampler.sample(self.place)

    def step(self):
        """The loss, and the gradient of all parameters in one vector."""
        self.part.gather(self.place)
        self.part.forward(self.place, training=True)
        self.part.backward(self.place)
        return float(self.part.total), self.weights.gradient.cpu()

    def ordinary(self, precision=None):
        """The same of another such model, as the other systems train it, and the model."""
        precision = precision or self.precision
        batch = as_batch(self.place, 0, 0)
        batch = scaled(batch, self.graph.indptr.cpu()) if self.scaled_sums else batch
        features = self.graph.features.cpu()[batch.nodes.long(), : self.inputs].bfloat16()
        model = built(self.name, self.inputs).train()
        with autocast(torch.device("cpu"), precision):
            scores = model(model_input(features, precision), batch.blocks, None)
        labels = self.graph.labels.cpu()[batch.nodes[: batch.num_seeds].long()]
        loss = F.nll_loss(scores[: batch.num_seeds], labels, reduction="sum")
        (loss / int(self.place.global_seeds)).backward()
        return float(loss.detach()), torch.cat([leaf.grad.flatten() for leaf in model.parameters()]), model


def off(found, expected):
    """Relative, by norm."""
    return float(((found.double() - expected.double()).norm() / expected.double().norm()).detach())


def assert_ordinary(made):
    loss, gradient = made.step()
    wanted, expected, model = made.ordinary()
    assert loss == pytest.approx(wanted, rel=1e-4)
    assert off(gradient, expected) < 1e-3
    found = made.weights.store().state_dict()
    for name, value in model.state_dict().items():
        if "running" in name or "num_batches" in name:
            assert torch.allclose(found[name].cpu().double(), value.double(), rtol=1e-3, atol=1e-5), name


@pytest.mark.parametrize(("name", "scaled_sums"), [*((name, False) for name in MODELS), ("gin", True)])
def test_a_step_is_that_of_the_other_systems(kernels, device_graph, name, scaled_sums):
    assert_ordinary(Made(kernels, device_graph, name, scaled_sums=scaled_sums))


@pytest.mark.parametrize("name", MODELS)
def test_in_bfloat16_it_is_as_far_from_float32_as_the_other_systems(kernels, device_graph, name):
    errors = []  # of many batches: where rounding turns one ReLU round, as in about half, a gradient is off by a tenth
    for first in range(0, 24 * BATCH, BATCH):
        plan = Plan(torch.arange(first, first + BATCH), BATCH)
        made = Made(kernels, device_graph, name, precision="bfloat16", plan=plan)
        (loss, gradient), (wanted, theirs, _), (_, exact, _) = made.step(), made.ordinary(), made.ordinary("float32")
        assert loss == pytest.approx(wanted, rel=0.01)
        errors.append((off(gradient, exact), off(theirs, exact)))
    assert statistics.median(mine / theirs for mine, theirs in errors) < 1.3, "batch by batch"
    ours, others = (statistics.quantiles(error, n=4)[0] for error in zip(*errors, strict=True))
    assert ours < 2 * others < 0.3


def hub_and_isolated(device, width=16):
    """A node that all others but one have as their neighbour; the one has none."""
    nodes, isolated = 60, 1
    leaves = torch.tensor([node for node in range(1, nodes) if node != isolated])
    degrees = torch.ones(nodes, dtype=torch.int64)
    degrees[0], degrees[isolated] = len(leaves), 0
    indices = torch.cat([leaves, torch.zeros(len(leaves), dtype=torch.int64)]).int()
    features = torch.randn(nodes, width, generator=torch.Generator().manual_seed(3)).bfloat16()
    arrays = torch.cat([torch.zeros(1).long(), degrees.cumsum(0)]), indices, features, torch.arange(nodes) % CLASSES
    return DeviceGraph(*(array.to(device) for array in arrays))


@pytest.mark.parametrize("name", MODELS)
def test_a_hub_a_node_without_neighbours_and_features_that_were_filled_up(kernels, device, name):
    graph = hub_and_isolated(device)
    assert_ordinary(Made(kernels, graph, name, seeds=9, inputs=13))


def hub_with_loops(device):
    """The same, but every second node that has neighbours is one of its own, too."""
    graph = hub_and_isolated(torch.device("cpu"))
    rows = [graph.indices[first:last].tolist() for first, last in itertools.pairwise(graph.indptr.tolist())]
    rows = [[*row, node] if row and node % 2 == 0 else row for node, row in enumerate(rows)]
    indptr = torch.tensor([0, *itertools.accumulate(map(len, rows))])
    arrays = indptr, torch.tensor([*itertools.chain(*rows)]).int(), graph.features, graph.labels
    return DeviceGraph(*(array.to(device) for array in arrays))


def with_gradients(conv, x, block, ahead):
    """The rows of the result that `ahead` has, and the gradients of x and all parameters."""
    x = x.clone().requires_grad_()
    result = conv(x, block)[: len(ahead)]
    return [result.detach(), *torch.autograd.grad(result, [x, *conv.parameters()], ahead)]


@pytest.mark.parametrize("graph_of", [hub_and_isolated, hub_with_loops])
def test_attention_in_a_room_is_that_of_the_batch(kernels, device, graph_of):
    """Of each layer, with the gradient of what comes in, which the first layer's step does not ask for."""
    made = Made(kernels, graph_of(device), "gat", seeds=9)
    conv = built("gat").convs[0]
    generator, loops = torch.Generator().manual_seed(0), 0
    for number, theirs in enumerate(reversed(as_batch(made.place, 0, 0).blocks)):
        block = PaddedBlock(made.place, number, kernels)
        x = torch.randn(block.num_src, 16, generator=generator)
        ahead = torch.randn(theirs.num_dst, HIDDEN, generator=generator)
        expected = with_gradients(conv.cpu(), x[: theirs.num_src], theirs, ahead)
        found = [value.cpu() for value in with_gradients(conv.to(device), x.to(device), block, ahead.to(device))]
        assert not found[1][theirs.num_src :].any()
        found[1] = found[1][: theirs.num_src]
        for mine, value in zip(found, expected, strict=True):
            assert torch.allclose(mine, value, rtol=1e-4, atol=1e-5)
        loops += int(
            (theirs.indices == torch.repeat_interleave(torch.arange(theirs.num_dst), theirs.indptr.diff())).sum()
        )
    assert bool(loops) == (graph_of is hub_with_loops)


@pytest.mark.parametrize("name", MODELS)
def test_the_size_of_the_room_changes_nothing(kernels, device_graph, name):
    tight = Made(kernels, device_graph, name, seeds=9, dropout=0.5)
    sizes = [int(size) for size in tight.place.sizes]
    exact = Made(kernels, device_graph, name, seeds=9, dropout=0.5, room=Room((BATCH, *sizes[1:]), FANOUTS))
    assert not exact.place.overflow
    (loss, gradient), (other, its) = tight.step(), exact.step()
    assert loss == pytest.approx(other, rel=1e-5)
    assert off(gradient, its) < 1e-3


def test_a_measured_room_of_few_seeds_is_as_large_as_a_batch(kernels, device_graph):
    plan = Plan(torch.arange(300, 303), BATCH)
    ample = Made(kernels, device_graph, "gin", plan=plan)
    room = measured_room(ample.sampler, plan, 3, multiple=1)
    assert room.nodes[0] == BATCH
    assert_ordinary(Made(kernels, device_graph, "gin", plan=plan, room=room))


@pytest.mark.parametrize("name", MODELS)
def test_ranks_without_seeds_and_batches_of_one(kernels, device_graph, name):
    empty = Made(kernels, device_graph, name, plan=Plan(torch.arange(1), BATCH, rank=1, world=2))
    before = empty.weights.statistics.clone()
    loss, gradient = empty.step()
    assert (int(empty.place.sizes[0]), int(empty.place.global_seeds)) == (0, 1)
    assert loss == 0.0 and not gradient.any()
    assert torch.equal(empty.weights.statistics, before)
    assert_ordinary(Made(kernels, device_graph, name, seeds=1))


WAITING = ("local_scalar_dense", "nonzero", "masked_select", "repeat_interleave", "unique", "bincount", "lift_fresh")
"""Operators for which PyTorch asks a GPU for sizes or values, or brings some from the host."""
DRAWING = ("bernoulli", "rand", "dropout", "normal", "uniform")


class Watched(TorchDispatchMode):
    """Notes the operators that run inside."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        masks = "index" in function.name() and any(x.dtype == torch.bool for x in args[1] if x is not None)
        self.found.append("aten::nonzero" if masks else function.name())
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", MODELS)
def test_nothing_in_a_step_waits_for_the_host_or_draws_from_a_generator(kernels, device_graph, name):
    """A step that does cannot be captured."""
    made = Made(kernels, device_graph, name, dropout=0.2, precision="bfloat16", scaled_sums=name == "gin")
    with Watched() as watched:
        made.part.gather(made.place)
        made.part.forward(made.place, training=True)
        made.part.backward(made.place)
        made.weights.update()
    assert {"aten::cat.out", "aten::nll_loss_backward"} <= set(watched.found)  # backward was seen
    names = {found.removeprefix("aten::").lstrip("_") for found in watched.found}
    assert not [found for found in names if found.startswith(WAITING + DRAWING)]


class Held(TorchDispatchMode):
    """Counts the bytes of what is made inside, at most at a time."""

    def __init__(self):
        super().__init__()
        self.most, self._there = 0, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        before = {x.untyped_storage()._cdata for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)}
        result = function(*args, **(kwargs or {}))
        self._there = [(reference, nbytes) for reference, nbytes in self._there if not reference.expired()]
        for x in tree_leaves(result):
            if isinstance(x, torch.Tensor) and (storage := x.untyped_storage())._cdata not in before:
                before.add(storage._cdata)
                self._there.append((StorageWeakRef(storage), storage.nbytes()))
        self.most = max(self.most, sum(nbytes for _, nbytes in self._there))
        return result


@pytest.mark.parametrize(("width", "hidden", "least"), [(32, 64, 1 / 3), (64, 16, 1 / 10)])
@pytest.mark.parametrize("name", MODELS)
def test_a_step_holds_no_more_than_memory_is_kept_for(
    kernels, device, small_graph, name, width, hidden, least, monkeypatch
):
    """In float32, which needs most, of widths as they are published, twice as many hidden numbers as features."""
    nodes, degree, generator = 3000, 4, torch.Generator().manual_seed(0)
    monkeypatch.setattr(f"{__name__}.HIDDEN", hidden)
    indices = torch.randint(0, nodes, (nodes * degree,), generator=generator).int()
    features = torch.randn(nodes, width, generator=generator).bfloat16()
    arrays = torch.arange(0, len(indices) + 1, degree), indices, features, torch.arange(nodes) % CLASSES
    made = Made(kernels, DeviceGraph(*(array.to(device) for array in arrays)), name, dropout=0.5)
    info = small_graph.info.model_copy(update={"num_nodes": nodes, "feature_dim": width})
    with Held() as held:
        made.step()
    kept = room_bytes(name, HIDDEN, info, BATCH, FANOUTS, batches=0)
    assert least * kept < held.most < kept


# ------------------------------------------------------------------------------------------------------- dropout


@pytest.mark.parametrize("shape", [(300, 64), (40, 13)])
def test_dropout_drops_its_share_each_time_another_and_backward_the_same(kernels, device, shape):
    keys = torch.tensor([1234567890123, 5], device=device)
    drop = HashDropout(keys[:1], kernels)
    x = torch.ones(shape, device=device, requires_grad=True)
    one, other = drop(x, 0.25), drop(x, 0.25)
    assert one.detach().cpu().unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert float(one.detach().mean()) == pytest.approx(1.0, abs=0.1)
    assert float(((one > 0) == (other > 0)).float().mean()) == pytest.approx(0.75**2 + 0.25**2, abs=0.1)
    assert not torch.equal(HashDropout(keys[1:], kernels)(x, 0.25), one)
    assert torch.equal(HashDropout(keys[:1], kernels)(x, 0.25), one)
    (found,) = torch.autograd.grad(one.sum(), x)
    assert torch.equal(found, one.detach())


@pytest.mark.parametrize(("width", "precision"), [(64, torch.float32), (13, torch.float32), (64, torch.bfloat16)])
def test_a_sum_behind_dropout_is_that_of_the_matrix_behind_dropout(kernels, device_graph, width, precision):
    made = Made(kernels, device_graph, "gat", seeds=9)
    block = PaddedBlock(made.place, 1, kernels)
    keys = torch.tensor([77], device=device_graph.labels.device)
    x = torch.randn(block.num_src, width, generator=torch.Generator().manual_seed(1)).to(keys.device, precision)
    x.requires_grad_()
    draw = torch.Generator().manual_seed(2)
    of_sum, of_rows = (torch.randn(block.num_dst, width, generator=draw).to(x) for _ in range(2))
    of_sum[block.count :], of_rows[block.count :] = 0, 0
    together = block.sum_of_dropped(x, 0.25, HashDropout(keys, kernels))
    apart = block.neighbour_sum(HashDropout(keys, kernels)(x, 0.25), None), x[: block.num_dst]
    there = int(block.count)
    exact = 1e-6 if precision == torch.float32 else 0.01
    assert off(together[0][:there], apart[0][:there]) < exact
    assert torch.equal(together[1], apart[1])
    mine, theirs = (torch.autograd.grad(both, x, (of_sum, of_rows))[0] for both in (together, apart))
    sources = int(made.place.sizes[2])
    assert off(mine[:sources], theirs[:sources]) < exact
    assert off(together[0], block.neighbour_sum(x, None)) > 0.1, "something was dropped"


@pytest.mark.parametrize("share", [0.0, 0.25])
@pytest.mark.parametrize(("width", "precision"), [(64, torch.float32), (13, torch.float32), (64, torch.bfloat16)])
def test_what_stands_behind_a_normalisation_is_the_same_in_one_pass(kernels, device_graph, width, precision, share):
    block = PaddedBlock(Made(kernels, device_graph, "gat", seeds=9).place, 1, kernels)
    keys = torch.tensor([77], device=device_graph.labels.device)
    draw = torch.Generator().manual_seed(1)
    x, skip, upstream = (torch.randn(block.num_dst, width, generator=draw).to(keys.device, precision) for _ in range(3))
    upstream[block.count :] = 0
    norms = [BatchNorm(width).to(keys.device) for _ in range(2)]
    found = []
    for together, norm in zip((True, False), norms, strict=True):
        norm.padding = block
        with torch.no_grad():
            norm.weight.copy_(torch.linspace(0.5, 2, width)), norm.bias.copy_(torch.linspace(-1, 1, width))
        leaves = [tensor.clone().requires_grad_() for tensor in (x, skip)] + [norm.weight, norm.bias]
        drop = HashDropout(keys, kernels)
        if together:
            out = activated(leaves[0], norm, leaves[1], share, drop)
        else:
            out = dropout(F.leaky_relu(norm(leaves[0])), share, drop) + leaves[1]
        found.append((out.detach(), *torch.autograd.grad(out, leaves, upstream)))
    exact = 1e-5 if precision == torch.float32 else 0.02
    assert all(off(mine, theirs) < exact for mine, theirs in zip(*found, strict=True))
    for name, kept in norms[0].named_buffers():
        assert torch.allclose(kept.double(), norms[1].get_buffer(name).double()), name


@pytest.mark.parametrize("parts", [1, 5, 33])
@pytest.mark.parametrize("name", ["gin", "sage_ri"])
def test_a_batch_has_more_rows_than_there_are_parts(kernels, device_graph, name, parts, monkeypatch):
    monkeypatch.setattr(padded, "PARTS", parts)
    assert_ordinary(Made(kernels, device_graph, name))


def test_a_matrix_is_so_large_that_a_thread_has_several_of_its_rows(kernels, device):
    """A GPU is busy with 2^18 threads, of eight columns each."""
    rows, width = 2100, 1024
    draw = torch.Generator().manual_seed(0)
    x, upstream = (torch.randn(rows, width, generator=draw).to(device) for _ in range(2))
    block = SimpleNamespace(count=torch.tensor([rows], dtype=torch.int32, device=device), library=kernels)
    found = []
    for norm in (BatchNorm(width).to(device) for _ in range(2)):
        leaf = x.clone().requires_grad_()
        if not found:
            out = padded._BatchNorm.apply(leaf, norm.weight, norm.bias, None, norm, block, padded.NONE)
        else:
            out = norm(leaf)
        found.append((out.detach(), *torch.autograd.grad(out, [leaf, norm.weight, norm.bias], upstream)))
    assert all(off(mine, theirs) < 1e-5 for mine, theirs in zip(*found, strict=True))


# ---------------------------------------------------------------------------------------- epochs and whole trainings


def loop_of(made, **options):
    model = DeviceModel(made.weights, lambda _: made.part, CLASSES, numbered=True)
    return DeviceLoop(made.graph, model, made.sampler, **options)


@pytest.mark.parametrize("name", MODELS)
def test_an_epoch_is_its_batches_one_after_the_other(kernels, device_graph, name):
    """On a GPU the groups are captured, and the batches of the other are not."""
    one, other = (Made(kernels, device_graph, name, dropout=0.2, precision="bfloat16") for _ in range(2))
    plan = Plan(torch.arange(3 * BATCH - 5), BATCH)
    assert len(list(loop_of(one, group=2).one_by_one(plan, len(plan)))) == 3
    assert loop_of(other, group=2).run(plan) == pytest.approx(float(one.weights.loss_sum), rel=1e-12)
    for mine, theirs in zip(one.weights.state().values(), other.weights.state().values(), strict=True):
        assert torch.equal(mine, theirs)


def test_batches_that_do_not_fit_are_trained_on_whole(kernels, device_graph):
    ample = Made(kernels, device_graph, "gat", dropout=0.2)
    tight = Made(kernels, device_graph, "gat", dropout=0.2, room=Room((BATCH, 66, 170, 300), FANOUTS))
    plans = [Plan(shuffled(torch.arange(90), 2, epoch), BATCH, epoch=epoch) for epoch in range(2)]
    loops = loop_of(ample, group=2), loop_of(tight)
    losses = [sum(loop.run(plan) for plan in plans) for loop in loops]
    assert 0 < loops[1].overflows < sum(map(len, plans))
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert off(tight.weights.parameters, ample.weights.parameters) < 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_it_learns_and_goes_on_and_gives_the_same_bits(small_graph, compiled, device, tmp_path, monkeypatch, name):
    work = job(
        "device", name, epochs=4, batch_size=180, inference_batch_size=120, lr=0.05, dropout=0.2, deterministic=True,
        precision="bfloat16", device="cuda", plateau={"factor": 0.5, "patience": 3},
        inference={"fanouts": [(4, 4, 4)], "layerwise": True},
    ).model_copy(update={"device": device.type})  # fmt: skip

    def run(folder):
        train(work, small_graph.path, compiled, output=folder / "run.json", checkpoint=folder / "run.pt")
        return TrainingRun.model_validate_json((folder / "run.json").read_text())

    whole = run(tmp_path / "whole")
    with interrupted_after_two_epochs(monkeypatch):
        run(tmp_path / "broken")
    resumed = run(tmp_path / "broken")
    assert whole.epochs[-1].loss < 0.9 * whole.epochs[0].loss
    assert [epoch.loss for epoch in resumed.epochs] == [epoch.loss for epoch in whole.epochs]
    states = [torch.load(tmp_path / folder / "run.pt")["parameters"] for folder in ("whole", "broken")]
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])
    infer(work, small_graph.path, compiled, tmp_path / "whole/run.pt", output=tmp_path / "found.json", scratch=tmp_path)
    found = InferenceRun.model_validate_json((tmp_path / "found.json").read_text()).results
    assert [(item.mode, item.split) for item in found] == [
        ("sampled", "valid"), ("sampled", "test"), ("layerwise", "valid"), ("layerwise", "test"),
    ]  # fmt: skip
    assert all(item.accuracy > 0.3 for item in found)


def test_inference_counts_what_the_model_gets_right(kernels, device_graph):
    made = Made(kernels, device_graph, "gat")
    model = DeviceModel(made.weights, lambda _: made.part, CLASSES, numbered=True)
    inference = DeviceInference(device_graph, model, FANOUTS, BATCH, kernels, seed=5, max_seeds=600)
    nodes = torch.arange(40)
    batch = as_batch(made.place, 0, 0)  # the first of the plan's
    with torch.no_grad():
        features = device_graph.features.cpu()[batch.nodes.long()].bfloat16().float()
        scores = built("gat").eval()(features, batch.blocks, None)
    right = scores.argmax(dim=1) == device_graph.labels.cpu()[batch.nodes[:BATCH].long()]
    assert int(inference.count_correct(Plan(nodes[:BATCH], BATCH))) == int(right.sum())
    assert torch.equal(inference.right(Plan(nodes[:BATCH], BATCH)).cpu(), right)
    assert len(inference.right(Plan(nodes, BATCH))) == 40, "the last batch is not full"


def test_a_batch_whose_last_hop_is_numbered_is_the_same_batch(kernels, device_graph):
    numbered = Made(kernels, device_graph, "gat")
    bare = Room.largest(BATCH, FANOUTS, len(device_graph.labels))
    sampler, place = numbered.sampler.with_room(bare), BatchRoom(bare, 1, device_graph.labels.device)
    sampler.begin(Plan(torch.arange(BATCH), BATCH))
    sampler.make_ready(1)
    sampler.sample(place)
    one, other = as_batch(numbered.place, 0, 0), as_batch(place, 0, 0)
    assert one.nodes.tolist() == other.nodes.tolist()
    for mine, theirs in zip(one.blocks, other.blocks, strict=True):
        assert mine.indices.tolist() == theirs.indices.tolist()
    counts = [BatchCounts.of(room, device_graph) for room in (numbered.place, place)]
    assert (counts[0].feature_rows, counts[0].edges) == (counts[1].feature_rows, counts[1].edges)


def test_a_block_in_a_room_has_what_the_batch_has(kernels, device_graph):
    made = Made(kernels, device_graph, "gat", seeds=9)
    for number, theirs in enumerate(reversed(as_batch(made.place, 0, 0).blocks)):
        block = PaddedBlock(made.place, number, kernels)
        assert block.degrees()[: theirs.num_dst].cpu().tolist() == theirs.indptr.diff().tolist()
        assert not block.degrees()[theirs.num_dst :].any()
        others = theirs.indices != torch.repeat_interleave(torch.arange(theirs.num_dst), theirs.indptr.diff())
        assert int((~block.not_to_others()).sum()) == int(others.sum())

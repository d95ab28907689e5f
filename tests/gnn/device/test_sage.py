"""A step on the device against the same model in PyTorch: forward, gradients, Adam, and what dropout hides."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from hone.config.models import HyperParameters
from hone.config.trainings import Plateau
from hone.gnn.aggregate import neighbour_mean
from hone.gnn.device.memory import BatchRoom, DeviceGraph, Room
from hone.gnn.device.sage import SagePass
from hone.gnn.device.sampler import DeviceSampler
from hone.gnn.device.weights import Weights
from hone.gnn.models import build_model
from hone.gnn.plateau import PlateauRule
from hone.gnn.seeds import Plan
from tests.gnn.device.host_batch import as_batch

FANOUTS = (5, 4, 3)
BATCH, HIDDEN, CLASSES = 24, 16, 4
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def hyper(dropout=0.0, **options):
    return HyperParameters(hidden=HIDDEN, fanouts=FANOUTS, batch_size=BATCH, lr=0.01, dropout=dropout, **options)


class Made:
    """A model, its device step, and one sampled batch."""

    def __init__(self, kernels, graph, *, dropout=0.0, seeds=BATCH, room=None, seed=5, **options):
        self.room = room or Room.largest(BATCH, FANOUTS, len(graph.labels))
        self.graph = graph
        self.model = build_model(
            "sage", inputs=graph.features.shape[1], hidden=HIDDEN, outputs=CLASSES, layers=3, dropout=dropout, seed=1
        )
        self.weights = Weights(self.model, graph.features, hyper(dropout, **options), kernels)
        self.part = SagePass(self.weights, graph, self.room, dropout, kernels)
        self.sampler = DeviceSampler(
            graph, self.room, kernels, seed=seed, max_seeds=600, deterministic=True
        )  # fmt: skip
        self.place = BatchRoom(self.room, 2, graph.labels.device, graph.features.shape[1])
        self.plan = Plan(torch.arange(seeds), BATCH)
        self.sampler.begin(self.plan)
        self.sampler.make_ready(1)
        self.sampler.sample(self.place)

    def expected(self, masks=None, share=0.0):
        """Loss and gradients by autograd."""
        batch = as_batch(self.place, 0, 0)
        features = self.graph.features.cpu()[batch.nodes.long()].float()
        self.model.zero_grad()
        scores = specified(self.model, features, batch.blocks, masks, share)
        loss = F.nll_loss(scores, self.graph.labels.cpu()[batch.nodes[: batch.num_seeds].long()])
        loss.backward()
        grads = [torch.cat([conv.lin_l.weight.grad.T, conv.lin_r.weight.grad.T]) for conv in self.model.convs]
        return float(loss.detach()), grads

    def gradients(self):
        self.part.gather(self.place)
        self.part.forward(self.place, training=True)
        self.part.backward(self.place)
        return [gradient[:, :CLASSES] if n == 2 else gradient for n, gradient in enumerate(self.weights.gradients)]


def rounded(x):
    """To bfloat16, with the gradient of doing nothing."""
    return x + (x.bfloat16().float() - x).detach()


def specified(model, x, blocks, masks, share):
    """Log-probabilities of the seeds: PyTorch's operators, rounded where the device system stores something."""
    for layer, block in enumerate(blocks):
        mean, own = rounded(neighbour_mean(x, block)), rounded(x[: block.num_dst])
        conv = model.convs[layer]
        x = rounded(mean @ rounded(conv.lin_l.weight).T + own @ rounded(conv.lin_r.weight).T)
        if layer < len(blocks) - 1:
            x = F.relu(x)
            x = x * masks[layer][: len(x)] / (1 - share) if masks else x
    return torch.log_softmax(x, -1)


def off(found, expected):
    """Relative, by norm."""
    found, expected = found.cpu().double(), expected.cpu().double()
    return float((found - expected).norm() / expected.norm().clamp_min(1e-12))


def test_gradients_are_those_of_autograd(kernels, device_graph):
    made = Made(kernels, device_graph)
    loss, gradients = made.expected()
    for found, expected in zip(made.gradients(), gradients, strict=True):
        assert off(found, expected) < 0.01  # gradients are rounded to bfloat16 on their way, which is 0.4 % each time
    assert float(made.part.total) / BATCH == pytest.approx(loss, rel=2e-3)


def test_gradients_of_a_hub_of_leaves_and_of_an_isolated_node(kernels, device):
    nodes, isolated = 60, 1
    leaves = torch.tensor([node for node in range(1, nodes) if node != isolated])
    degrees = torch.ones(nodes, dtype=torch.int64)
    degrees[0], degrees[isolated] = len(leaves), 0
    indices = torch.cat([leaves, torch.zeros(len(leaves), dtype=torch.int64)]).int()
    features = torch.randn(nodes, 16, generator=torch.Generator().manual_seed(3)).bfloat16()
    arrays = torch.cat([torch.zeros(1).long(), degrees.cumsum(0)]), indices, features, torch.arange(nodes) % CLASSES
    made = Made(kernels, DeviceGraph(*(array.to(device) for array in arrays)))
    for found, expected in zip(made.gradients(), made.expected()[1], strict=True):
        assert off(found, expected) < 0.01


def test_rows_that_are_not_there_count_nothing(kernels, device_graph):
    tight = Made(kernels, device_graph, seeds=9)
    wide = Made(kernels, device_graph, seeds=9, room=Room((BATCH, 400, 900), FANOUTS))
    for made in (tight, wide):
        for states in made.part._states:
            states.fill_(float("nan"))  # what an earlier batch left there
    for one, other in zip(tight.gradients(), wide.gradients(), strict=True):
        assert off(one, other) < 1e-6
        assert one.isfinite().all()


def test_a_batch_without_seeds_changes_nothing(kernels, device_graph):
    made = Made(kernels, device_graph, seeds=0)
    for gradient in made.gradients():
        assert not gradient.any()
    assert float(made.part.total) == 0.0


def test_neighbours_are_averaged_as_in_float64(kernels, device_graph):
    made = Made(kernels, device_graph)
    made.part.gather(made.place)
    batch = as_batch(made.place, 0, 0)
    features, block = device_graph.features.cpu()[batch.nodes.long()].double(), batch.blocks[0]
    for row in range(block.num_dst):
        rows = block.indices[block.indptr[row] : block.indptr[row + 1]].long()
        mean = features[rows].mean(0) if len(rows) else torch.zeros(features.shape[1], dtype=torch.float64)
        found = made.place.first_input[row].cpu().double()
        assert torch.allclose(found, torch.cat([mean, features[row]]), rtol=2**-8, atol=1e-6)


# -------------------------------------------------------------------------------------------------------- dropout


def mixed(x):
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def kept(key, rows, width, share):
    """(rows, width) bool: what dropout keeps, written down a second time."""
    row, column = np.meshgrid(np.arange(rows), np.arange(width), indexing="ij")
    place = row.astype(np.uint64) << np.uint64(16) | (column // 8 * 8).astype(np.uint64)
    word = (column % 8 // 4).astype(np.uint64)
    with np.errstate(over="ignore"):
        bits = mixed(np.uint64(key & (2**64 - 1)) + GOLDEN * (np.uint64(2) * place + word))
    part = (bits >> (np.uint64(16) * (column % 4).astype(np.uint64))) & np.uint64(0xFFFF)
    return torch.from_numpy(part >= round(share * 65536))


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_gradients_with_dropout_are_those_of_autograd_with_its_masks(kernels, device_graph, share):
    made = Made(kernels, device_graph, dropout=share)
    masks = [kept(int(key), made.room.nodes[2 - layer], HIDDEN, share) for layer, key in enumerate(made.place.keys)]
    assert float(torch.cat([m.flatten() for m in masks]).float().mean()) == pytest.approx(1 - share, abs=0.02)
    for found, wanted in zip(made.gradients(), made.expected(masks, share)[1], strict=True):
        assert off(found, wanted) < 0.01


def test_the_way_back_reads_notes_in_place_of_states(kernels, device_graph):
    """Their states are gone by then; inference, which has no way back, leaves notes alone."""
    made, other = Made(kernels, device_graph, dropout=0.1), Made(kernels, device_graph, dropout=0.1)
    for each in (made, other):
        each.part.gather(each.place)
        each.part.forward(each.place, training=True)
    noted = [notes.clone() for notes in made.part._notes]
    assert len(noted) == 2 and all(notes.any() for notes in noted)
    for states in made.part._states[:-1]:
        states.fill_(float("nan"))
    for each in (made, other):
        each.part.backward(each.place)
    for found, wanted in zip(made.weights.gradients, other.weights.gradients, strict=True):
        assert wanted.any() and torch.equal(found, wanted)
    made.part.forward(made.place, training=False)
    assert all(map(torch.equal, made.part._notes, noted))


def test_every_layer_batch_and_seed_has_a_dropout_of_its_own(kernels, device_graph):
    keys = set()
    for seed in (1, 2):
        made = Made(kernels, device_graph, seeds=2 * BATCH, seed=seed)
        keys |= set(made.place.keys.tolist())
        made.sampler.make_ready(1)
        made.sampler.sample(made.place)
        keys |= set(made.place.keys.tolist())
    assert len(keys) == 8


# ----------------------------------------------------------------------------------------------- Adam, and all of it


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_is_pytorchs(kernels, device_graph, decay):
    made = Made(kernels, device_graph, weight_decay=decay)
    twin = made.weights.parameters.clone().requires_grad_()
    optimizer = torch.optim.Adam([twin], lr=0.01, weight_decay=decay)
    for number in range(4):
        made.weights.gradient.copy_(
            torch.randn(len(twin), generator=torch.Generator().manual_seed(number)).to(twin.device)
        )
        twin.grad = made.weights.gradient.clone()
        made.weights.note(made.part.total, made.place.global_seeds)
        made.weights.update()
        optimizer.step()
        assert torch.allclose(made.weights.parameters, twin, rtol=1e-5, atol=1e-6)
        assert torch.equal(made.weights._rounded, made.weights.parameters.bfloat16())


@pytest.mark.parametrize("count", [1, 3, 4, 5, 1023, 1030])
def test_adam_takes_any_number_of_parameters(kernels, device, count):
    """A thread has several; what lies behind the last one stays as it is."""
    generator = torch.Generator().manual_seed(count)
    given, parameters = (torch.randn(count, generator=generator).to(device) for _ in range(2))
    behind = [torch.full((count + 4,), 7.0, device=device) for _ in range(3)]
    for tensor, value in zip(behind, (parameters, torch.zeros_like(given), torch.zeros_like(given)), strict=True):
        tensor[:count] = value
    rounded = torch.full((count + 4,), 7.0, dtype=torch.bfloat16, device=device)
    rate, steps = torch.tensor(0.01, device=device), torch.ones(1, dtype=torch.int64, device=device)
    kernels.call("adam", count, given, *behind, rounded, rate, steps, 0.9, 0.999, 1e-8, 0.0)
    expected = parameters.double() - 0.01 * given.double() / (given.double().abs() + 1e-8)
    assert torch.allclose(behind[0][:count].double(), expected, rtol=1e-5, atol=1e-6)
    assert torch.equal(rounded[:count], behind[0][:count].bfloat16())
    assert all(bool((tensor[count:] == 7).all()) for tensor in (*behind, rounded))


def test_the_learning_rate_falls_on_a_plateau_as_the_rule_says(kernels, device_graph, device):
    plateau = Plateau(factor=0.5, patience=2)
    made = Made(kernels, device_graph)
    weights = Weights(made.model, device_graph.features, hyper(), kernels, plateau)
    rule, rate = PlateauRule(0.5, 2, torch.device("cpu")), torch.tensor(0.01)
    for loss in (3.0, 2.0, 2.0, 2.1, 1.99999, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5):
        rule.step(torch.tensor(loss, dtype=torch.float64), rate)
        weights.note(torch.tensor([loss * BATCH], dtype=torch.float64, device=device), made.place.global_seeds)
        assert float(weights.rate) == float(rate)
    assert float(rate) < 0.01
    assert float(weights.loss_sum) == pytest.approx(BATCH * 19.59999)


def test_parameters_come_back_as_they_went_in(kernels, device_graph):
    made = Made(kernels, device_graph)
    before = {name: value.clone() for name, value in made.model.state_dict().items()}
    after = made.weights.store().state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def trained(kernels, graph, epochs):
    """Mean loss of each epoch, and the parameters at the end."""
    made = Made(kernels, graph, dropout=0.1)
    losses = []
    for epoch in range(epochs):
        plan = Plan(torch.arange(240), BATCH, epoch=epoch)
        made.sampler.begin(plan)
        for _ in range(len(plan)):
            made.sampler.make_ready(1)
            made.sampler.sample(made.place)
            made.gradients()
            made.weights.update()
        losses.append(float(made.weights.loss_sum) / 240)
        made.weights.loss_sum.zero_()
    return losses, made.weights.parameters


def test_it_learns_and_gives_the_same_bits_twice(kernels, device_graph):
    losses, parameters = trained(kernels, device_graph, 4)
    assert losses[-1] < 0.7 * losses[0]
    again, twin = trained(kernels, device_graph, 4)
    assert losses == again
    assert torch.equal(parameters, twin)

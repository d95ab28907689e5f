"""The peers' layers: other operators, the same values."""

import pytest
import torch

from hone.gnn.batch import Block
from hone.gnn.models import build_model
from hone.gnn.peer_layers import SegmentSAGEConv, parameters_of, with_peer_layers
from tests.gnn.blocks import random_block

SIZES = {"inputs": 16, "hidden": 12, "outputs": 4, "layers": 3, "dropout": 0.5}


@pytest.fixture
def batch():
    """Features of 40 nodes and the blocks of three layers down to 5 seeds, with empty rows and self-loops."""
    blocks = [random_block(20, 40, 1, loops=True), random_block(11, 20, 2), random_block(5, 11, 3, loops=True)]
    assert any((block.indptr.diff() == 0).any() for block in blocks)
    return torch.randn(40, 16, generator=torch.Generator().manual_seed(0)), blocks


@pytest.mark.parametrize("convolutions", ["pyg", "torch"])
def test_values_and_gradients_are_those_of_our_layers(convolutions, batch):
    ours = build_model("sage", **SIZES, seed=1).train()
    theirs = with_peer_layers(build_model("sage", **SIZES, seed=1), convolutions).train()
    results = [model(*batch, None) for model in (ours, theirs)]
    assert torch.allclose(*results, atol=1e-5)
    for result in results:
        result[:, 0].sum().backward()
    found = parameters_of({name: value.grad for name, value in theirs.named_parameters()}, convolutions)
    assert found.keys() == dict(ours.named_parameters()).keys()
    for name, value in ours.named_parameters():
        assert torch.allclose(found[name], value.grad, atol=1e-5), name


@pytest.mark.parametrize("convolutions", ["pyg", "torch"])
def test_what_was_trained_with_them_fits_the_model_with_ours(convolutions, batch):
    theirs = with_peer_layers(build_model("sage", **SIZES, seed=1), convolutions)
    ours = build_model("sage", **SIZES, seed=2)
    ours.load_state_dict(parameters_of(theirs.state_dict(), convolutions))
    assert torch.allclose(ours.eval()(*batch, None), theirs.eval()(*batch, None), atol=1e-5)


def test_a_batch_without_seeds_can_be_trained_on():
    model = with_peer_layers(build_model("sage", **SIZES, seed=0), "torch").train()
    model(torch.zeros(0, 16), [random_block(0, 0)] * 3, torch.Generator().manual_seed(0)).sum().backward()


def test_they_ask_for_fewer_operators_than_pytorch_geometric(batch):
    def operators(convolutions):
        model = with_peer_layers(build_model("sage", **SIZES, seed=0), convolutions).train()
        with torch.profiler.profile() as profile:
            model(*batch, None).sum().backward()
        return sum(event.count for event in profile.key_averages() if event.key.startswith("aten::"))

    assert operators("torch") < operators("pyg")


def test_the_first_layer_can_take_rows_of_its_own(batch):
    (features, blocks), model = batch, with_peer_layers(build_model("sage", **SIZES, seed=0), "torch")
    layer = model.convs[0]
    assert isinstance(layer, SegmentSAGEConv)
    ours = build_model("sage", **SIZES, seed=0).convs[0]
    rows = torch.randn(blocks[0].num_dst, 16, generator=torch.Generator().manual_seed(1))
    found = layer(features, blocks[0], own=rows)
    assert torch.allclose(found, ours(features, blocks[0], own=rows), atol=1e-5)
    assert not torch.allclose(found, layer(features, blocks[0]), atol=1e-2)


def test_long_rows_are_summed_in_float32():
    """1000 neighbours: in bfloat16 a sum of ones stays at 256."""
    block = Block(torch.tensor([0, 1000], dtype=torch.int32), torch.arange(1000, dtype=torch.int32), 1, 1000)
    layer = with_peer_layers(build_model("sage", **SIZES, seed=0), "torch").convs[0].bfloat16()
    layer.lin_l.weight.data.fill_(1 / 16)
    layer.lin_r.weight.data.zero_()
    assert torch.equal(layer(torch.ones(1000, 16, dtype=torch.bfloat16), block), torch.ones(1, 12).bfloat16())

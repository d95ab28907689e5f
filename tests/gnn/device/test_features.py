"""The first layer's input by itself: every width, fan-out and type, in one matrix and in several, to the last bit."""

import pytest
import torch

from hone.gnn.device.native import HopView, SpreadRowsView, address

ROWS, ROOM, NODES = 19, 23, 50
NOWHERE = 2**30
"""An id that no matrix has a row for."""


class Batch:
    """A hop of some rows, with the room of more, and features; where nothing was drawn there is no id to follow."""

    def __init__(self, device, *, width, fanout, dtype):
        made = torch.Generator().manual_seed(width + fanout)
        self.width, self.fanout, self.is_half = width, fanout, int(dtype == torch.float16)
        self.features = torch.randn(NODES, width, generator=made).to(dtype).to(device)
        degrees = torch.randint(fanout + 1, (ROOM,), generator=made)
        degrees[:4] = torch.tensor([fanout, 0, 1, fanout])
        neighbours = torch.randint(NODES, (ROOM, fanout), generator=made)
        neighbours[torch.arange(fanout) >= degrees[:, None]] = NOWHERE
        neighbours[ROWS:], degrees[ROWS:] = NOWHERE, fanout
        nodes = torch.randperm(NODES, generator=made)[:ROOM]
        nodes[ROWS:] = NOWHERE
        self.degrees, self.neighbours, self.nodes = (x.int().to(device) for x in (degrees, neighbours, nodes))
        self.sizes = torch.tensor([ROWS], dtype=torch.int32, device=device)
        self.out = torch.full((ROOM, 2 * width), float("nan"), dtype=torch.bfloat16, device=device)

    def launched(self, kernels, name, features):
        """What a kernel makes of it."""
        places = (address(array) for array in (self.neighbours, self.degrees, self.sizes))
        hop = HopView(self.fanout, 0, 0, ROOM, 0, *places)
        kernels.call(name, hop, self.nodes, features, self.is_half, self.width, self.out)
        return self.out.cpu()

    def expected(self):
        """Sums in float32, neighbour by neighbour."""
        features, out = self.features.cpu().float(), torch.zeros(ROOM, 2 * self.width)
        for row, degree in enumerate(self.degrees[:ROWS].tolist()):
            for node in self.neighbours[row, :degree].tolist():
                out[row, : self.width] += features[node]
            out[row, : self.width] *= 1 / torch.tensor(float(max(degree, 1)))
            out[row, self.width :] = features[int(self.nodes[row])]
        return out.bfloat16()


CASES = [(width, fanout) for width in (8, 40, 200) for fanout in (1, 5, 7, 16, 25)] + [(128, 5), (64, 10)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("width", "fanout"), CASES)
def test_means_and_own_rows_to_the_last_bit(kernels, device, width, fanout, dtype):
    batch = Batch(device, width=width, fanout=fanout, dtype=dtype)
    assert torch.equal(batch.launched(kernels, "mean_of_features", batch.features), batch.expected())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("width", "fanout"), CASES)
def test_rows_in_several_matrices_give_the_same_bits(kernels, device, width, fanout, dtype):
    batch = Batch(device, width=width, fanout=fanout, dtype=dtype)
    node = torch.arange(NODES)
    parts = [batch.features[first::3].contiguous() for first in range(3)]
    bases = torch.tensor([address(part) for part in parts], device=device)
    places = (node // 3 << 2 | node % 3).int().to(device)
    spread = SpreadRowsView(address(bases), address(places), 2)
    assert torch.equal(batch.launched(kernels, "mean_of_spread_features", spread), batch.expected())


def test_what_stands_for_a_missing_neighbour_is_not_added(kernels, device):
    """A row's own features are read in its place, whatever they are."""
    batch = Batch(device, width=16, fanout=5, dtype=torch.bfloat16)
    batch.features[batch.nodes[:ROWS].long()] = float("inf")
    inside = torch.isin(batch.neighbours, batch.nodes[:ROWS]).any(1)
    found = batch.launched(kernels, "mean_of_features", batch.features)
    assert found[:ROWS, 16:].isinf().all() and not found.isnan().any()
    alone = ~inside.cpu()
    assert int(alone[:ROWS].sum()) > 2 and found[alone, :16].isfinite().all()
    assert torch.equal(found[alone], batch.expected()[alone])

"""GIN (Xu et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional as F

from hone.gnn.aggregate import estimated_sum
from hone.gnn.layers import BatchNorm, Convolution, dropout, linear, xavier
from hone.gnn.models.model import GNN

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from hone.gnn.aggregate import SlotBlock
    from hone.gnn.batch import Block
    from hone.gnn.models.model import Noise


class GINConv(Convolution):
    """MLP(x + sum of neighbours) with epsilon 0; the MLP is Linear-BN-ReLU-Linear-ReLU.

    Its values grow with the number of neighbours, and so it is the only one that reads `Block.scale`. Its weights
    begin as in SALIENT, xavier_uniform with ReLU's gain.
    """

    def __init__(self, inputs: int, outputs: int, generator: Generator) -> None:
        super().__init__()
        gain = nn.init.calculate_gain("relu")
        self.nn = nn.Sequential(
            xavier(linear(inputs, outputs, generator), generator, gain), BatchNorm(outputs), nn.ReLU(),
            xavier(linear(outputs, outputs, generator), generator, gain), nn.ReLU(),
        )  # fmt: skip

    def forward(self, x: Tensor, block: Block | SlotBlock) -> Tensor:
        """x (num_src, inputs) -> (num_dst, outputs)."""
        result: Tensor = self.nn(x[: block.num_dst] + estimated_sum(x, block))
        return result

    def counterpart(self, pyg: Any) -> nn.Module:
        """As Convolution."""
        found: nn.Module = pyg.GINConv(self.nn)
        return found


class GIN(GNN):
    """Sum aggregation with an MLP in each layer, then an MLP on the last state."""

    conv = GINConv

    def __init__(
        self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float, generator: Generator
    ) -> None:
        """As GNN."""
        super().__init__(inputs, hidden, outputs, layers, dropout, generator)
        self.lin1 = linear(hidden, hidden, generator)
        self.lin2 = linear(hidden, outputs, generator)

    @staticmethod
    def widths(inputs: int, hidden: int, outputs: int, layers: int) -> list[int]:
        """As GNN."""
        return [inputs, *[hidden] * layers]

    def layer(self, index: int, x: Tensor, block: Block | SlotBlock, generator: Noise) -> Tensor:
        """As GNN; the MLP ends with its own ReLU."""
        result: Tensor = self.convs[index](x, block)
        return result

    def readout(self, states: Sequence[Tensor], generator: Noise) -> Tensor:
        """As GNN."""
        x = dropout(F.relu(self.lin1(states[-1])), self.dropout, generator)
        return torch.log_softmax(self.lin2(x).float(), dim=-1)


MODEL = GIN

"""SAGE-RI, SALIENT's GraphSAGE with residual connections and inception."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from hone.gnn.layers import BatchNorm, dropout, linear
from hone.gnn.models.model import GNN
from hone.gnn.models.sage import SAGEConv

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from hone.gnn.aggregate import SlotBlock
    from hone.gnn.batch import Block
    from hone.gnn.models.model import Noise


class SAGEResInception(GNN):
    """SAGE-RI: residual connections, batch normalisation, and an MLP on the states of all layers.

    Its dropout is light because it stands in many places: at the input, and before and after every layer.
    """

    conv = SAGEConv
    reads_every_layer = True

    def __init__(
        self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float, generator: Generator
    ) -> None:
        """As GNN."""
        super().__init__(inputs, hidden, outputs, layers, dropout, generator)
        self.bns = nn.ModuleList(BatchNorm(hidden) for _ in range(layers))
        self.residual = linear(inputs, hidden, generator)
        self.mlp = nn.Sequential(
            linear(inputs + layers * hidden, 2 * outputs, generator), BatchNorm(2 * outputs), nn.LeakyReLU(),
            linear(2 * outputs, outputs, generator),
        )  # fmt: skip

    @staticmethod
    def widths(inputs: int, hidden: int, outputs: int, layers: int) -> list[int]:
        """As GNN."""
        return [inputs, *[hidden] * layers]

    def embed(self, features: Tensor, generator: Noise) -> Tensor:
        """As GNN."""
        return dropout(features, self.dropout, generator)

    def layer(self, index: int, x: Tensor, block: Block | SlotBlock, generator: Noise) -> Tensor:
        """As GNN; sources and destinations are dropped from independently."""
        own = x[: block.num_dst]
        state = self.convs[index](
            dropout(x, self.dropout, generator), block, dropout(own, self.dropout, generator)
        )  # fmt: skip
        state = dropout(F.leaky_relu(self.bns[index](state)), self.dropout, generator)
        return state + (self.residual(own) if index == 0 else own)

    def readout(self, states: Sequence[Tensor], generator: Noise) -> Tensor:
        """As GNN."""
        return torch.log_softmax(self.mlp(torch.cat(list(states), dim=-1)).float(), dim=-1)


MODEL = SAGEResInception

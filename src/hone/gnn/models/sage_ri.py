"""SAGE-RI, SALIENT's GraphSAGE with residual connections and inception."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import torch
from torch import nn
from torch.nn import functional as F

from hone.gnn.aggregate import dropped_mean
from hone.gnn.layers import BatchNorm, activated, dropout, linear
from hone.gnn.models.model import GNN
from hone.gnn.models.sage import SAGEConv

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from hone.gnn.aggregate import SlotBlock
    from hone.gnn.batch import Block
    from hone.gnn.models.model import Noise


class JoinedSAGEConv(SAGEConv):
    """SAGE's layer as one product, whose wide result is written once: W_l and W_r stand side by side."""

    def joined(self, mean: Tensor, own: Tensor) -> Tensor:
        """The neighbours' mean and the nodes' own states, (num_dst, inputs) each -> (num_dst, outputs)."""
        weight = torch.cat([self.lin_l.weight, self.lin_r.weight], dim=1)
        return F.linear(torch.cat([mean, own], dim=1), weight)


class SAGEResInception(GNN):
    """SAGE-RI: residual connections, batch normalisation, and an MLP on the states of all layers.

    Its dropout is light because it stands in many places: at the input, and before and after every layer.
    """

    conv = JoinedSAGEConv
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

    def advance(self, index: int, x: Tensor, block: Block | SlotBlock, generator: Noise) -> tuple[Tensor, Tensor]:
        """As GNN; sources and destinations are dropped from independently."""
        state, own = self._convolved(index, x, block, generator)
        skip = self.residual(own) if index == 0 else own
        return activated(state, cast("BatchNorm", self.bns[index]), skip, self.dropout, generator), own

    def layer(self, index: int, x: Tensor, block: Block | SlotBlock, generator: Noise) -> Tensor:
        """As GNN."""
        return self.advance(index, x, block, generator)[0]

    def _convolved(self, index: int, x: Tensor, block: Block | SlotBlock, generator: Noise) -> tuple[Tensor, Tensor]:
        """(num_src, width) -> (num_dst, hidden), and the first rows of x."""
        conv = self.convs[index]
        if isinstance(conv, JoinedSAGEConv):
            mean, own = dropped_mean(x, block, self.dropout, generator)
            return conv.joined(mean, dropout(own, self.dropout, generator)), own
        own = x[: block.num_dst]  # a counterpart of another library takes whole matrices
        return conv(dropout(x, self.dropout, generator), block, dropout(own, self.dropout, generator)), own

    def readout(self, states: Sequence[Tensor], generator: Noise) -> Tensor:
        """As GNN."""
        return torch.log_softmax(self.mlp(torch.cat(list(states), dim=-1)).float(), dim=-1)


MODEL = SAGEResInception

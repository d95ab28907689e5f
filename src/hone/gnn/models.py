"""SAGE, GAT, GIN and SAGE-RI as SALIENT trains them (driver/models.py of its repository).

Their hyper-parameters are in `hone.config.trainings`. A model works on a batch's blocks. Its layers can be called one
by one, so that inference can go through all nodes of a graph layer by layer.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from hone.gnn.layers import BatchNorm, GATConv, GINConv, SAGEConv, dropout, linear

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from hone.gnn.aggregate import SlotBlock
    from hone.gnn.batch import Block
    from hone.gnn.layers import Dropping
    from hone.records.gnn import GNNModel

    Noise = Generator | Dropping | None


class GNN(nn.Module):
    """What the four models share; `forward` gives log-probabilities of the last block's destinations."""

    conv: ClassVar[type[nn.Module]]
    reads_every_layer: ClassVar[bool] = False
    """Whether `readout` needs the hidden states of all layers and not only the last."""

    def __init__(
        self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float, generator: Generator
    ) -> None:
        """Sizes of input, hidden state and output; `generator` initialises the parameters."""
        super().__init__()
        widths = self.widths(inputs, hidden, outputs, layers)
        self.convs = nn.ModuleList(self.conv(a, b, generator) for a, b in itertools.pairwise(widths))
        self.dropout = dropout

    @staticmethod
    def widths(inputs: int, hidden: int, outputs: int, layers: int) -> list[int]:
        """Size of the state before the first layer and after each."""
        return [inputs, *[hidden] * (layers - 1), outputs]

    def forward(self, features: Tensor, blocks: Sequence[Block | SlotBlock], generator: Noise) -> Tensor:
        """Features (num_nodes, inputs) float, blocks outermost first -> (blocks[-1].num_dst, outputs).

        `generator` draws the dropout of a training step; None is inference.
        """
        states = [self.embed(features, generator)]
        for index, block in enumerate(blocks):
            states.append(self.layer(index, states[-1], block, generator))
        rows = blocks[-1].num_dst
        return self.readout([state[:rows] for state in states], generator)

    def embed(self, features: Tensor, generator: Noise) -> Tensor:
        """The state before the first layer."""
        return features

    def layer(self, index: int, x: Tensor, block: Block | SlotBlock, generator: Noise) -> Tensor:
        """One layer: (num_src, width) -> (num_dst, next width)."""
        x = self.convs[index](x, block)
        return x if index == len(self.convs) - 1 else dropout(F.relu(x), self.dropout, generator)

    def readout(self, states: Sequence[Tensor], generator: Noise) -> Tensor:
        """Log-probabilities from the states of the same nodes before the first layer and after each."""
        return torch.log_softmax(states[-1].float(), dim=-1)


class SAGE(GNN):
    """Mean aggregation; ReLU and dropout between layers; no batch normalisation."""

    conv = SAGEConv


class GAT(GNN):
    """One attention head; ReLU and dropout between layers."""

    conv = GATConv


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


MODELS: dict[GNNModel, type[GNN]] = {"sage": SAGE, "gat": GAT, "gin": GIN, "sage_ri": SAGEResInception}


def build_model(
    name: GNNModel, *, inputs: int, hidden: int, outputs: int, layers: int, dropout: float, seed: int
) -> GNN:
    """A model on the CPU with parameters that depend on `seed` alone."""
    generator = torch.Generator().manual_seed(seed)
    return MODELS[name](inputs, hidden, outputs, layers, dropout, generator)

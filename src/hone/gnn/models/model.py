"""What all models share: layers that can be called one by one, so that inference can go through a graph by layer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from hone.gnn.layers import Convolution, dropout

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from hone.gnn.aggregate import SlotBlock
    from hone.gnn.batch import Block
    from hone.gnn.layers import Dropping

    Noise = Generator | Dropping | None
    Begin = Callable[[Block | SlotBlock], None]


class GNN(nn.Module):
    """A model on a batch's blocks; `forward` gives log-probabilities of the last block's destinations."""

    conv: ClassVar[type[Convolution]]
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

    def forward(
        self, features: Tensor, blocks: Sequence[Block | SlotBlock], generator: Noise, begin: Begin | None = None
    ) -> Tensor:
        """Features (num_nodes, inputs) float, blocks outermost first -> (blocks[-1].num_dst, outputs).

        `generator` draws the dropout of a training step; None is inference. `begin` hears of each block before its
        layer.
        """
        x, rows, read = self.embed(features, generator), blocks[-1].num_dst, []
        for index, block in enumerate(blocks):
            if begin is not None:
                begin(block)
            x, own = self.advance(index, x, block, generator)
            read.append(own[:rows])
        return self.readout([*read, x[:rows]], generator)

    def embed(self, features: Tensor, generator: Noise) -> Tensor:
        """The state before the first layer."""
        return features

    def advance(self, index: int, x: Tensor, block: Block | SlotBlock, generator: Noise) -> tuple[Tensor, Tensor]:
        """One layer, (num_src, width) -> (num_dst, next width), and the first rows of what it read."""
        return self.layer(index, x, block, generator), x[: block.num_dst]

    def layer(self, index: int, x: Tensor, block: Block | SlotBlock, generator: Noise) -> Tensor:
        """One layer: (num_src, width) -> (num_dst, next width)."""
        x = self.convs[index](x, block)
        return x if index == len(self.convs) - 1 else dropout(F.relu(x), self.dropout, generator)

    def readout(self, states: Sequence[Tensor], generator: Noise) -> Tensor:
        """Log-probabilities from the states of the same nodes before the first layer and after each."""
        return torch.log_softmax(states[-1].float(), dim=-1)

"""GAT (Velickovic et al. 2018)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional as F

from hone.gnn.aggregate import destinations, neighbour_sum, not_to_others, of_destinations, of_sources, row_max, row_sum
from hone.gnn.layers import Convolution, linear, xavier
from hone.gnn.models.model import GNN

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from hone.gnn.aggregate import SlotBlock
    from hone.gnn.batch import Block


class GATConv(Convolution):
    """Attention with one head over the neighbours and the node itself, without bias.

    As in PyTorch Geometric every node attends to itself exactly once, whether the graph has self-loops or not.
    """

    NEGATIVE_SLOPE = 0.2

    def __init__(self, inputs: int, outputs: int, generator: Generator) -> None:
        super().__init__()
        self.lin = xavier(linear(inputs, outputs, generator, bias=False), generator)
        self.att_src = nn.Parameter(torch.empty(1, 1, outputs))
        self.att_dst = nn.Parameter(torch.empty(1, 1, outputs))
        bound = math.sqrt(6 / (1 + outputs))
        for vector in (self.att_src, self.att_dst):
            nn.init.uniform_(vector, -bound, bound, generator=generator)

    def forward(self, x: Tensor, block: Block | SlotBlock) -> Tensor:
        """x (num_src, inputs) -> (num_dst, outputs)."""
        mapped: Tensor = self.lin(x)
        rows = destinations(block)
        source = (mapped * self.att_src[0]).sum(dim=1).float()
        target = (mapped[: block.num_dst] * self.att_dst[0]).sum(dim=1).float()
        scores = F.leaky_relu(of_sources(source, block) + of_destinations(target, block, rows), self.NEGATIVE_SLOPE)
        scores = scores.masked_fill(not_to_others(block, rows), -torch.inf)
        own = F.leaky_relu(source[: block.num_dst] + target, self.NEGATIVE_SLOPE)
        highest = torch.maximum(row_max(scores, block), own.detach())
        powers = torch.exp(scores - of_destinations(highest, block, rows))
        own_power = torch.exp(own - highest)
        total = row_sum(powers, block) + own_power
        weights = (powers / of_destinations(total, block, rows)).to(mapped.dtype)
        own_weight = (own_power / total).to(mapped.dtype)
        return neighbour_sum(mapped, block, weights) + own_weight[:, None] * mapped[: block.num_dst]

    def counterpart(self, pyg: Any) -> nn.Module:
        """As Convolution."""
        found: nn.Module = pyg.GATConv(self.lin.in_features, self.lin.out_features, heads=1, bias=False)
        return found


class GAT(GNN):
    """One attention head; ReLU and dropout between layers."""

    conv = GATConv
    maps_sources = True


MODEL = GAT

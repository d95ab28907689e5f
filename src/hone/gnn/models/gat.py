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
    PyTorch Geometric maps all sources, takes their scores and sums them. The map is linear, so this sums first and maps
    the sums: a block has several times as many sources as destinations. Where the map makes rows narrower, it comes
    first here, too: what is summed for each edge is then less.
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
        """x (num_src, inputs) float32 or bfloat16 -> (num_dst, outputs)."""
        narrows = self.lin.in_features > self.lin.out_features
        x = self.lin(x) if narrows else x
        source, target = self._scores(x, mapped=narrows)
        weights, own_weight = self._attention(source, target[: block.num_dst], block)
        total = neighbour_sum(x, block, weights.to(x.dtype))
        mean = torch.addcmul(total, own_weight.to(x.dtype)[:, None], x[: block.num_dst])
        return mean if narrows else self.lin(mean)

    def _scores(self, x: Tensor, *, mapped: bool) -> tuple[Tensor, Tensor]:
        """What each row of x adds to a score as a source and as a destination: x (num_src, width) -> (num_src,) twice.

        Float32. Under autocast they are rounded to bfloat16 once, and the vectors that x is multiplied with are, too.
        That is about as exact as sums over mapped rows in bfloat16, and x is read once and never widened.
        """
        with torch.autocast(x.device.type, enabled=False):  # small, and would be rounded three times
            vectors = torch.cat([self.att_src[0], self.att_dst[0]])
            vectors = vectors if mapped else vectors @ self.lin.weight
        source, target = (vectors @ x.T).float()  # in this order, because the kernels need each in one piece
        return source, target

    def _attention(self, source: Tensor, target: Tensor, block: Block | SlotBlock) -> tuple[Tensor, Tensor]:
        """Weights of the edges and of the nodes themselves: (num_src,) and (num_dst,) -> (edges,) and (num_dst,).

        All float32. An edge from a node to itself has the weight 0.
        """
        rows = destinations(block)
        scores = F.leaky_relu(of_sources(source, block) + of_destinations(target, block, rows), self.NEGATIVE_SLOPE)
        scores = scores.masked_fill(not_to_others(block, rows), -torch.inf)
        own = F.leaky_relu(source[: block.num_dst] + target, self.NEGATIVE_SLOPE)
        highest = torch.maximum(row_max(scores, block), own.detach())
        powers = torch.exp(scores - of_destinations(highest, block, rows))
        own_power = torch.exp(own - highest)
        total = row_sum(powers, block) + own_power
        return powers / of_destinations(total, block, rows), own_power / total

    def counterpart(self, pyg: Any) -> nn.Module:
        """As Convolution."""
        found: nn.Module = pyg.GATConv(self.lin.in_features, self.lin.out_features, heads=1, bias=False)
        return found


class GAT(GNN):
    """One attention head; ReLU and dropout between layers."""

    conv = GATConv


MODEL = GAT

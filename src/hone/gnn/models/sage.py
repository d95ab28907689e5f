"""GraphSAGE (Hamilton et al. 2017)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from hone.gnn.aggregate import neighbour_mean
from hone.gnn.layers import Convolution, linear
from hone.gnn.models.model import GNN

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from hone.gnn.aggregate import SlotBlock
    from hone.gnn.batch import Block


class SAGEConv(Convolution):
    """W_l mean(neighbours) + W_r x, without bias."""

    def __init__(self, inputs: int, outputs: int, generator: Generator) -> None:
        super().__init__()
        self.lin_l = linear(inputs, outputs, generator, bias=False)
        self.lin_r = linear(inputs, outputs, generator, bias=False)

    def forward(self, x: Tensor, block: Block | SlotBlock, own: Tensor | None = None) -> Tensor:
        """x (num_src, inputs) -> (num_dst, outputs); `own` (num_dst, inputs) replaces the first rows of x."""
        neighbours: Tensor = self.lin_l(neighbour_mean(x, block))
        own_part: Tensor = self.lin_r(x[: block.num_dst] if own is None else own)
        return neighbours + own_part

    def counterpart(self, pyg: Any) -> nn.Module:
        """As Convolution."""
        found: nn.Module = pyg.SAGEConv(self.lin_l.in_features, self.lin_l.out_features, aggr="mean", bias=False)
        return found


class SAGE(GNN):
    """Mean aggregation; ReLU and dropout between layers; no batch normalisation."""

    conv = SAGEConv


MODEL = SAGE

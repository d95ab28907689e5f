"""The convolutions on bipartite blocks, each equal to PyTorch Geometric's of the same name.

Parameters carry that library's names, so that state dicts are interchangeable (tested). Every random number comes
from a generator that is handed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch
from torch import nn
from torch.nn import functional as F

from hone.gnn.aggregate import (
    destinations,
    estimated_sum,
    neighbour_mean,
    neighbour_sum,
    not_to_others,
    of_destinations,
    of_sources,
    row_max,
    row_sum,
)

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from hone.gnn.aggregate import SlotBlock
    from hone.gnn.batch import Block


class Dropping(Protocol):
    """Dropout that brings its own random numbers."""

    def __call__(self, x: Tensor, p: float) -> Tensor:
        """As `dropout`, of which each call in a step has a mask of its own."""
        ...


class Padding(Protocol):
    """Says which rows of a padded matrix count."""

    def batch_norm(self, x: Tensor, norm: BatchNorm) -> Tensor:
        """What `norm` does in training, with the statistics of the rows that count."""
        ...


def linear(inputs: int, outputs: int, generator: Generator, *, bias: bool = True) -> nn.Linear:
    """A linear map initialised as SALIENT does: xavier_uniform with ReLU's gain, bias zero."""
    # By way of `meta`, because the constructor's own initialisation would draw from the global generator.
    layer = nn.Linear(inputs, outputs, bias=bias, device="meta").to_empty(device="cpu")
    nn.init.xavier_uniform_(layer.weight, nn.init.calculate_gain("relu"), generator=generator)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def dropout(x: Tensor, p: float, generator: Generator | Dropping | None) -> Tensor:
    """Zero a share p of the elements and scale the others; without a generator, as in inference, nothing is done."""
    if generator is None or p == 0.0:
        return x
    if not isinstance(generator, torch.Generator):
        return generator(x, p)
    kept = torch.empty_like(x, dtype=torch.bool).bernoulli_(1 - p, generator=generator)
    return x * kept * (1 / (1 - p))


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation that takes its running statistics where one row or none gives no statistics of its own.

    Such batches exist: an epoch's last, or one that other ranks have the seeds of.
    """

    padding: Padding | None = None
    """Of the matrices that come in training; None: all their rows count."""

    def forward(self, x: Tensor) -> Tensor:
        """(rows, features) -> the same shape."""
        if self.training and self.padding is not None:
            return self.padding.batch_norm(x, self)
        if self.training and len(x) < 2:
            return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        normalised: Tensor = super().forward(x)
        return normalised


class SAGEConv(nn.Module):
    """W_l mean(neighbours) + W_r x, without bias (Hamilton et al. 2017)."""

    def __init__(self, inputs: int, outputs: int, generator: Generator) -> None:
        super().__init__()
        self.lin_l = linear(inputs, outputs, generator, bias=False)
        self.lin_r = linear(inputs, outputs, generator, bias=False)

    def forward(self, x: Tensor, block: Block | SlotBlock, own: Tensor | None = None) -> Tensor:
        """x (num_src, inputs) -> (num_dst, outputs); `own` (num_dst, inputs) replaces the first rows of x."""
        neighbours: Tensor = self.lin_l(neighbour_mean(x, block))
        own_part: Tensor = self.lin_r(x[: block.num_dst] if own is None else own)
        return neighbours + own_part


class GATConv(nn.Module):
    """Attention with one head over the neighbours and the node itself, without bias (Velickovic et al. 2018).

    As in PyTorch Geometric every node attends to itself exactly once, whether the graph has self-loops or not.
    """

    NEGATIVE_SLOPE = 0.2

    def __init__(self, inputs: int, outputs: int, generator: Generator) -> None:
        super().__init__()
        self.lin = linear(inputs, outputs, generator, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, 1, outputs))
        self.att_dst = nn.Parameter(torch.empty(1, 1, outputs))
        for vector in (self.att_src, self.att_dst):
            nn.init.xavier_uniform_(vector, generator=generator)

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


class GINConv(nn.Module):
    """MLP(x + sum of neighbours) with epsilon 0 (Xu et al. 2019); the MLP is Linear-BN-ReLU-Linear-ReLU.

    The only one here whose values grow with the number of neighbours, and so the only one that reads `Block.scale`.
    """

    def __init__(self, inputs: int, outputs: int, generator: Generator) -> None:
        super().__init__()
        self.nn = nn.Sequential(
            linear(inputs, outputs, generator), BatchNorm(outputs), nn.ReLU(),
            linear(outputs, outputs, generator), nn.ReLU(),
        )  # fmt: skip

    def forward(self, x: Tensor, block: Block | SlotBlock) -> Tensor:
        """x (num_src, inputs) -> (num_dst, outputs)."""
        result: Tensor = self.nn(x[: block.num_dst] + estimated_sum(x, block))
        return result

"""What the layers of all models are made of: linear maps, dropout, batch normalisation.

Every random number comes from a generator that is handed in.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import nn
from torch.nn import functional as F

from hone.core.errors import ConfigError

if TYPE_CHECKING:
    from torch import Generator, Tensor


LEAKY_SLOPE = 0.01
"""Of leaky ReLU below zero; PyTorch's own."""


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

    def activated(self, x: Tensor, norm: BatchNorm, skip: Tensor, p: float, dropping: Any) -> Tensor:
        """As the function `activated` in training; `dropping` is of the padding's own kind."""
        ...


def linear(inputs: int, outputs: int, generator: Generator, *, bias: bool = True) -> nn.Linear:
    """A linear map that begins as PyTorch's and PyTorch Geometric's: all uniform within 1 / sqrt(inputs).

    SALIENT's code asks for xavier_uniform instead. That reaches PyTorch's own linear maps inside a convolution alone,
    and PyTorch Geometric has had others since 2.0, for which SALIENT's instructions are. See `xavier`.
    """
    # By way of `meta`, because the constructor's own initialisation would draw from the global generator.
    layer = nn.Linear(inputs, outputs, bias=bias, device="meta").to_empty(device="cpu")
    bound = 1 / math.sqrt(inputs) if inputs else 0.0
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -bound, bound, generator=generator)
    return layer


def xavier(layer: nn.Linear, generator: Generator, gain: float = 1.0) -> nn.Linear:
    """The map with other weights, uniform within gain * sqrt(6 / (inputs + outputs)); its bias stays."""
    nn.init.xavier_uniform_(layer.weight, gain, generator=generator)
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


def activated(x: Tensor, norm: BatchNorm, skip: Tensor, p: float, generator: Generator | Dropping | None) -> Tensor:
    """x (rows, d) -> dropout(leaky ReLU(norm(x))) + skip, of the same shape; a padding may do it in one pass."""
    if norm.training and norm.padding is not None and generator is not None:
        return norm.padding.activated(x, norm, skip, p, generator)
    return dropout(F.leaky_relu(norm(x), LEAKY_SLOPE), p, generator) + skip


class Convolution(nn.Module):
    """A layer of a model; `forward` takes x (num_src, inputs) and a block, and gives (num_dst, outputs)."""

    def counterpart(self, pyg: Any) -> nn.Module:
        """The convolution of `pyg`, the module `torch_geometric.nn`, of these sizes; drawn parameters are replaced.

        Raises ConfigError for a layer that has none.
        """
        remedy = "take pyg and full_batch out of the training's systems"
        raise ConfigError(f"{type(self).__name__} has no counterpart in PyTorch Geometric", remedy=remedy)

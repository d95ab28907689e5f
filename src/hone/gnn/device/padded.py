"""A hop of a batch in its room as the layers of `hone.gnn.layers` read it: shapes are the room's, whatever the batch.

Neighbours of destination i lie in slots i * fanout and on; how many rows, neighbours and sources there are lies in
device memory. Rows that only fill up the room have finite values that nobody looks at, and gradients of zero.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from hone.gnn.device.native import ActivationView, ColumnsView, DropoutView, RunningView, address
from hone.gnn.layers import LEAKY_SLOPE, BatchNorm

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.device.memory import BatchRoom
    from hone.gnn.device.native import Library

PARTS = 2048
"""Partial sums over the rows of a matrix at most: enough threads for a GPU."""
NONE = ActivationView(DropoutView(None, 0.0, 0), 0, 1.0)
"""Normalising alone."""


class PaddedBlock:
    """One layer of a batch: a `SlotBlock` for `hone.gnn.aggregate`, and a `Padding` for `hone.gnn.layers`.

    Of a batch in a room that numbers all hops. Sums and their gradients are kernels, the gradients without atomics.
    """

    def __init__(self, batch: BatchRoom, number: int, library: Library, indptr: Tensor | None = None) -> None:
        """Hop `number` of the batch; with `indptr`, the graph's, sums stand for those over all neighbours (`scale`)."""
        self.hop, self.library = batch.hops[number], library
        self.num_dst, self.num_src, self.fanout = self.hop.rows, self.hop.sources, self.hop.view.fanout
        self.count = batch.sizes[number : number + 1]
        """(1,) int32: destinations that there are."""
        self.scale = None if indptr is None else self._scale(batch.nodes[: self.num_dst].long(), indptr)

    def _scale(self, nodes: Tensor, indptr: Tensor) -> Tensor:
        """(num_dst,) float32: as `hone.gnn.scaled` has it."""
        degree = (indptr[nodes + 1] - indptr[nodes]).clamp(min=1)
        return degree.float() / self.degrees().clamp(min=1)

    # ------------------------------------------------------------------------------------------ as a SlotBlock

    def degrees(self) -> Tensor:
        """(num_dst,) int32."""
        rows = torch.arange(self.num_dst, dtype=torch.int32, device=self.count.device)
        return self.hop.degrees * (rows < self.count)

    def destinations(self) -> Tensor:
        """(slots,) int32."""
        return self._destinations

    def of_sources(self, values: Tensor) -> Tensor:
        """(num_src,) float32 -> (slots,); zero where a slot holds nothing."""
        found: Tensor = _OfSources.apply(values, self)  # type: ignore[no-untyped-call]
        return found

    def of_destinations(self, values: Tensor) -> Tensor:
        """(num_dst,) -> (slots,)."""
        return values[:, None].expand(-1, self.fanout).reshape(-1)

    def not_to_others(self) -> Tensor:
        """(slots,) bool."""
        return (self.hop.neighbours == self._destinations) | self._absent

    def neighbour_sum(self, x: Tensor, weights: Tensor | None) -> Tensor:
        """x (num_src, d) float32 or bfloat16, weights (slots,) of the same type or none -> (num_dst, d)."""
        total: Tensor = _NeighbourSum.apply(x, weights, self)  # type: ignore[no-untyped-call]
        return total

    def sum_of_dropped(self, x: Tensor, p: float, dropping: HashDropout) -> tuple[Tensor, Tensor]:
        """x (num_src, d) -> (num_dst, d) twice: the sum over the neighbours behind dropout, and the rows themselves."""
        total, own = _DroppedSum.apply(x, self, *dropping.site(p))  # type: ignore[no-untyped-call]
        return total, own

    def row_max(self, values: Tensor) -> Tensor:
        """(slots,) -> (num_dst,); no gradient."""
        return values.detach().masked_fill(self._absent, -torch.inf).view(-1, self.fanout).amax(dim=1)

    def row_sum(self, values: Tensor) -> Tensor:
        """(slots,) -> (num_dst,)."""
        return values.masked_fill(self._absent, 0.0).view(-1, self.fanout).sum(dim=1)

    @cached_property
    def _destinations(self) -> Tensor:
        return self.of_destinations(torch.arange(self.num_dst, dtype=torch.int32, device=self.count.device))

    @cached_property
    def _absent(self) -> Tensor:
        """(slots,) bool: those that hold nothing."""
        slots = torch.arange(self.fanout, dtype=torch.int32, device=self.count.device)
        return (slots >= self.degrees()[:, None]).view(-1)

    # -------------------------------------------------------------------------------------------- as a Padding

    def batch_norm(self, x: Tensor, norm: BatchNorm) -> Tensor:
        """Of the destinations that there are: x (num_dst, d) -> the same shape; keeps running statistics as PyTorch."""
        normalised: Tensor = _BatchNorm.apply(x, norm.weight, norm.bias, None, norm, self, NONE)  # type: ignore[no-untyped-call]
        return normalised

    def activated(self, x: Tensor, norm: BatchNorm, skip: Tensor, p: float, dropping: HashDropout) -> Tensor:
        """Of the destinations that there are, as `hone.gnn.layers.activated`: x and skip (num_dst, d) -> that shape."""
        activation = ActivationView(*dropping.site(p), LEAKY_SLOPE)
        found: Tensor = _BatchNorm.apply(x, norm.weight, norm.bias, skip.to(x.dtype), norm, self, activation)  # type: ignore[no-untyped-call]
        return found


class HashDropout:
    """Dropout of one step by a hash of (key of the batch, which of its dropouts, row, column); no mask is stored.

    A `Dropping` for `hone.gnn.layers`, good for one pass forward. The share is rounded to 16 bits.
    """

    def __init__(self, key: Tensor, library: Library) -> None:
        """`key` is (1,) int64, of the batch."""
        self._key, self._library, self._site = key, library, 0

    def __call__(self, x: Tensor, p: float) -> Tensor:
        """x (rows, d) float32 or bfloat16 -> the same shape."""
        dropped: Tensor = _Dropout.apply(x, self._library, *self.site(p))  # type: ignore[no-untyped-call]
        return dropped

    def site(self, p: float) -> tuple[DropoutView, int]:
        """The next of the step's dropouts, which has a mask of its own."""
        self._site += 1
        return DropoutView(address(self._key), 1.0 / (1.0 - p), round(p * 65536)), self._site


def _is_wide(x: Tensor) -> int:
    """Whether a matrix is float32, for the kernels. Raises TypeError for one that is not bfloat16 either."""
    if x.dtype not in (torch.float32, torch.bfloat16):
        raise TypeError(f"the device system's kernels take float32 or bfloat16, not {x.dtype}")
    return int(x.dtype == torch.float32)


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, library: Library, view: DropoutView, site: int) -> Tensor:
        ctx.told = library, view, site
        return _dropped(x, *ctx.told)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        return _dropped(gradients[0], *ctx.told), None, None, None


def _dropped(x: Tensor, library: Library, view: DropoutView, site: int) -> Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    library.call("drop", x, _is_wide(x), *x.shape, view, site, out)
    return out


class _OfSources(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, block: PaddedBlock) -> Tensor:
        ctx.block = block
        out = values.new_empty(block.num_dst * block.fanout)
        block.library.call("slots_of_sources", block.hop.view, values.contiguous(), out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        block: PaddedBlock = ctx.block
        gradient, hop = gradients[0].contiguous(), block.hop
        out = gradient.new_empty(block.num_src)
        block.library.call("sum_of_slots", hop.view, hop.offsets, hop.readers, gradient, out)
        return out, None


class _NeighbourSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weights: Tensor | None, block: PaddedBlock) -> Tensor:
        x = x.contiguous()
        weights = None if weights is None else weights.contiguous()
        ctx.block = block
        ctx.save_for_backward(x if weights is not None else None, weights)
        out = x.new_empty(block.num_dst, x.shape[1])
        block.library.call("sum_of_neighbours", block.hop.view, x, weights, _is_wide(x), x.shape[1], out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        block: PaddedBlock = ctx.block
        x, weights = ctx.saved_tensors
        gradient, hop, call = gradients[0].contiguous(), block.hop, block.library.call
        wide, width = _is_wide(gradient), gradient.shape[1]
        for_x = for_weights = None
        if ctx.needs_input_grad[0]:
            for_x = gradient.new_empty(block.num_src, width)
            call("sum_of_readers", hop.view, hop.offsets, hop.readers, gradient, weights, wide, width, for_x)
        if weights is not None and ctx.needs_input_grad[1]:
            products = torch.empty(len(weights), device=gradient.device)
            call("products_of_slots", hop.view, gradient, x, wide, width, products)
            for_weights = products.to(weights.dtype)
        return for_x, for_weights, None


class _DroppedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, block: PaddedBlock, view: DropoutView, site: int) -> tuple[Tensor, Tensor]:
        x = x.contiguous()
        ctx.told = block, view, site
        out = x.new_empty(block.num_dst, x.shape[1])
        block.library.call("sum_of_dropped", block.hop.view, x, _is_wide(x), x.shape[1], view, site, out)
        return out, x[: block.num_dst].clone()  # a view would make autograd copy all of its gradient

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        block, view, site = ctx.told
        of_sum, of_rows = (gradient.contiguous() for gradient in gradients)
        hop, width = block.hop, of_sum.shape[1]
        out = of_sum.new_empty(block.num_src, width)
        block.library.call(
            "gradient_of_dropped", hop.view, hop.offsets, hop.readers, of_sum, of_rows, _is_wide(of_sum), width, view,
            site, out,
        )  # fmt: skip
        return out, None, None, None


class _BatchNorm(torch.autograd.Function):
    """Batch normalisation, and what stands behind it in the same pass: leaky ReLU, dropout and a sum."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, skip: Tensor | None, norm: BatchNorm, block: PaddedBlock,
        activation: ActivationView,
    ) -> Tensor:  # fmt: skip
        x, skip = x.contiguous(), None if skip is None else skip.contiguous()
        mean, scale, several = _statistics(x, norm, block)
        ctx.block, ctx.activation, ctx.skips = block, activation, skip is not None
        ctx.save_for_backward(x, weight, bias, mean, scale, several)
        out = torch.empty_like(x)
        columns = ColumnsView(*map(address, (mean, scale, weight, bias)))
        block.library.call("normalise", x, skip, _is_wide(x), *x.shape, columns, activation, out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None, None, None, None]:
        block: PaddedBlock = ctx.block
        activation: ActivationView = ctx.activation
        x, weight, bias, mean, scale, several = ctx.saved_tensors
        gradient, columns = gradients[0].contiguous(), ColumnsView(*map(address, (mean, scale, weight, bias)))
        call, wide, (rows, width) = block.library.call, _is_wide(x), x.shape
        parts = min(rows, PARTS)
        sums = torch.empty(2, parts, width, device=x.device)
        call("gradient_moments", block.count, gradient, x, wide, width, columns, activation, parts, sums[0], sums[1])
        both = sums.sum(dim=1)
        means = both * (several / block.count.clamp(min=1))  # without statistics of its own: zero
        out = torch.empty_like(x)
        call(
            "gradient_of_normalised", block.count, gradient, x, wide, rows, width, columns, activation, means[0],
            means[1], out,
        )  # fmt: skip
        return out, both[1], both[0], gradient if ctx.skips else None, None, None, None


def _statistics(x: Tensor, norm: BatchNorm, block: PaddedBlock) -> tuple[Tensor, Tensor, Tensor]:
    """What to normalise with, (d,) float32: mean, one over the deviation; and whether they are the rows' own, (1,).

    Takes them into the running statistics, too; one row or none has none of its own.
    """
    assert norm.running_mean is not None and norm.running_var is not None and norm.num_batches_tracked is not None
    call, (rows, width) = block.library.call, x.shape
    parts = min(rows, PARTS)
    means, squares = torch.empty(2, parts, width, device=x.device)
    call("moments", block.count, x, _is_wide(x), width, parts, means, squares)
    mean, scale, several = (torch.empty(size, device=x.device) for size in (width, width, 1))
    kept = map(address, (norm.running_mean, norm.running_var, norm.num_batches_tracked))
    running = RunningView(*kept, norm.momentum or 0.0)
    call("join_moments", block.count, means, squares, parts, width, norm.eps, running, mean, scale, several)
    return mean, scale, several

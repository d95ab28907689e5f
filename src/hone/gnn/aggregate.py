"""Sums and means over the sampled neighbours of a block, forward and backward, without materialising edges.

`embedding_bag` gathers and adds in one pass. Its own backward, and `index_add`, are several times slower on a CPU and
atomic on a GPU; here the backward is the same operation on the transposed block, so that it is deterministic too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch.nn.functional import embedding_bag

from hone.gnn.batch import Block
from hone.gnn.layers import dropout

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from hone.gnn.layers import Dropping


class SlotBlock(Protocol):
    """A block of another layout, which does by itself what the functions of the same names do with a `Block`.

    Its edges are slots, of which some may hold nothing; they count nothing in any result.
    """

    num_dst: int
    num_src: int
    scale: Tensor | None

    def degrees(self) -> Tensor:
        """(num_dst,)."""
        ...

    def destinations(self) -> Tensor:
        """(slots,)."""
        ...

    def of_sources(self, values: Tensor) -> Tensor:
        """(num_src,) -> (slots,)."""
        ...

    def of_destinations(self, values: Tensor) -> Tensor:
        """(num_dst,) -> (slots,)."""
        ...

    def not_to_others(self) -> Tensor:
        """(slots,) bool."""
        ...

    def neighbour_sum(self, x: Tensor, weights: Tensor | None) -> Tensor:
        """(num_src, d) -> (num_dst, d)."""
        ...

    def sum_of_dropped(self, x: Tensor, p: float, dropping: Any) -> tuple[Tensor, Tensor]:
        """(num_src, d) -> (num_dst, d): `neighbour_sum` behind dropout, and the first rows as they are.

        `dropping` is of the block's own kind.
        """
        ...

    def row_max(self, values: Tensor) -> Tensor:
        """(slots,) -> (num_dst,)."""
        ...

    def row_sum(self, values: Tensor) -> Tensor:
        """(slots,) -> (num_dst,)."""
        ...


def degrees(block: Block | SlotBlock) -> Tensor:
    """(num_dst,) number of sampled neighbours, in the block's integer type."""
    if not isinstance(block, Block):
        return block.degrees()
    return block.indptr[1:] - block.indptr[:-1]


def destinations(block: Block | SlotBlock) -> Tensor:
    """(edges,) the destination of each edge."""
    if not isinstance(block, Block):
        return block.destinations()
    rows = torch.arange(block.num_dst, device=block.indptr.device, dtype=block.indptr.dtype)
    return torch.repeat_interleave(rows, degrees(block), output_size=block.num_edges)


def transposed(block: Block) -> tuple[Tensor, Tensor]:
    """(num_src + 1,) row pointers by source, and (edges,) the edges' numbers in that order."""
    ordered, edges = torch.sort(block.indices, stable=True)
    bounds = torch.arange(block.num_src + 1, device=ordered.device, dtype=ordered.dtype)
    return torch.searchsorted(ordered, bounds, out_int32=ordered.dtype == torch.int32), edges


def of_sources(values: Tensor, block: Block | SlotBlock) -> Tensor:
    """(num_src,) -> (edges,): each edge's value of its source."""
    return values.index_select(0, block.indices) if isinstance(block, Block) else block.of_sources(values)


def of_destinations(values: Tensor, block: Block | SlotBlock, rows: Tensor) -> Tensor:
    """(num_dst,) -> (edges,): each edge's value of its destination; `rows` are the block's `destinations`."""
    return values.index_select(0, rows) if isinstance(block, Block) else block.of_destinations(values)


def not_to_others(block: Block | SlotBlock, rows: Tensor) -> Tensor:
    """(edges,) bool: whether an edge is from a node to itself, or none; `rows` are the block's `destinations`."""
    return block.indices == rows if isinstance(block, Block) else block.not_to_others()


def neighbour_sum(x: Tensor, block: Block | SlotBlock, weights: Tensor | None = None) -> Tensor:
    """Row i is the sum over the neighbours j of i of `weights[edge] * x[j]`.

    x (num_src, d), weights (edges,) in x's data type or none, result (num_dst, d); a row without neighbours is zero.
    """
    if not isinstance(block, Block):
        return block.neighbour_sum(x, weights)
    total: Tensor = _NeighbourSum.apply(x, weights, block)  # type: ignore[no-untyped-call]
    return total


def estimated_sum(x: Tensor, block: Block | SlotBlock) -> Tensor:
    """Row i is what x adds up to over all neighbours of i, as far as the block tells: (num_src, d) -> (num_dst, d).

    The sum over the row, scaled up where the block has factors.
    """
    total = neighbour_sum(x, block)
    return total if block.scale is None else (total * block.scale[:, None]).to(total.dtype)


def neighbour_mean(x: Tensor, block: Block | SlotBlock) -> Tensor:
    """Row i is the mean of x over the neighbours of i, zero where there are none: (num_src, d) -> (num_dst, d)."""
    return neighbour_sum(x, block) * _shares(block, x)


def dropped_mean(
    x: Tensor, block: Block | SlotBlock, p: float, generator: Generator | Dropping | None
) -> tuple[Tensor, Tensor]:
    """Each row's mean of dropout(x) over its neighbours, and the rows of x: (num_src, d) -> (num_dst, d) twice.

    A block of another layout does it without writing dropout(x), and adds up both gradients of x in one pass.
    """
    if isinstance(block, Block) or generator is None or p == 0.0:
        return neighbour_mean(dropout(x, p, generator), block), x[: block.num_dst]
    total, own = block.sum_of_dropped(x, p, generator)
    return total * _shares(block, x), own


def _shares(block: Block | SlotBlock, x: Tensor) -> Tensor:
    """(num_dst, 1) one over the number of neighbours, in x's data type: autocast would widen it, and all of x."""
    return degrees(block).clamp(min=1).float().reciprocal().to(x.dtype)[:, None]


def row_max(values: Tensor, block: Block | SlotBlock) -> Tensor:
    """(edges,) -> (num_dst,): the largest over the edges of each destination, -inf where there is none; no gradient."""
    if not isinstance(block, Block):
        return block.row_max(values)
    lowest = torch.full((block.num_dst,), -torch.inf, dtype=values.dtype, device=values.device)
    return lowest.scatter_reduce(0, destinations(block).long(), values.detach(), "amax")


def row_sum(values: Tensor, block: Block | SlotBlock) -> Tensor:
    """(edges,) -> (num_dst,): the sum over the edges of each destination."""
    if not isinstance(block, Block):
        return block.row_sum(values)
    edges = torch.arange(block.num_edges, device=values.device, dtype=block.indptr.dtype)
    return neighbour_sum(values[:, None], Block(block.indptr, edges, block.num_dst, block.num_edges))[:, 0]


class _NeighbourSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weights: Tensor | None, block: Block) -> Tensor:
        ctx.block = block
        ctx.save_for_backward(x if weights is not None else None, weights)
        return _bags(x, block.indices, block.indptr, weights)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        block: Block = ctx.block
        x, weights = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        rows = destinations(block)
        for_x = for_weights = None
        if ctx.needs_input_grad[0]:
            bounds, edges = transposed(block)
            ordered = None if weights is None else weights.index_select(0, edges)
            for_x = _bags(gradient, rows.index_select(0, edges), bounds, ordered)
        if weights is not None and ctx.needs_input_grad[1]:
            for_weights = (gradient.index_select(0, rows) * x.index_select(0, block.indices)).sum(dim=1)
        return for_x, for_weights, None


def _bags(x: Tensor, indices: Tensor, bounds: Tensor, weights: Tensor | None) -> Tensor:
    return embedding_bag(indices, x, bounds, mode="sum", include_last_offset=True, per_sample_weights=weights)

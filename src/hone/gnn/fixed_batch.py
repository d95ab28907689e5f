"""A batch of fixed sizes that batches are copied into, so that a step on it is the same launches every time.

What a batch lacks is filled up with rows and edges that no loss depends on: nothing in layers or sums knows of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

import torch

from hone.gnn.batch import Batch, Block

MARGIN = 1.05
"""Over the largest of the batches that were measured."""
EDGES_A_ROW = 32
"""Of those that fill up: a row's neighbours are summed one after the other, so that a long row would hold up a step."""
NO_LABEL = -100
"""A label whose loss does not count, by `nll_loss`'s own default."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of a batch there is room for."""

    nodes: int
    rows: tuple[int, ...]
    """Destinations of each block, the outermost first; at least one of them is no batch's."""
    edges: tuple[int, ...]
    seeds: int

    def hold(self, batch: Batch) -> bool:
        """Whether a batch can be copied in: it is not too large, and its rows leave enough for what fills it up."""
        blocks = zip(batch.blocks, self.rows, self.edges, strict=True)
        return (
            batch.blocks[0].num_src <= self.nodes
            and batch.num_seeds <= self.seeds
            and all(_holds(block, rows, edges) for block, rows, edges in blocks)
        )


def _holds(block: Block, rows: int, edges: int) -> bool:
    spare = rows - block.num_dst
    return block.scale is None and spare > 0 and 0 <= edges - block.num_edges <= spare * EDGES_A_ROW


def measured_sizes(batches: Iterable[Batch], seeds: int) -> Sizes:
    """Room for nearly every batch of `seeds` seeds, by some of them; raises ValueError without any."""
    found = [
        (batch.blocks[0].num_src, *((block.num_dst, block.num_edges) for block in batch.blocks)) for batch in batches
    ]
    if not found:
        raise ValueError("no batch to measure")
    nodes, *blocks = zip(*found, strict=True)
    edges = [_wider(max(count for _, count in block)) for block in blocks]
    least = [max(count for count, _ in block) for block in blocks]
    # A whole batch has all its seeds, so the margin leaves their block no row: spare ones take a quarter of the edges.
    own = [*map(_wider, least[:-1]), max(seeds, least[-1])]
    rows = [count + -(-edge // (4 * EDGES_A_ROW)) + 1 for count, edge in zip(own, edges, strict=True)]
    rows = [*accumulate(reversed(rows), max)][::-1]  # a block's destinations are sources of the next
    return Sizes(max(_wider(max(nodes)), rows[0]), tuple(rows), tuple(edges), seeds)


def _wider(count: int) -> int:
    return math.ceil(count * MARGIN)


class FixedBatch:
    """Memory for one batch; what it holds is `batch`, whose tensors and sizes stay the same."""

    def __init__(self, sizes: Sizes, like: Batch) -> None:
        """On the device of `like`, a batch with features and labels, and with their data types."""
        if like.features is None or like.labels is None:
            raise ValueError("a batch to train on has features and labels")
        self.sizes = sizes
        sources = (sizes.nodes, *sizes.rows[:-1])
        blocks = [
            _block(block, *size) for block, *size in zip(like.blocks, sizes.rows, sources, sizes.edges, strict=True)
        ]
        self._ramps = [torch.arange(1, rows + 1, device=like.labels.device) * EDGES_A_ROW for rows in sizes.rows]
        self.features = like.features.new_zeros(sizes.nodes, like.features.shape[1])
        self.labels = like.labels.new_full((sizes.seeds,), NO_LABEL)
        nodes = torch.empty(0, dtype=torch.int32)
        self.batch = Batch(0, 0, nodes, sizes.seeds, tuple(blocks), self.features, self.labels)

    def load(self, batch: Batch) -> None:
        """Copy a batch in that `sizes` hold; asks the device for it and does not wait."""
        assert batch.features is not None and batch.labels is not None
        for block, into, ramp in zip(batch.blocks, self.batch.blocks, self._ramps, strict=True):
            rows, edges = block.num_dst, block.num_edges
            into.indptr[: rows + 1].copy_(block.indptr)
            into.indptr[rows + 1 :].copy_((ramp[: into.num_dst - rows] + edges).clamp_(max=into.num_edges))
            into.indices[:edges].copy_(block.indices)
        self.features[: len(batch.features)].copy_(batch.features)
        self.labels[: batch.num_seeds].copy_(batch.labels)
        self.labels[batch.num_seeds :].fill_(NO_LABEL)


def _block(like: Block, rows: int, sources: int, edges: int) -> Block:
    indptr = like.indptr.new_zeros(rows + 1)
    # Edges that fill up lead anywhere: all to one source would be one long sum on the way back.
    indices = torch.arange(edges, device=indptr.device).remainder_(sources).to(like.indices.dtype)
    return Block(indptr, indices, num_dst=rows, num_src=sources)

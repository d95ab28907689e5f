"""What the sum over a node's drawn neighbours is to be multiplied with, so that it stands for the sum over all.

A draw is uniform and without replacement, so that each of a node's `degree` neighbours is among the `drawn` with the
probability drawn / degree. The drawn sum times degree / drawn is therefore an unbiased estimate of the whole one
(Horvitz and Thompson 1952). Models that take means need no factor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from hone.gnn.aggregate import degrees

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.batch import Batch
    from hone.gnn.graph import Graph
    from hone.gnn.observer import Observer
    from hone.gnn.seeds import Plan
    from hone.gnn.sources import BatchSource


class ScaledSource:
    """The batches of another source, whose blocks have `scale`."""

    def __init__(self, source: BatchSource, graph: Graph) -> None:
        """`source` draws from `graph` and leaves its batches on the host."""
        self._source = source
        self._indptr = graph.tensor("indptr")

    def batches(self, plan: Plan, observer: Observer) -> Iterator[Batch]:
        """As BatchSource."""
        for batch in self._source.batches(plan, observer):
            yield scaled(batch, self._indptr)

    def close(self) -> None:
        """As BatchSource."""
        self._source.close()


def scaled(batch: Batch, indptr: Tensor) -> Batch:
    """The batch with `scale` in its blocks; `indptr` (nodes + 1,) int64 is the graph's.

    Exactly 1 where all neighbours were drawn, also where there are none.
    """
    summing = batch.nodes[: batch.blocks[0].num_dst]  # the outermost hop's, which begin with every other's
    degree = (indptr.index_select(0, summing + 1) - indptr.index_select(0, summing)).clamp(min=1)
    blocks = tuple(
        replace(block, scale=degree[: block.num_dst].float() / degrees(block).clamp(min=1)) for block in batch.blocks
    )
    return replace(batch, blocks=blocks)

"""Neighbour sampling in plain numpy: what a batch is, said as simply as possible.

It is the sampler of the system `plain` and what the C++ sampler's batches are compared with. Its cost grows with the
degrees of the nodes that it expands, not with the fan-outs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hone.gnn.seeds import derived_seed

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.batch import Batch

Ids = NDArray[np.int64]


class ReferenceSampler:
    """Multi-hop sampling without replacement, uniform over neighbours; the frontier is cumulative.

    Each neighbour's turn is decided by a hash of (seed, epoch, batch, hop, node, position), so that a batch depends
    on nothing but these.
    """

    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any], fanouts: Sequence[int], *, seed: int) -> None:
        """`indptr` (nodes + 1,), `indices` (edges,); `fanouts` from the seeds outwards, -1 takes every neighbour."""
        self.indptr = indptr
        self.indices = indices
        self.fanouts = tuple(fanouts)
        self.seed = seed

    def sample(self, seeds: Tensor, batch_index: int, epoch: int) -> Batch:
        """A batch without features and labels; `seeds` int64, each node once."""
        import torch

        from hone.gnn.batch import Batch, Block

        nodes: Ids = np.ascontiguousarray(seeds.numpy(), dtype=np.int64)
        blocks: list[Block] = []
        for hop, fanout in enumerate(self.fanouts):
            counts, neighbours = self._draw(nodes, fanout, derived_seed(self.seed, epoch, batch_index, hop))
            grown, local = _extend(nodes, neighbours)
            indptr = np.zeros(len(nodes) + 1, dtype=np.int32)
            np.cumsum(counts, out=indptr[1:])
            indices = torch.from_numpy(local.astype(np.int32))
            blocks.append(Block(torch.from_numpy(indptr), indices, num_dst=len(nodes), num_src=len(grown)))
            nodes = grown
        ids = torch.from_numpy(nodes.astype(np.int32))
        return Batch(batch_index, epoch, ids, num_seeds=len(seeds), blocks=tuple(reversed(blocks)))

    def _draw(self, nodes: Ids, fanout: int, key: int) -> tuple[Ids, Ids]:
        """How many neighbours each node gets, and the neighbours, row after row in the graph's order."""
        start: Ids = self.indptr[nodes].astype(np.int64)
        degree: Ids = self.indptr[nodes + 1] - start
        row = np.repeat(np.arange(len(nodes)), degree)
        offset = np.arange(len(row)) - np.repeat(np.cumsum(degree) - degree, degree)
        if fanout >= 0:
            turn = _hashed(nodes[row], offset, key)
            by_turn = np.lexsort((turn, row))
            chosen = np.sort(by_turn[offset < fanout])
            row, offset, degree = row[chosen], offset[chosen], np.minimum(degree, fanout)
        return degree, self.indices[start[row] + offset].astype(np.int64)


def _extend(nodes: Ids, neighbours: Ids) -> tuple[Ids, Ids]:
    """The nodes with those neighbours that are new behind them, as first met, and the neighbours' positions there."""
    together = np.concatenate([nodes, neighbours])
    _, first, inverse = np.unique(together, return_index=True, return_inverse=True)
    as_met = np.argsort(first)
    position = np.empty_like(as_met)
    position[as_met] = np.arange(len(as_met))
    return together[first[as_met]], position[inverse[len(nodes) :]]


def _hashed(nodes: Ids, offset: Ids, key: int) -> NDArray[np.uint64]:
    """64 random-looking bits of (node, position, key): SplitMix64's finaliser (Steele, Lea, Flood 2014), twice."""
    return _mixed(_mixed(nodes.astype(np.uint64) ^ np.uint64(key)) + offset.astype(np.uint64))


def _mixed(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))

"""What a batch's kernels must do at least: bytes and floating-point operations from the batch's real sizes.

Bytes are those that a kernel must read and write once when nothing of them is in a cache yet. A word of an array that
is read at random counts SECTOR bytes: less is not brought. What a kernel reads twice counts once, and rows that only
fill up the room count nothing.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from hone.gnn.device.memory import BatchRoom, DeviceGraph

SECTOR = 32
"""Bytes that a GPU's memory gives at a time."""
PRODUCT = ""
"""`KernelWork.launch` of matrix products, whose kernels are not ours and have names that change."""


@dataclass(frozen=True)
class HopCounts:
    """One hop of a batch, or the mean over batches."""

    rows: float
    """Nodes that neighbours were drawn for."""
    edges: float
    index_bytes: float
    """Of the sectors of the graph's indices that have the drawn neighbours."""
    distinct: float
    """Nodes that were drawn."""
    sources: float
    """Nodes after the hop; of the last one 0, because they are not numbered."""


@dataclass(frozen=True)
class BatchCounts:
    """A batch's sizes, or their means."""

    hops: tuple[HopCounts, ...]
    feature_rows: float
    """Distinct nodes of the batch, those of the last hop included."""

    @classmethod
    def of(cls, batch: BatchRoom, graph: DeviceGraph) -> BatchCounts:
        """Of a batch that has been sampled."""
        sizes, hops = batch.sizes.tolist(), []
        drawn = torch.empty(0)
        for number, hop in enumerate(batch.hops):
            rows, fanout = sizes[number], batch.room.fanouts[number]
            degrees, nodes = hop.degrees[:rows], batch.nodes[:rows].long()
            there = torch.arange(fanout, device=degrees.device)[None, :] < degrees[:, None]
            drawn = hop.neighbours[: rows * fanout].view(rows, fanout)[there]
            whole = -(-4 * (graph.indptr[nodes + 1] - graph.indptr[nodes]) // SECTOR)
            sectors = int(torch.minimum(degrees, whole).sum())
            sources = 0 if hop.last else sizes[number + 1]
            hops.append(HopCounts(rows, len(drawn), SECTOR * sectors, _distinct(drawn), sources))
        everyone = batch.nodes[: sizes[batch.room.hops_numbered]]
        if batch.hops[-1].last:
            everyone = torch.cat([everyone, drawn])
        return cls(tuple(hops), _distinct(everyone))

    @classmethod
    def mean(cls, batches: Sequence[BatchCounts]) -> BatchCounts:
        """Over batches of the same hops."""
        number = len(batches)
        hops = [
            HopCounts(*(sum(getattr(hop, name) for hop in same) / number for name in HopCounts.__dataclass_fields__))
            for same in zip(*(batch.hops for batch in batches), strict=True)
        ]
        return cls(tuple(hops), sum(batch.feature_rows for batch in batches) / number)

    @property
    def edges(self) -> float:
        """Of all hops."""
        return sum(hop.edges for hop in self.hops)


@dataclass(frozen=True)
class KernelWork:
    """One launch, or the products between two of ours."""

    kernel: str
    """As tables name it."""
    part: str
    """`sampling`, or `step`."""
    launch: str
    """The kernel's name in its source; PRODUCT."""
    bytes: float
    flops: float = 0.0


def batch_work(
    counts: BatchCounts, widths: Sequence[int], parameters: int, *, deterministic: bool, noting: bool = True,
    unread: frozenset[int] = frozenset(),
) -> list[KernelWork]:  # fmt: skip
    """All of a batch, in the order in which one stream does it.

    `widths` are those of the state before the first layer and after each, as `Weights` fills them up. `noting`: with
    notes of what passes of a state, so that the backward pass reads a bit for each element in place of the state.
    `unread`: hops for which nobody lists who reads a source; where there are any, the first layer's weights get their
    gradient without one of its states.
    """
    return [
        *_sampling(counts, widths[0], deterministic, unread),
        *_forward(counts, widths, noting),
        *_backward(counts, widths, parameters, noting, through_states=bool(unread)),
    ]


def _sampling(counts: BatchCounts, width: int, deterministic: bool, unread: frozenset[int]) -> list[KernelWork]:
    found = [KernelWork("begin_batch", "sampling", "begin_batch", counts.hops[0].rows * (8 + 4 + 4 + 8 + 3 * SECTOR))]
    for number, hop in enumerate(counts.hops, start=1):
        last = number == len(counts.hops)
        of_map = 0.0 if last else 2 * SECTOR * hop.distinct
        drawn = hop.rows * (4 + 4 + SECTOR) + hop.index_bytes + 4 * hop.edges + of_map
        found.append(KernelWork(f"{'draw_neighbours' if last else 'draw'}, hop {number}", "sampling", "draw", drawn))
        nbytes: dict[str, float] = {}
        if not last:
            listed = 4 * hop.rows + 4 * hop.edges  # degrees and neighbours, which all of these read
            fresh = hop.sources - hop.rows
            nbytes["number_nodes"] = listed + SECTOR * hop.distinct + 4 * hop.sources + 8 * fresh
            read = number - 1 not in unread
            nbytes["relabel"] = listed + (SECTOR + 4 + 8 * read) * hop.distinct + (4 + 4 * read) * hop.edges
            if read:
                nbytes["offset_readers"] = 8 * hop.sources
                nbytes["list_readers"] = listed + 8 * hop.edges + 4 * hop.distinct
            if read and deterministic:
                nbytes["sort_readers"] = 4 * hop.sources + 8 * hop.edges
        found += [KernelWork(f"{name}, hop {number}", "sampling", name, count) for name, count in nbytes.items()]
    last_hop = counts.hops[-1]
    gathered = 2 * width * counts.feature_rows + 8 * last_hop.rows + 4 * last_hop.edges + 4 * width * last_hop.rows
    found.append(KernelWork("end_batch", "sampling", "end_batch", 0.0))
    added = width * (last_hop.edges + last_hop.rows)
    found.append(KernelWork("mean_of_features", "sampling", "mean_of_features", gathered, added))
    return found


def _forward(counts: BatchCounts, widths: Sequence[int], noting: bool) -> list[KernelWork]:
    found = []
    for layer, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
        hop = counts.hops[len(widths) - 2 - layer]
        if layer:
            nbytes = 4 * hop.rows + 4 * hop.edges + 2 * inputs * hop.sources + 4 * inputs * hop.rows
            nbytes += inputs / 8 * hop.sources * noting
            added = inputs * (hop.edges + hop.rows)
            found.append(KernelWork(f"mean_of_states, layer {layer + 1}", "step", "mean_of_states", nbytes, added))
        numbers = 2 * inputs * (hop.rows + outputs) + hop.rows * outputs
        flops = 4 * hop.rows * inputs * outputs
        found.append(KernelWork(f"product, layer {layer + 1} forward", "step", PRODUCT, 2 * numbers, flops))
    return found


def _backward(
    counts: BatchCounts, widths: Sequence[int], parameters: int, noting: bool, *, through_states: bool
) -> list[KernelWork]:
    seeds = counts.hops[0].rows
    found = [
        KernelWork("loss_and_gradient", "step", "loss_and_gradient", seeds * (4 * widths[-1] + 8 + 4)),
        KernelWork("sum_losses", "step", "sum_losses", 4 * seeds),
        KernelWork("note_loss", "step", "note_loss", 0.0),
    ]
    for layer in range(len(widths) - 2, 0 if through_states else -1, -1):
        inputs, outputs, hop = widths[layer], widths[layer + 1], counts.hops[len(widths) - 2 - layer]
        nbytes = 2 * hop.rows * (2 * inputs + outputs) + 8 * inputs * outputs
        flops = 4 * hop.rows * inputs * outputs
        if layer:  # and the gradient of the layer's input
            nbytes += 2 * (hop.rows * (2 * inputs + outputs) + 2 * inputs * outputs)
            flops *= 2
        found.append(KernelWork(f"products, layer {layer + 1} backward", "step", PRODUCT, nbytes, flops))
        if layer > through_states:
            passing = inputs * hop.sources * (1 / 8 if noting else 2)
            nbytes = 4 * inputs * hop.rows + 4 * hop.rows + 4 * hop.edges + (4 + 2 * inputs) * hop.sources + passing
            added = inputs * (hop.edges + hop.rows)
            found.append(
                KernelWork(f"gradient_of_states, layer {layer + 1}", "step", "gradient_of_states", nbytes, added)
            )
    if through_states:
        found += _first_weights(counts, widths)
    return [*found, KernelWork("adam", "step", "adam", 30.0 * parameters)]


def _first_weights(counts: BatchCounts, widths: Sequence[int]) -> list[KernelWork]:
    """The gradient of the first layer's weights from that of the second layer's input."""
    inputs, width, hop = 2 * widths[0], widths[1], counts.hops[len(widths) - 3]
    terms, weights = hop.edges + hop.rows, inputs * width
    nbytes = (2 * inputs + width / 8) * hop.sources + 4 * (width * hop.rows + hop.rows + hop.edges) + 4 * weights
    name, summed = "gradient_of_weights", "sum_weight_parts"
    return [
        KernelWork(f"{name}, layer 1", "step", name, nbytes, 2 * terms * weights),
        KernelWork(f"{summed}, layer 1", "step", summed, 8 * weights),  # of one part at least
    ]


def _distinct(nodes: Tensor) -> int:
    return len(torch.unique(nodes))

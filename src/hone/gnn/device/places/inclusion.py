"""How likely a batch has a node: SALIENT++'s vertex-inclusion probabilities, which say whose features to keep close."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

EDGES_A_PART = 1 << 25
"""Whose ends are looked at together: 8 bytes each, on the device."""


def inclusion_probabilities(
    indptr: Tensor, indices: Tensor, seeds: Tensor, batch_size: int, fanouts: Sequence[int],
    edges_a_part: int = EDGES_A_PART,
) -> Tensor:  # fmt: skip
    """(nodes,) float32 on the device of `indptr`: the probability that a random batch has a node after its last hop.

    As if nodes got into a batch independently of each other. A node u is there with p(u), and draws each of its
    neighbours with t(u) = min(1, fan-out / degree). Every hop draws for all nodes found so far:
    1 - p'(v) = (1 - p(v)) * product over v's neighbours u of (1 - t(u) p(u)). Edges go in both directions. `indices`
    may lie on the host: parts of them are brought.
    """
    degrees = indptr.diff()
    absent = torch.zeros(len(degrees), device=indptr.device)
    """Logarithm of the probability not to be there; -inf for nodes that always are."""
    absent[seeds.to(indptr.device)] = torch.tensor(-min(1.0, batch_size / max(1, len(seeds)))).log1p().item()
    for fanout in fanouts:
        drawn = torch.clamp(fanout / degrees, max=1.0)
        not_drawing = absent.expm1().mul_(drawn).log1p_()
        for first, end, part in _parts(indptr, indices, edges_a_part):
            ends = not_drawing.index_select(0, part)
            absent[first:end] += torch.segment_reduce(ends, "sum", lengths=degrees[first:end], initial=0, unsafe=True)
    return absent.expm1_().neg_()


def _parts(indptr: Tensor, indices: Tensor, edges: int) -> Iterator[tuple[int, int, Tensor]]:
    """First row, row behind the last one, and their neighbours; a row with more than `edges` comes alone."""
    first, nodes = 0, len(indptr) - 1
    while first < nodes:
        most = indptr[first] + edges
        end = max(first + 1, int(torch.searchsorted(indptr, most, right=True)) - 1)
        yield first, end, indices[int(indptr[first]) : int(indptr[end])].to(indptr.device)
        first = end


def likeliest(probabilities: Tensor, number: int) -> Tensor:
    """(number,) int64: the nodes with the highest probabilities, in any order."""
    return torch.topk(probabilities, number, sorted=False).indices

"""The graph of a public one's size made where it is used: in a GPU's memory, nothing written.

papers100M at full size on one GPU: 28.4 GB of features (two bytes a number), 12.9 GB of int32 ids, 0.9 GB each of
int64 offsets and labels. While it is made: the ids twice, and about 48 bytes for each entry of a part. Rows are made
in parts, and all edges are drawn again for each of them, so that keys of all edges never lie in memory together. On a
CPU this gives the graph that `like_law.generate` streams; a GPU's random numbers give another one of the same law.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hone.config.graphs import LikeGraph
from hone.core.errors import SourceError
from hone.gnn.datasets.csr import first_pairs
from hone.gnn.datasets.like_law import (
    BLOCK,
    FEATURE_BLOCK,
    Law,
    draw_edges,
    draw_features,
    draw_labels,
    splits,
)
from hone.gnn.device.memory import DeviceGraph

if TYPE_CHECKING:
    import torch
    from torch import Tensor

ENTRIES_A_PART = 600_000_000


@dataclass(frozen=True)
class GeneratedGraph(DeviceGraph):
    """With features of the config's feature_dtype, and what else `hone.gnn.graph.Graph` has."""

    train: Tensor
    """(num_train,) int64, ascending; as are valid and test."""
    valid: Tensor
    test: Tensor
    num_classes: int


@dataclass(frozen=True)
class _Part:
    """Some neighbouring rows."""

    first_row: int
    degrees: Tensor
    """(rows,) int64."""
    columns: Tensor
    """(entries,) int32."""


def generate_on(device: torch.device, entry: LikeGraph, entries_a_part: int = ENTRIES_A_PART) -> GeneratedGraph:
    """The graph of a config's entry; deterministic for its seed and the kind of device, whatever the parts.

    Raises torch's OutOfMemoryError where the graph does not fit.
    """
    import torch

    law = Law.of(entry)
    count = max(-(-law.entries // entries_a_part), 1)
    rows = [law.num_nodes * part // count for part in range(count + 1)]
    parts = [_part(law, first, end, device) for first, end in pairwise(rows)]
    degrees, indices = _joined(law, parts, device)
    nodes = splits(law)
    indptr = torch.zeros(law.num_nodes + 1, dtype=torch.int64, device=device)
    torch.cumsum(degrees, 0, out=indptr[1:])
    return GeneratedGraph(
        indptr=indptr,
        indices=indices,
        features=_features(law, device, getattr(torch, entry.feature_dtype)),
        labels=torch.cat([draw_labels(law, block, device) for block in range(-(-law.num_nodes // BLOCK))]),
        train=nodes["train"].to(device),
        valid=nodes["valid"].to(device),
        test=nodes["test"].to(device),
        num_classes=law.num_classes,
    )


def _part(law: Law, first_row: int, end_row: int, device: torch.device) -> _Part:
    """Draw all edges, keep those of these rows in both directions, sort them, drop duplicates."""
    import torch

    kept = []
    for block in range(-(-law.drawn_edges // BLOCK)):
        ends = draw_edges(law, block, device)
        for rows, columns in (ends, ends[::-1]):
            here = (rows >= first_row) & (rows < end_row) & (rows != columns)
            kept.append((rows[here] - first_row) * law.num_nodes + columns[here])
    keys = torch.unique_consecutive(torch.cat(kept).sort().values)
    del kept
    rows = torch.div(keys, law.num_nodes, rounding_mode="floor")
    return _Part(first_row, torch.bincount(rows, minlength=end_row - first_row), (keys % law.num_nodes).int())


def _joined(law: Law, parts: list[_Part], device: torch.device) -> tuple[Tensor, Tensor]:
    """(num_nodes,) degrees and (entries,) columns of all parts, without the surplus."""
    import torch

    found = sum(len(part.columns) for part in parts)
    pairs, odd = divmod(found - law.entries, 2)
    if pairs < 0 or odd:
        said = f"gives {found} entries, {law.entries} are wanted"
        raise SourceError(said, where=__name__, remedy="report this: the generator draws too few edges")
    dropped = torch.from_numpy(first_pairs(lambda _: _drawn(law, device), law.num_nodes, pairs, BLOCK)).to(device)
    indices = torch.empty(law.entries, dtype=torch.int32, device=device)
    degrees, filled = [], 0
    while parts:
        part = _without(law, parts.pop(0), dropped)
        indices[filled : filled + len(part.columns)] = part.columns
        filled += len(part.columns)
        degrees.append(part.degrees)
    return torch.cat(degrees), indices


def _drawn(law: Law, device: torch.device) -> Iterator[tuple[Any, Any]]:
    for block in range(-(-law.drawn_edges // BLOCK)):
        sources, destinations = draw_edges(law, block, device)
        yield np.asarray(sources.cpu()), np.asarray(destinations.cpu())


def _without(law: Law, part: _Part, dropped: Tensor) -> _Part:
    """The part without the entries that `dropped`, sorted keys of the whole graph, names."""
    import torch

    rows = torch.arange(len(part.degrees), device=dropped.device).repeat_interleave(part.degrees)
    keys = (rows + part.first_row) * law.num_nodes + part.columns
    end_row = part.first_row + len(part.degrees)
    here = dropped[(dropped >= part.first_row * law.num_nodes) & (dropped < end_row * law.num_nodes)]
    stays = torch.ones(len(keys), dtype=torch.bool, device=dropped.device)
    stays[torch.searchsorted(keys, here)] = False
    return _Part(part.first_row, torch.bincount(rows[stays], minlength=len(part.degrees)), part.columns[stays])


def _features(law: Law, device: torch.device, dtype: torch.dtype) -> Tensor:
    import torch

    features = torch.empty(law.num_nodes, law.feature_dim, dtype=dtype, device=device)
    for block in range(-(-law.num_nodes // FEATURE_BLOCK)):
        features[block * FEATURE_BLOCK : (block + 1) * FEATURE_BLOCK] = draw_features(law, block, device)
    return features

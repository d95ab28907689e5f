"""A graph as large as a public one, with degrees like its own, and random features and labels.

Expected degrees are log-normal; an edge joins two nodes drawn in proportion to them (Chung and Lu 2002). No table of
weights is needed: let node i have the quantile (i + 1/2) / n of the distribution LN(mu, sigma). Then a node drawn in
proportion to its weight has the quantile Phi(Z + sigma), Z standard normal, because a size-biased log-normal variable
is LN(mu + sigma^2, sigma). Afterwards ids are scrambled by an affine bijection, so that nothing can be read from them.

SIZES has the numbers of nodes, edges, features, classes and seeds. papers100M at sigma 1.75: about 13 % of the nodes
have no neighbour, and a batch of 1024 seeds with fan-out 15, 10, 5 has about half a million nodes, as measured and
published. products at sigma 1.35: the law promises 517,000 nodes for 1000 seeds with fan-out 10, 10, 10, as published
(LABOR, arXiv 2210.13339). The graphs say nothing about accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hone.config.graphs import LikeGraph
from hone.gnn.datasets.streams import GraphStreams, edge_chunks, row_chunks
from hone.records import GraphSource

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Array = np.ndarray[Any, np.dtype[Any]]
BLOCK = 1 << 18
"""Edges, or rows of labels, of one seed: what is drawn does not depend on how large the chunks are."""
FEATURE_BLOCK = 1 << 12
"""Rows of features of one seed."""
SPARE_SHARE = 5e-3
"""Edges that are drawn beyond those wanted, for duplicates and self-loops: their share, and at least SPARE_EDGES."""
SPARE_EDGES = 200_000
EDGES, FEATURES, LABELS, SPLITS_STREAM = range(4)
"""Streams of random numbers of one seed."""


@dataclass(frozen=True)
class Size:
    """What a public graph holds."""

    nodes: int
    entries: int
    """Of the symmetrised CSR."""
    splits: Mapping[str, int]
    feature_dim: int
    num_classes: int


SIZES = {
    "papers100m_like": Size(
        111_059_956, 3_228_124_712, {"train": 1_207_179, "valid": 125_265, "test": 214_338}, 128, 172
    ),
    "products_like": Size(2_449_029, 2 * 61_859_140, {"train": 196_615, "valid": 39_323, "test": 2_213_091}, 100, 47),
}
"""Kind of the config -> OGB's numbers."""


@dataclass(frozen=True)
class Law:
    """Everything that the graph follows from."""

    num_nodes: int
    feature_dim: int
    num_classes: int
    entries: int
    """Of the CSR: even, each edge counts twice."""
    splits: dict[str, int]
    sigma: float
    seed: int

    @classmethod
    def of(cls, entry: LikeGraph) -> Law:
        """Of a config's entry."""
        size = SIZES[entry.kind]
        nodes = round(size.nodes * entry.scale)
        return cls(
            num_nodes=nodes,
            feature_dim=size.feature_dim,
            num_classes=size.num_classes,
            entries=2 * round(size.entries * entry.scale / 2),
            splits=_scaled(size.splits, entry.scale, nodes),
            sigma=entry.degree_sigma,
            seed=entry.seed,
        )

    @property
    def drawn_edges(self) -> int:
        """Undirected edges of the stream, spare ones included."""
        edges = self.entries // 2
        return edges + max(math.ceil(edges * SPARE_SHARE), min(SPARE_EDGES, edges))

    @property
    def multiplier(self) -> int:
        """Of the bijection of ids: near the golden ratio, so that neighbouring quantiles land far apart."""
        found = max(int(self.num_nodes * 0.618033988749895), 1)
        while math.gcd(found, self.num_nodes) != 1:
            found += 1
        return found


def _scaled(splits: Mapping[str, int], scale: float, nodes: int) -> dict[str, int]:
    """Nodes of each split, at least one and together no more than there are: rounding may add one to each."""
    found = {split: max(round(count * scale), 1) for split, count in splits.items()}
    largest = max(found, key=lambda split: found[split])
    found[largest] -= max(sum(found.values()) - nodes, 0)
    return found


def generate(entry: LikeGraph) -> GraphStreams:
    """The graph of a config's entry, as streams: any scale in bounded memory, the same for the same entry."""
    law = Law.of(entry)
    return GraphStreams(
        num_nodes=law.num_nodes,
        feature_dim=law.feature_dim,
        num_classes=law.num_classes,
        edges=lambda size: _edge_chunks(law, size),
        features=lambda size: _feature_chunks(law, size),
        labels=lambda size: _label_chunks(law, size),
        splits={name: nodes.numpy() for name, nodes in splits(law).items()},
        source=GraphSource(
            kind=entry.kind,
            location=f"hone.gnn.datasets.{entry.kind}",
            parameters={"scale": entry.scale, "degree_sigma": entry.degree_sigma, "seed": entry.seed},
        ),
        self_loops=False,
        num_stream_edges=law.drawn_edges,
        entries=law.entries,
    )


def draw_edges(law: Law, block: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Both ends, (n,) int64 each, of the edges of a block: n is BLOCK, or what is left in the last block.

    A device has its own generator: a CPU and a GPU give different graphs of the same law.
    """
    import torch

    count = min(BLOCK, law.drawn_edges - block * BLOCK)
    normal = torch.randn(2, count, dtype=torch.float64, device=device, generator=generator(law, EDGES, block, device))
    quantile = torch.special.ndtr(normal.add_(law.sigma))
    ids = scrambled(law, (quantile.mul_(law.num_nodes)).long().clamp_(max=law.num_nodes - 1))
    return ids[0], ids[1]


def draw_labels(law: Law, block: int, device: torch.device) -> Tensor:
    """(n,) int64 classes of the nodes of a block."""
    import torch

    count = min(BLOCK, law.num_nodes - block * BLOCK)
    source = generator(law, LABELS, block, device)
    return torch.randint(law.num_classes, (count,), device=device, generator=source)


def draw_features(law: Law, block: int, device: torch.device) -> Tensor:
    """(n, feature_dim) float32, standard normal, of the nodes of a block of FEATURE_BLOCK."""
    import torch

    count = min(FEATURE_BLOCK, law.num_nodes - block * FEATURE_BLOCK)
    return torch.randn(count, law.feature_dim, device=device, generator=generator(law, FEATURES, block, device))


def splits(law: Law) -> dict[str, Tensor]:
    """train, valid, test -> (n,) int64 node ids, ascending, all different."""
    import torch

    # The bijection once more: a run of numbers becomes ids whose quantiles are spread evenly.
    ids = scrambled(law, scrambled(law, torch.arange(sum(law.splits.values())) + law.seed % law.num_nodes))
    ids = ids[torch.randperm(len(ids), generator=generator(law, SPLITS_STREAM, 0, ids.device))]
    parts = torch.split(ids, list(law.splits.values()))
    return {name: part.sort().values for name, part in zip(law.splits, parts, strict=True)}


def scrambled(law: Law, ids: Tensor) -> Tensor:
    """The bijection of 0 … num_nodes - 1; products stay below 2^54."""
    return (ids % law.num_nodes).mul_(law.multiplier).remainder_(law.num_nodes)


def generator(law: Law, stream: int, block: int, device: torch.device) -> torch.Generator:
    """Random numbers that only (seed, stream, block) decide."""
    import torch

    seed = np.random.SeedSequence((law.seed, stream, block)).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(seed >> np.uint64(1)))


def _edge_chunks(law: Law, size: int) -> Iterator[tuple[Array, Array]]:
    """Blocks joined or cut: a chunk has at most `size` edges."""
    import torch

    blocks = -(-law.drawn_edges // BLOCK)
    joined = max(size // BLOCK, 1)
    for first in range(0, blocks, joined):
        end = min(first + joined, blocks)
        ends = np.empty((2, min(end * BLOCK, law.drawn_edges) - first * BLOCK), np.int64)
        for block in range(first, end):
            place = slice((block - first) * BLOCK, (block - first + 1) * BLOCK)
            for row, drawn in zip(ends, draw_edges(law, block, torch.device("cpu")), strict=True):
                row[place] = drawn
        yield from edge_chunks(ends[0], ends[1])(size)


def _feature_chunks(law: Law, size: int) -> Iterator[Array]:
    import torch

    for block in range(-(-law.num_nodes // FEATURE_BLOCK)):
        yield from row_chunks(draw_features(law, block, torch.device("cpu")).numpy())(size)


def _label_chunks(law: Law, size: int) -> Iterator[Array]:
    import torch

    for block in range(-(-law.num_nodes // BLOCK)):
        yield from row_chunks(draw_labels(law, block, torch.device("cpu")).numpy())(size)

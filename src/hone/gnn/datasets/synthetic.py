"""A graph with planted classes: what a model can learn is known, and that it needs the neighbours.

A degree-corrected stochastic block model (Karrer and Newman 2011, arXiv 1008.3926). Both ends of an edge are drawn
in proportion to log-normal weights. With probability `homophily` the second end is drawn within the class of the
first. Features are a class's random signs times `feature_signal` plus standard normal noise. So one node alone
says little about its class, and the mean over its neighbours says much.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hone.config.graphs import SyntheticGraph
from hone.gnn.datasets.splits import stratified
from hone.gnn.datasets.streams import GraphStreams, edge_chunks, row_chunks
from hone.records import GraphSource

Array = np.ndarray[Any, np.dtype[Any]]


def read(entry: SyntheticGraph, _: Path) -> GraphStreams:
    """The graph of a config's entry, in memory: the same for the same entry."""
    generator = np.random.default_rng(entry.seed)
    labels = generator.permutation(np.arange(entry.nodes) % entry.classes)
    sources, destinations = _edges(entry, labels, generator)
    centres = entry.feature_signal * generator.choice([-1.0, 1.0], size=(entry.classes, entry.feature_dim))
    features = (centres[labels] + generator.standard_normal((entry.nodes, entry.feature_dim))).astype(np.float32)
    return GraphStreams(
        num_nodes=entry.nodes,
        feature_dim=entry.feature_dim,
        num_classes=entry.classes,
        edges=edge_chunks(sources, destinations),
        features=row_chunks(features),
        labels=row_chunks(labels.astype(np.int64)),
        splits=stratified(labels, entry.train_share, entry.valid_share, entry.seed),
        source=GraphSource(
            kind=entry.kind,
            location="hone.gnn.datasets.synthetic",
            parameters=entry.model_dump(exclude={"kind", "memory_mib", "feature_dtype"}),
        ),
        self_loops=False,
        num_stream_edges=len(sources),
    )


def _edges(entry: SyntheticGraph, labels: Array, generator: np.random.Generator) -> tuple[Array, Array]:
    """(edges,) and (edges,) int64 ends of undirected edges, with duplicates and self-loops."""
    count = round(entry.nodes * entry.mean_degree / 2)
    weights = generator.lognormal(0.0, entry.degree_sigma, entry.nodes)
    sources = _drawn(weights, np.arange(entry.nodes), count, generator)
    destinations = _drawn(weights, np.arange(entry.nodes), count, generator)
    within = generator.random(count) < entry.homophily
    for label in range(entry.classes):
        edges = np.flatnonzero(within & (labels[sources] == label))
        members = np.flatnonzero(labels == label)
        destinations[edges] = _drawn(weights[members], members, len(edges), generator)
    return sources, destinations


def _drawn(weights: Array, nodes: Array, count: int, generator: np.random.Generator) -> Array:
    """(count,) of the nodes, in proportion to their weights, with replacement."""
    bounds = np.cumsum(weights)
    drawn: Array = nodes[np.searchsorted(bounds, generator.random(count) * bounds[-1], side="right")]
    return drawn

"""Node-classification graphs of the Open Graph Benchmark (Hu et al. 2020, arXiv 2005.00687), from OGB's own files.

What the `ogb` package knows of a dataset (address, classes) is read from its table; its code is not run. Its loader
holds the whole graph in memory several times over, unpickles its own cache in a way that torch no longer allows,
asks on the terminal, and takes a download for whole that ended early.

Edges, as published by OGB and here read as `num_stream_edges`: ogbn-arxiv 1,166,243 (169,343 nodes), ogbn-products
61,859,140 (2,449,029; each undirected edge once), ogbn-papers100M 1,615,685,872 (111,059,956). Symmetrised and
deduplicated as in SALIENT (torch_sparse's `to_symmetric`), arxiv has 2,315,598 entries.
"""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hone.config.graphs import OGBGraph
from hone.core.errors import ConfigError, SourceError
from hone.gnn.datasets.download import check_sha256, downloaded, unpacked
from hone.gnn.datasets.ogb_csv import CsvGraph, read_ids
from hone.gnn.datasets.ogb_npz import NpzGraph
from hone.gnn.datasets.streams import GraphStreams
from hone.records import GraphSource

Array = np.ndarray[Any, np.dtype[Any]]
PUBLISHED = {
    "ogbn-arxiv": (169_343, 1_166_243),
    "ogbn-products": (2_449_029, 61_859_140),
    "ogbn-papers100M": (111_059_956, 1_615_685_872),
}
"""Nodes and edges, before symmetrisation (ogb.stanford.edu/docs/nodeprop)."""


@dataclass(frozen=True)
class Facts:
    """One column of the `ogb` package's table of datasets."""

    url: str
    num_classes: int
    split: str
    """Folder below `split/`."""
    binary: bool
    """Arrays in `data.npz`, not text in `*.csv.gz`."""


def facts(dataset: str) -> Facts:
    """What the `ogb` package knows of a dataset; raises ConfigError where it is not installed."""
    package = importlib.util.find_spec("ogb")
    if package is None or not package.submodule_search_locations:
        raise ConfigError("the package ogb is not installed", remedy="install envs/requirements.lock")
    table = Path(package.submodule_search_locations[0]) / "nodeproppred" / "master.csv"
    with table.open(encoding="utf-8", newline="") as file:
        column = {row[""]: row[dataset] for row in csv.DictReader(file)}
    return Facts(column["url"], int(column["num classes"]), column["split"], column["binary"] == "True")


def read(entry: OGBGraph, downloads: Path) -> GraphStreams:
    """The graph of a config's entry, from `raw_dir` or else downloaded and unpacked below `downloads`.

    Raises SourceError: a file missing, truncated, not what the config's checksum says; other numbers of nodes or edges
    than the files or OGB say. What streams find out (ids out of range, features that end early) they raise later.
    """
    known = facts(entry.dataset)
    folder = fetch(entry, downloads)
    checksums = {name: check_sha256(folder / name, wanted) for name, wanted in sorted(entry.sha256.items())}
    graph: CsvGraph | NpzGraph = NpzGraph(folder / "raw") if known.binary else CsvGraph(folder / "raw")
    sizes = (graph.num_nodes, graph.num_edges)
    if entry.verify and sizes != PUBLISHED[entry.dataset]:
        said = f"has {sizes[0]} nodes and {sizes[1]} edges, OGB publishes {PUBLISHED[entry.dataset]}"
        remedy = "get the files again; another graph in OGB's format needs verify: false in the config"
        raise SourceError(said, where=str(folder), remedy=remedy)
    return GraphStreams(
        num_nodes=graph.num_nodes,
        feature_dim=graph.feature_dim,
        num_classes=known.num_classes,
        edges=lambda size: _counted(graph, size),
        features=graph.features,
        labels=graph.labels,
        splits=_splits(folder / "split" / known.split),
        source=GraphSource(
            kind=entry.kind,
            location=entry.raw_dir or known.url,
            parameters={
                "dataset": entry.dataset,
                "symmetric": entry.symmetric,
                "deduplicate": entry.deduplicate,
                "edges_read": graph.num_edges,
            },
            sha256=checksums,
        ),
        symmetric=entry.symmetric,
        deduplicate=entry.deduplicate,
        num_stream_edges=graph.num_edges,
    )


def fetch(entry: OGBGraph, downloads: Path) -> Path:
    """Where the files are, fetched first where the entry names no folder; the archive is removed once unpacked."""
    if entry.raw_dir is not None:
        return Path(entry.raw_dir)
    folder = downloads / "ogb" / entry.dataset
    if not folder.is_dir():
        archive = downloaded(facts(entry.dataset).url, downloads / "ogb" / f"{entry.dataset}.zip")
        unpacked(archive, folder)
        archive.unlink()
    return folder


def _counted(graph: CsvGraph | NpzGraph, size: int) -> Iterator[tuple[Array, Array]]:
    """The edges; raises SourceError at the end when there were fewer or more than the files say."""
    found = 0
    for sources, destinations in graph.edges(size):
        found += len(sources)
        yield sources, destinations
    if found != graph.num_edges:
        said = f"holds {found} edges, {graph.num_edges} are announced"
        raise SourceError(said, where=str(graph.folder), remedy="the edge file is truncated: get it again")


def _splits(folder: Path) -> dict[str, Array]:
    return {split: read_ids(folder / f"{split}.csv.gz") for split in ("train", "valid", "test")}

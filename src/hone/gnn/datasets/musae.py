"""Social and web graphs of MUSAE (Rozemberczki et al. 2021, arXiv 1909.13021), and graphs in its format.

A CSV file of links, words of each node as features, and a table with the target. On Facebook that is the type of page,
on GitHub who writes about machine learning, on Twitch who streams for adults, on Wikipedia a page's traffic.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from hone.config.graphs import MusaeGraph
from hone.core.errors import SourceError
from hone.gnn.datasets.musae_files import URL, WIKIPEDIA, checked, fetch
from hone.gnn.datasets.splits import stratified
from hone.gnn.datasets.streams import GraphStreams, RowStream, edge_chunks, row_chunks
from hone.records import GraphSource

__all__ = ["fetch", "read"]
Array = np.ndarray[Any, np.dtype[Any]]
DAMAGED = "get the file again"
TARGETS = ("page_type", "ml_target", "mature", "target")
"""Columns with the classes, of all MUSAE's tables."""
IDS = ("new_id", "id")
"""Columns with the node, the better one first: Twitch's `id` is the streamer's, not the node's."""
WIKIPEDIA_BINS = 5
"""Classes of traffic, as in Geom-GCN (Pei et al. 2020)."""


def read(entry: MusaeGraph, downloads: Path) -> GraphStreams:
    """The graph of a config's entry; links of a node to itself are left out.

    Classes are numbered in the alphabetical order of their names, or ascend with the target. Raises SourceError: a file
    missing or damaged, another checksum, a node without a target.
    """
    paths = fetch(entry, downloads)
    checksums = checked(entry, paths)
    bins = entry.bins or (WIKIPEDIA_BINS if entry.dataset in WIKIPEDIA else None)
    labels, num_classes = _labels(paths["target.csv"], entry.target, bins)
    sources, destinations = _edges(paths["edges.csv"])
    words = _words(paths["features.json"], len(labels))
    features, dim = _features(words, entry.svd_dim)
    return GraphStreams(
        num_nodes=len(labels),
        feature_dim=dim,
        num_classes=num_classes,
        edges=edge_chunks(sources, destinations),
        features=features,
        labels=row_chunks(labels),
        splits=stratified(labels, entry.train_share, entry.valid_share, entry.split_seed),
        source=GraphSource(
            kind=entry.kind,
            location=entry.raw_dir or URL,
            parameters={
                "dataset": entry.dataset or "own",
                "svd_dim": entry.svd_dim or "none",
                "bins": bins or "none",
                "train_share": entry.train_share,
                "valid_share": entry.valid_share,
                "split_seed": entry.split_seed,
            },
            sha256=checksums,
        ),
        self_loops=False,
        num_stream_edges=len(sources),
    )


def _labels(path: Path, target: str | None, bins: int | None) -> tuple[Array, int]:
    """(nodes,) int64 classes, and how many there are."""
    header, rows = _table(path)
    column = _column(header, (target,) if target else TARGETS, path, "write target: with the column of the classes")
    node = _column(header, IDS, path, DAMAGED)
    found = {
        int(_whole(row, node, path, line)): _filled(row, column, path, line) for line, row in enumerate(rows, start=2)
    }
    if sorted(found) != list(range(len(found))):
        raise SourceError("does not name every node from 0 on", where=str(path), remedy=DAMAGED)
    values = [found[page] for page in range(len(found))]
    if bins is not None:
        return _quantiles(values, bins, path), bins
    names, labels = np.unique(values, return_inverse=True)
    if len(names) < 2:
        remedy = "write target: with the column of the classes"
        raise SourceError(f"{column} is the same for all nodes", where=str(path), remedy=remedy)
    if len(names) > len(labels) / 2:
        said = f"{column} has {len(names)} different values for {len(labels)} nodes"
        raise SourceError(said, where=str(path), remedy="write bins: 5 if it is a number, or target: another column")
    return labels.astype(np.int64), len(names)


def _quantiles(values: list[str], bins: int, path: Path) -> Array:
    """(nodes,) int64: which of `bins` equally large parts of the ascending order a number falls into."""
    try:
        numbers = np.array(values, np.float64)
    except ValueError as error:
        raise SourceError(f"bins need a target of numbers: {error}", where=str(path), remedy="leave bins out") from None
    bounds = np.quantile(numbers, np.linspace(0, 1, bins + 1)[1:-1])
    return np.searchsorted(bounds, numbers, side="right").astype(np.int64)


def _edges(path: Path) -> tuple[Array, Array]:
    """Both ends: the first two columns, whatever their names are."""
    header, rows = _table(path)
    if len(header) < 2:
        raise SourceError(f"has {len(header)} columns, not two", where=str(path), remedy=DAMAGED)
    ends = np.array(
        [[int(_whole(row, name, path, line)) for name in header[:2]] for line, row in enumerate(rows, start=2)],
        np.int64,
    ).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _table(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Names of the columns, and the rows, of a CSV file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            return list(reader.fieldnames or ()), list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"not a CSV file: {error}", where=str(path), remedy=DAMAGED) from None


def _column(header: list[str], names: tuple[str, ...], path: Path, remedy: str) -> str:
    """The first of the names that the table has."""
    found = next((name for name in names if name in header), None)
    if found is None:
        said = f"has no column {' or '.join(names)}; it has {', '.join(header) or 'none'}"
        raise SourceError(said, where=str(path), remedy=remedy)
    return found


def _filled(row: dict[str, str], column: str, path: Path, line: int) -> str:
    value = row.get(column)
    if not value:
        raise SourceError(f"{column} is {value!r}", where=f"{path}:{line}", remedy=DAMAGED)
    return value


def _whole(row: dict[str, str], column: str, path: Path, line: int) -> str:
    value = _filled(row, column, path, line)
    if not value.isdecimal():
        raise SourceError(f"{column} is {value!r}", where=f"{path}:{line}", remedy=DAMAGED)
    return value


def _words(path: Path, num_nodes: int) -> Any:
    """(nodes, words) CSR matrix of float32 ones, scipy's."""
    from scipy.sparse import csr_matrix

    try:
        words = json.loads(path.read_text(encoding="utf-8"))
        pages = np.array([int(page) for page in words], np.int64)
        columns = np.array([word for page in words.values() for word in page], np.int64)
        counts = [len(page) for page in words.values()]
    except (ValueError, TypeError, AttributeError) as error:
        raise SourceError(f"truncated or not such a file: {error}", where=str(path), remedy=DAMAGED) from None
    if len(pages) != num_nodes or pages.min() < 0 or pages.max() >= num_nodes or columns.min(initial=0) < 0:
        said = f"has words of {len(pages)} pages, the graph has {num_nodes}"
        raise SourceError(said, where=str(path), remedy=DAMAGED)
    rows = np.repeat(pages, counts)
    matrix = csr_matrix((np.ones(len(columns), np.float32), (rows, columns)), (num_nodes, int(columns.max()) + 1))
    matrix.data[:] = 1  # a word that is there twice
    return matrix


def _features(words: Any, svd_dim: int | None) -> tuple[RowStream, int]:
    """The stream of feature rows, and their length."""
    if svd_dim is None:

        def dense(size: int) -> Any:
            for first in range(0, words.shape[0], size):
                yield words[first : first + size].toarray()

        return dense, words.shape[1]
    reduced = _reduced(words, min(svd_dim, min(words.shape) - 1))
    return row_chunks(reduced), reduced.shape[1]


def _reduced(words: Any, dim: int) -> Array:
    """(nodes, dim) float32: left singular vectors times singular values, largest first.

    A vector's sign is free: its entry that is largest in absolute value is made positive.
    """
    from scipy.sparse.linalg import svds

    start = np.random.default_rng(0).standard_normal(min(words.shape))
    left, values, _ = svds(words.astype(np.float64), k=dim, v0=start)
    order = np.argsort(-values)
    left = left[:, order] * values[order]
    peaks = left[np.abs(left).argmax(axis=0), np.arange(dim)]
    return (left * np.where(peaks < 0, -1.0, 1.0)).astype(np.float32)

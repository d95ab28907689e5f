"""Facebook pages that like each other (Rozemberczki et al. 2021, arXiv 1909.13021), SNAP's facebook-large.

22,470 pages, 171,002 links, words of the page's description as features, four types of page as classes. Taken from
the authors' repository at a fixed commit, whose files have known checksums.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from hone.config.graphs import MusaeGraph
from hone.core.errors import SourceError
from hone.gnn.datasets.download import downloaded
from hone.gnn.datasets.splits import stratified
from hone.gnn.datasets.streams import GraphStreams, RowStream, edge_chunks, row_chunks
from hone.gnn.graph import sha256_of
from hone.records import GraphSource

Array = np.ndarray[Any, np.dtype[Any]]
COMMIT = "5f901232957b6c9985d750aac48cda39a4b24285"
URL = f"https://raw.githubusercontent.com/benedekrozemberczki/MUSAE/{COMMIT}/input"
REMOTE = {
    "edges.csv": "edges/facebook_edges.csv",
    "features.json": "features/facebook.json",
    "target.csv": "target/facebook_target.csv",
}
"""Our name of a file -> path in the repository."""
SHA256 = {
    "edges.csv": ("7c50d8f02a75cc0829577814a1fc14535164daa38d79c3612340c9e9cdbd4022",),
    "features.json": ("ea870537646a93642a0008d38aa9bfeff02018070ba97b1f3f469d9622626436",),
    "target.csv": (
        "7bd96eafea3c2ca40f44bfa9e73642194696c21e38c7b29ed409c32ad14075cd",
        "7ece5e1d29cfb4f6997d83bd70879a61b091cc684de78555e09de2ff65d63767",  # without the pages' names
    ),
}
DAMAGED = "get the file again"


def read(entry: MusaeGraph, downloads: Path) -> GraphStreams:
    """The graph of a config's entry; links of a page to itself are left out.

    Classes are numbered in the alphabetical order of their names. Raises SourceError: a file missing or damaged,
    another checksum, a page without a type.
    """
    paths = fetch(entry, downloads)
    checksums = {name: _checked(name, path, entry.verify) for name, path in paths.items()}
    labels, names = _labels(paths["target.csv"])
    sources, destinations = _edges(paths["edges.csv"])
    words = _words(paths["features.json"], len(labels))
    features, dim = _features(words, entry.svd_dim)
    return GraphStreams(
        num_nodes=len(labels),
        feature_dim=dim,
        num_classes=len(names),
        edges=edge_chunks(sources, destinations),
        features=features,
        labels=row_chunks(labels),
        splits=stratified(labels, entry.train_share, entry.valid_share, entry.split_seed),
        source=GraphSource(
            kind=entry.kind,
            location=entry.raw_dir or URL,
            parameters={
                "dataset": entry.dataset,
                "svd_dim": entry.svd_dim or "none",
                "train_share": entry.train_share,
                "valid_share": entry.valid_share,
                "split_seed": entry.split_seed,
            },
            sha256=checksums,
        ),
        self_loops=False,
        num_stream_edges=len(sources),
    )


def fetch(entry: MusaeGraph, downloads: Path) -> dict[str, Path]:
    """Our name of each file -> where it lies, fetched first where the entry names no folder.

    SNAP puts words before these names.
    """
    if entry.raw_dir is None:
        folder = downloads / "musae" / COMMIT[:12]
        return {name: downloaded(f"{URL}/{path}", folder / name, SHA256[name][0]) for name, path in REMOTE.items()}
    found = {}
    for name in REMOTE:
        matches = sorted(Path(entry.raw_dir).glob(f"*{name}"))
        if len(matches) != 1:
            said = f"has {len(matches)} files that end in '{name}', not one"
            raise SourceError(said, where=entry.raw_dir, remedy="put the file there, or correct raw_dir in the config")
        found[name] = matches[0]
    return found


def _checked(name: str, path: Path, verify: bool) -> str:
    found = sha256_of(path)
    if verify and found not in SHA256[name]:
        remedy = "get the file again; a file of another origin needs verify: false in the config"
        raise SourceError(f"sha256 is {found}, known is {SHA256[name][0]}", where=str(path), remedy=remedy)
    return found


def _labels(path: Path) -> tuple[Array, list[str]]:
    """(nodes,) int64 classes, and their names."""
    pages = {int(row["id"]): row["page_type"] for row in _rows(path, "id", "page_type")}
    if sorted(pages) != list(range(len(pages))):
        raise SourceError("does not name every page from 0 on", where=str(path), remedy=DAMAGED)
    names, labels = np.unique([pages[page] for page in range(len(pages))], return_inverse=True)
    return labels.astype(np.int64), names.tolist()


def _edges(path: Path) -> tuple[Array, Array]:
    rows = list(_rows(path, "id_1", "id_2"))
    ends = np.array([(row["id_1"], row["id_2"]) for row in rows], np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _rows(path: Path, *columns: str) -> list[dict[str, str]]:
    """The rows of a CSV file, in which these columns hold something."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"not a CSV file: {error}", where=str(path), remedy=DAMAGED) from None
    for number, row in enumerate(rows, start=2):
        for column in columns:
            value = row.get(column)
            if not value or (column.startswith("id") and not value.isdecimal()):
                said = f"{column} is {value!r}"
                raise SourceError(said, where=f"{path}:{number}", remedy=DAMAGED)
    return rows


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

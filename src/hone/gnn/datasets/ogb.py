"""Node-classification graphs of the Open Graph Benchmark (Hu et al. 2020, arXiv 2005.00687), from OGB's own files.

What the `ogb` package knows of a dataset (address, classes) is read from its table; its code is not run. Its loader
holds the whole graph in memory several times over, and unpickles its own cache in a way that torch no longer allows.
It also asks on the terminal, and takes a download that ended early for whole.

Edges, as published by OGB and here read as `num_stream_edges`: ogbn-arxiv 1,166,243 (169,343 nodes), ogbn-products
61,859,140 (2,449,029; each undirected edge once), ogbn-papers100M 1,615,685,872 (111,059,956). Symmetrised and
deduplicated as in SALIENT (torch_sparse's `to_symmetric`), arxiv has 2,315,598 entries.

Datasets of one's own in this format are what `ogb.io.DatasetSaver` writes, or tables as OGB's downloads have them.
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
from hone.gnn.datasets.download import check_sha256, downloaded, own_folder, unpacked
from hone.gnn.datasets.ogb_csv import CsvGraph, read_ids
from hone.gnn.datasets.ogb_npz import NpzGraph
from hone.gnn.datasets.saved import Refused, loaded
from hone.gnn.datasets.streams import GraphStreams
from hone.records import GraphSource

Array = np.ndarray[Any, np.dtype[Any]]
PUBLISHED = {
    "ogbn-arxiv": (169_343, 1_166_243),
    "ogbn-products": (2_449_029, 61_859_140),
    "ogbn-papers100M": (111_059_956, 1_615_685_872),
}
"""Nodes and edges, before symmetrisation (ogb.stanford.edu/docs/nodeprop)."""
SPLITS = ("train", "valid", "test")
SAVED_SPLIT = "split_dict.pt"
META = "meta_dict.pt"
"""What `DatasetSaver` writes beside the dataset's folder."""
HETEROGENEOUS = ("edge_index_dict.npz", "triplet-type-list.csv.gz")


@dataclass(frozen=True)
class Facts:
    """One column of the `ogb` package's table of datasets."""

    url: str
    num_classes: int
    split: str
    """Folder below `split/`."""


def facts(dataset: str) -> Facts:
    """What the `ogb` package knows of a dataset; raises ConfigError where it is not installed."""
    package = importlib.util.find_spec("ogb")
    if package is None or not package.submodule_search_locations:
        raise ConfigError("the package ogb is not installed", remedy="install envs/requirements.lock")
    table = Path(package.submodule_search_locations[0]) / "nodeproppred" / "master.csv"
    with table.open(encoding="utf-8", newline="") as file:
        column = {row[""]: row[dataset] for row in csv.DictReader(file)}
    return Facts(column["url"], int(column["num classes"]), column["split"])


def read(entry: OGBGraph, downloads: Path) -> GraphStreams:
    """The graph of a config's entry, from `raw_dir` or else downloaded and unpacked below `downloads`.

    Raises SourceError: a file missing, truncated, not what the config's checksum says; other numbers of nodes or edges
    than the files or OGB say; several types of nodes. What streams find out (ids out of range, features that end early)
    they raise later.
    """
    folder = fetch(entry, downloads)
    known = facts(entry.dataset) if entry.dataset in entry.KNOWN else None
    checksums = {name: check_sha256(folder / name, wanted) for name, wanted in sorted(entry.sha256.items())}
    graph = _graph(folder)
    sizes = (graph.num_nodes, graph.num_edges)
    if entry.published and sizes != PUBLISHED[str(entry.dataset)]:
        said = f"has {sizes[0]} nodes and {sizes[1]} edges, OGB publishes {PUBLISHED[str(entry.dataset)]}"
        remedy = "get the files again; another graph in OGB's format needs another name as dataset, or verify: false"
        raise SourceError(said, where=str(folder), remedy=remedy)
    return GraphStreams(
        num_nodes=graph.num_nodes,
        feature_dim=graph.feature_dim,
        num_classes=_num_classes(entry, folder, graph, known),
        edges=lambda size: _counted(graph, size),
        features=graph.features,
        labels=graph.labels,
        splits=_splits(_split_folder(entry, folder, known)),
        source=GraphSource(
            kind=entry.kind,
            location=entry.raw_dir or (known.url if known else str(folder)),
            parameters={
                "dataset": entry.dataset or "own",
                "symmetric": entry.symmetric,
                "deduplicate": entry.deduplicate,
                "self_loops": entry.self_loops,
                "edges_read": graph.num_edges,
            },
            sha256=checksums,
        ),
        symmetric=entry.symmetric,
        deduplicate=entry.deduplicate,
        self_loops=entry.self_loops,
        num_stream_edges=graph.num_edges,
    )


def fetch(entry: OGBGraph, downloads: Path) -> Path:
    """The folder with `raw/` and `split/`, fetched and unpacked first where the entry names none.

    What was downloaded by name is removed once unpacked. Raises SourceError, MachineError.
    """
    if entry.raw_dir is not None:
        return _root(own_folder(entry, downloads))
    folder = downloads / "ogb" / str(entry.dataset)
    if not folder.is_dir():
        archive = downloaded(facts(str(entry.dataset)).url, downloads / "ogb" / f"{entry.dataset}.zip")
        unpacked(archive, folder)
        archive.unlink()
    return _root(folder)


def _root(folder: Path) -> Path:
    """The folder that holds `raw/`: this one, or one folder below; this one where there is none or more."""
    if (folder / "raw").is_dir():
        return folder
    below = [path.parent for path in folder.glob("*/raw") if path.is_dir()]
    return below[0] if len(below) == 1 else folder


def _graph(folder: Path) -> CsvGraph | NpzGraph:
    """By the files that are there: arrays in `data.npz`, or tables."""
    raw = folder / "raw"
    if not raw.is_dir():
        remedy = (
            "correct raw_dir: a folder or archive with raw/ and split/, as OGB's downloads and its DatasetSaver have"
        )
        raise SourceError("has no folder raw", where=str(folder), remedy=remedy)
    if any((raw / name).exists() for name in HETEROGENEOUS):
        remedy = "save one type of nodes and edges as a graph of its own: there is no model here for several"
        raise SourceError("has several types of nodes or edges", where=str(raw), remedy=remedy)
    return NpzGraph(raw) if (raw / "data.npz").exists() else CsvGraph(raw)


def _num_classes(entry: OGBGraph, folder: Path, graph: CsvGraph | NpzGraph, known: Facts | None) -> int:
    """The config's word first, then OGB's of its own graph, then the saver's, then the labels'."""
    if entry.num_classes is not None:
        return entry.num_classes
    if known is not None and entry.published:
        return known.num_classes
    said = _said_classes(entry, folder)
    if said is not None:
        return said
    highest = max((int(labels.max(initial=0)) for labels in graph.labels(1 << 20)), default=0)
    return max(highest + 1, 2)


def _said_classes(entry: OGBGraph, folder: Path) -> int | None:
    """What `meta_dict.pt` says, in the folder, beside it, or beside the archive; None without such a file."""
    beside = [folder, folder.parent, *([entry.local.parent] if entry.local else [])]
    path = next((place / META for place in beside if (place / META).is_file()), None)
    if path is None:
        return None
    meta = _loaded(path)
    try:
        tasks, classes = int(meta.get("num tasks", 1)), int(meta["num classes"])
    except (AttributeError, KeyError, TypeError, ValueError):
        remedy = "write num_classes: in the config"
        raise SourceError("says no number of classes", where=str(path), remedy=remedy) from None
    if tasks != 1 or classes < 2:
        remedy = "give each node one class: there is no model here for several labels a node, or for numbers"
        raise SourceError(f"has {tasks} tasks and {classes} classes", where=str(path), remedy=remedy)
    return classes


def _split_folder(entry: OGBGraph, folder: Path, known: Facts | None) -> Path:
    wanted = entry.split or (known.split if known is not None and entry.published else None)
    if wanted is not None:
        return folder / "split" / wanted
    found = sorted(path for path in (folder / "split").glob("*") if path.is_dir())
    if len(found) != 1:
        names = ", ".join(path.name for path in found)
        remedy = f"write split: with one of {names}" if found else "put one there, such as split/<name>/train.csv.gz"
        raise SourceError(f"has {len(found)} splits, not one", where=str(folder / "split"), remedy=remedy)
    return found[0]


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
    """train, valid, test -> ids: of `split_dict.pt`, which OGB's loaders prefer, or of three tables."""
    path = folder / SAVED_SPLIT
    if not path.is_file():
        return {split: read_ids(folder / f"{split}.csv.gz") for split in SPLITS}
    saved = _loaded(path)
    try:
        return {split: np.asarray(saved[split]).reshape(-1).astype(np.int64, casting="same_kind") for split in SPLITS}
    except (KeyError, TypeError, ValueError, IndexError) as error:
        said = f"does not hold ids of train, valid and test: {error}"
        raise SourceError(said, where=str(path), remedy="save the split with DatasetSaver.save_split") from None


def _loaded(path: Path) -> Any:
    """A file of the dataset saver's; raises SourceError also where it holds more than arrays and plain values."""
    try:
        return loaded(path)
    except Refused as error:
        remedy = "save the split again as numpy arrays of ids, or as train.csv.gz, valid.csv.gz and test.csv.gz"
        raise SourceError(str(error), where=str(path), remedy=remedy) from None

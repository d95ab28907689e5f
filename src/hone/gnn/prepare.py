"""Graphs of the config -> prepared folders, as `hone.gnn.graph.Graph` opens them.

Memory: `memory_mib` of the entry and 80 MiB bound what is held beside the interpreter and its libraries. A reader
gives chunks that fit; edges are sorted outside memory (`hone.gnn.datasets.csr`); features and labels go straight to
the disk.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from hone.config.graphs import GraphEntry, PublishedGraph
from hone.core.errors import SourceError
from hone.core.files import write_text
from hone.core.progress import progress_bar
from hone.gnn.datasets.csr import Entries, write_csr
from hone.gnn.datasets.streams import FolderWriter, GraphStreams
from hone.gnn.datasets.writing import ArrayFile, as_stored, complete_folder, require_space
from hone.gnn.graph import INFO, STORED_DTYPES, UNLABELLED, sha256_of
from hone.records.gnn import ARRAYS, FeatureDtype, GraphInfo

if TYPE_CHECKING:
    from hone.gnn.datasets.streams import Array

MIB = 1 << 20
DOWNLOADS = Path(".hone/datasets")
"""What was downloaded, kept when `results/` is removed."""


def prepare(name: str, entry: GraphEntry, output: Path, downloads: Path = DOWNLOADS) -> GraphInfo:
    """Make the folder `output` of the config's graph `name`, replacing one that is there; returns its graph.json.

    Raises SourceError when a dataset's file is missing, truncated, inconsistent, or not what its checksum says. Raises
    MachineError when the disk is full, or the GPU that is to draw it is missing or too small.
    """
    found: GraphStreams | FolderWriter = _reader(entry).read(entry, downloads)
    if not isinstance(found, GraphStreams):
        return found(name, output)
    info, entries = _written(name, found, output, entry.feature_dtype, entry.memory_mib * MIB)
    if isinstance(entry, PublishedGraph):
        sys.stderr.writelines(f"{name}: {word}\n" for word in words(found, entries, info))
    return info


def download(entry: GraphEntry, downloads: Path = DOWNLOADS) -> None:
    """Fetch what `prepare` will read, where it must come over the network; raises SourceError, MachineError."""
    if isinstance(entry, PublishedGraph):
        _reader(entry).fetch(entry, downloads)


def _reader(entry: GraphEntry) -> ModuleType:
    return import_module(f"hone.gnn.datasets.{entry.kind}")


def write_graph(
    name: str, streams: GraphStreams, output: Path, feature_dtype: FeatureDtype, memory_bytes: int
) -> GraphInfo:
    """Write a stream's graph as the folder `output`; all of it or nothing. Raises as `prepare`."""
    return _written(name, streams, output, feature_dtype, memory_bytes)[0]


def words(streams: GraphStreams, entries: Entries, info: GraphInfo) -> list[str]:
    """What a graph's user may not expect of it: edges that were merged or left out, splits without nodes."""
    said = []
    if repeats := entries.repeats(streams):
        again = "again, or in the other direction too," if streams.symmetric else "again"
        said.append(f"{repeats:,} of {entries.read:,} edges are there {again} and count once")
    if entries.loops_read:
        fate = "kept" if streams.self_loops else "left out"
        said.append(f"{entries.loops_read:,} edges from a node to itself are {fate}")
    if entries.loops_read and streams.self_loops and streams.symmetric and not streams.deduplicate:
        said.append("an edge from a node to itself counts twice: it also counts backwards")
    if not info.num_valid:
        said.append("no node is for validation: write validation: null in trainings on this graph")
    if not info.num_test:
        said.append("no node is for testing: write inference: {splits: [valid]} in trainings on this graph")
    return said


def _written(
    name: str, streams: GraphStreams, output: Path, feature_dtype: FeatureDtype, memory_bytes: int
) -> tuple[GraphInfo, Entries]:
    """As `write_graph`, with what became of the edges."""
    row_bytes = streams.feature_dim * np.dtype(STORED_DTYPES[feature_dtype]).itemsize + 16
    keys = (streams.num_stream_edges or 0) * (2 if streams.symmetric else 1)
    require_space(output, streams.num_nodes * row_bytes + keys * 12)
    with complete_folder(output) as folder:
        _write_features(streams, folder, feature_dtype, memory_bytes)
        _write_labels(streams, folder, memory_bytes)
        _write_splits(streams, folder)
        entries = write_csr(streams, folder, memory_bytes)
        info = GraphInfo(
            name=name,
            num_nodes=streams.num_nodes,
            num_edges=entries.written,
            feature_dim=streams.feature_dim,
            feature_dtype=feature_dtype,
            num_classes=streams.num_classes,
            num_train=len(streams.splits["train"]),
            num_valid=len(streams.splits["valid"]),
            num_test=len(streams.splits["test"]),
            source=streams.source,
            sha256={f"{array}.npy": sha256_of(folder / f"{array}.npy") for array in ARRAYS},
        )
        write_text(folder / INFO, info.model_dump_json(indent=2) + "\n")
    return info, entries


def _write_features(streams: GraphStreams, folder: Path, feature_dtype: FeatureDtype, memory_bytes: int) -> None:
    """In chunks of an eighth of the memory, counting four bytes a number: readers hold copies of other types."""
    size = max(memory_bytes // (8 * 4 * streams.feature_dim), 1)
    stored = STORED_DTYPES[feature_dtype]
    with (
        ArrayFile(folder / "features.npy", stored, streams.feature_dim) as file,
        progress_bar("features", -(-streams.num_nodes // size), wanted=streams.num_nodes > size) as advance,
    ):
        for rows in streams.features(size):
            chunk = as_stored(rows, feature_dtype)
            if rows.dtype.kind == "f":
                _check_finite(streams, rows, chunk, feature_dtype, file.rows)
            file.append(chunk)
            advance()
    _check_rows(streams, "features", file.rows)


def _check_finite(streams: GraphStreams, rows: Array, chunk: Array, feature_dtype: FeatureDtype, first: int) -> None:
    """Infinity and NaN would pass through training as such; `chunk` holds the rows as they are stored."""
    bad = (chunk & 0x7F80) == 0x7F80 if feature_dtype == "bfloat16" else ~np.isfinite(chunk)
    if not bad.any():
        return
    row, column = (int(index) for index in np.argwhere(bad)[0])
    value = rows[row, column]
    where = f"feature {column} of node {first + row} is {value:g}"
    if np.isfinite(value):
        said = f"{where}, too large for {feature_dtype}"
        larger = "bfloat16 or float32" if feature_dtype == "float16" else "float32"
        remedy = f"write feature_dtype: {larger} for this graph, or scale the features"
        if abs(value) > np.finfo(np.float32).max:
            remedy = "scale the features"
    else:
        said = f"{where}, in this row {int((~np.isfinite(rows[row])).sum())} of {rows.shape[1]} features are no numbers"
        remedy = "replace it in the file, by 0 or the feature's mean for instance; no feature_dtype helps"
    raise SourceError(said, where=streams.source.location, remedy=remedy)


def _write_labels(streams: GraphStreams, folder: Path, memory_bytes: int) -> None:
    with ArrayFile(folder / "labels.npy", np.int64) as file:
        for labels in streams.labels(max(memory_bytes // 64, 1)):
            file.append(labels)
    _check_rows(streams, "labels", file.rows)
    labels = np.load(folder / "labels.npy", mmap_mode="r")
    for split, nodes in streams.splits.items():
        _check_ids(streams, split, nodes)
        found = labels[nodes]
        if len(found) and (found == UNLABELLED).any():
            count = int((found == UNLABELLED).sum())
            said = f"{count} of the {len(nodes)} nodes of the split '{split}' have no label"
            remedy = "label them, or take them out of the split"
            raise SourceError(said, where=streams.source.location, remedy=remedy)
        if len(found) and (found.min() < 0 or found.max() >= streams.num_classes):
            said = f"the split '{split}' has labels outside 0 to {streams.num_classes - 1}"
            remedy = "number the classes from 0 on, and leave num_classes out or write how many there are"
            raise SourceError(said, where=streams.source.location, remedy=remedy)


def _write_splits(streams: GraphStreams, folder: Path) -> None:
    everyone = np.sort(np.concatenate([np.asarray(streams.splits[name], np.int64) for name in ARRAYS[4:]]))
    if (everyone[1:] == everyone[:-1]).any():
        twice = int(everyone[1:][everyone[1:] == everyone[:-1]][0])
        said = f"node {twice} is in the splits twice"
        remedy = "leave each node in one split, once; or get the split's files again"
        raise SourceError(said, where=streams.source.location, remedy=remedy)
    for split in ARRAYS[4:]:
        with ArrayFile(folder / f"{split}.npy", np.int64) as file:
            file.append(np.sort(np.asarray(streams.splits[split], np.int64)))


def _check_ids(streams: GraphStreams, split: str, nodes: Array) -> None:
    if split == "train" and not len(nodes):
        said = "the split 'train' is empty"
        raise SourceError(said, where=streams.source.location, remedy="put nodes to train on into it")
    if len(nodes) and (nodes.min() < 0 or nodes.max() >= streams.num_nodes):
        wrong = int(nodes[(nodes < 0) | (nodes >= streams.num_nodes)][0])
        said = f"the split '{split}' has the node {wrong}; the graph's nodes are 0 to {streams.num_nodes - 1}"
        raise SourceError(said, where=streams.source.location, remedy="get the split's files again")


def _check_rows(streams: GraphStreams, what: str, rows: int) -> None:
    if rows != streams.num_nodes:
        said = f"has {what} of {rows} nodes, the graph has {streams.num_nodes}"
        raise SourceError(said, where=streams.source.location, remedy=f"the file of {what} is truncated: get it again")

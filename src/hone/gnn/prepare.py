"""Graphs of the config -> prepared folders, as `hone.gnn.graph.Graph` opens them.

Memory: `memory_mib` of the entry and 80 MiB bound what is held beside the interpreter and its libraries. A reader
gives chunks that fit; edges are sorted outside memory (`hone.gnn.datasets.csr`); features and labels go straight to
the disk.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from hone.config.graphs import GraphEntry, PublishedGraph
from hone.core.errors import SourceError
from hone.core.files import write_text
from hone.core.progress import progress_bar
from hone.gnn.datasets.csr import write_csr
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

    Raises SourceError when a dataset's file is missing, truncated, not what its checksum says, or denies itself;
    MachineError when the disk is full, or the GPU that is to draw it is missing or too small.
    """
    found: GraphStreams | FolderWriter = _reader(entry).read(entry, downloads)
    if not isinstance(found, GraphStreams):
        return found(name, output)
    return write_graph(name, found, output, entry.feature_dtype, entry.memory_mib * MIB)


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
    row_bytes = streams.feature_dim * np.dtype(STORED_DTYPES[feature_dtype]).itemsize + 16
    keys = (streams.num_stream_edges or 0) * (2 if streams.symmetric else 1)
    require_space(output, streams.num_nodes * row_bytes + keys * 12)
    with complete_folder(output) as folder:
        _write_features(streams, folder, feature_dtype, memory_bytes)
        _write_labels(streams, folder, memory_bytes)
        _write_splits(streams, folder)
        num_edges = write_csr(streams, folder, memory_bytes)
        info = GraphInfo(
            name=name,
            num_nodes=streams.num_nodes,
            num_edges=num_edges,
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
    return info


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
                _check_finite(streams, chunk, feature_dtype, file.rows)
            file.append(chunk)
            advance()
    _check_rows(streams, "features", file.rows)


def _check_finite(streams: GraphStreams, chunk: Array, feature_dtype: FeatureDtype, first: int) -> None:
    """Infinity and NaN would pass through training as such."""
    bad = (chunk & 0x7F80) == 0x7F80 if feature_dtype == "bfloat16" else ~np.isfinite(chunk)
    if bad.any():
        row = first + int(bad.any(axis=1).argmax())
        remedy = "set feature_dtype: bfloat16 or float32" if feature_dtype == "float16" else "get the files again"
        said = f"features of node {row} are no finite numbers as {feature_dtype}"
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
            raise SourceError(said, where=streams.source.location, remedy="get the label file again")
        if len(found) and (found.min() < 0 or found.max() >= streams.num_classes):
            said = f"the split '{split}' has labels outside 0 to {streams.num_classes - 1}"
            raise SourceError(said, where=streams.source.location, remedy="get the label file again")


def _write_splits(streams: GraphStreams, folder: Path) -> None:
    everyone = np.sort(np.concatenate([np.asarray(streams.splits[name], np.int64) for name in ARRAYS[4:]]))
    if (everyone[1:] == everyone[:-1]).any():
        twice = int(everyone[1:][everyone[1:] == everyone[:-1]][0])
        said = f"node {twice} is in the splits twice"
        raise SourceError(said, where=streams.source.location, remedy="get the split's files again")
    for split in ARRAYS[4:]:
        with ArrayFile(folder / f"{split}.npy", np.int64) as file:
            file.append(np.sort(np.asarray(streams.splits[split], np.int64)))


def _check_ids(streams: GraphStreams, split: str, nodes: Array) -> None:
    if split == "train" and not len(nodes):
        said = "the split 'train' is empty"
        raise SourceError(said, where=streams.source.location, remedy="get the split's files again")
    if len(nodes) and (nodes.min() < 0 or nodes.max() >= streams.num_nodes):
        wrong = int(nodes[(nodes < 0) | (nodes >= streams.num_nodes)][0])
        said = f"the split '{split}' has the node {wrong}; the graph's nodes are 0 to {streams.num_nodes - 1}"
        raise SourceError(said, where=streams.source.location, remedy="get the split's files again")


def _check_rows(streams: GraphStreams, what: str, rows: int) -> None:
    if rows != streams.num_nodes:
        said = f"has {what} of {rows} nodes, the graph has {streams.num_nodes}"
        raise SourceError(said, where=streams.source.location, remedy=f"the file of {what} is truncated: get it again")

"""The kind `pyg`: a `Data` of PyTorch Geometric in a file of `torch.save`.

The file may also be what PyTorch Geometric's own datasets keep as `processed/data.pt`, or a dictionary with the same
keys. It is read whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hone.config.graphs import PyGGraph
from hone.core.errors import SourceError
from hone.gnn.datasets.download import own_files
from hone.gnn.datasets.ogb_csv import as_labels
from hone.gnn.datasets.saved import Refused, loaded
from hone.gnn.datasets.splits import stratified
from hone.gnn.datasets.streams import GraphStreams, edge_chunks, row_chunks
from hone.gnn.graph import UNLABELLED, sha256_of
from hone.records import GraphSource

if TYPE_CHECKING:
    from torch import Tensor

Array = np.ndarray[Any, np.dtype[Any]]
MASKS = {"train": ("train_mask",), "valid": ("val_mask", "valid_mask"), "test": ("test_mask",)}
"""Split -> the mask's names."""
HOW = "torch.save(Data(x=…, edge_index=…, y=…, train_mask=…, val_mask=…, test_mask=…), path)"


def read(entry: PyGGraph, downloads: Path) -> GraphStreams:
    """The graph of a config's entry. Raises SourceError: no such file, more than tensors in it, a part missing or of
    another shape.
    """
    path = fetch(entry, downloads)
    data = _data(path, entry.trusted)
    features = _features(data, path)
    sources, destinations = _edges(data, path)
    labels = _labels(data, len(features), path)
    known = labels[labels != UNLABELLED]
    return GraphStreams(
        num_nodes=len(features),
        feature_dim=features.shape[1],
        num_classes=entry.num_classes or max(int(known.max(initial=0)) + 1, 2),
        edges=edge_chunks(sources, destinations),
        features=row_chunks(features),
        labels=row_chunks(labels),
        splits=_splits(entry, data, labels, path),
        source=GraphSource(
            kind=entry.kind,
            location=entry.raw_dir or str(path),
            parameters={
                "split": entry.split,
                "mask_column": entry.mask_column,
                "symmetric": entry.symmetric,
                "deduplicate": entry.deduplicate,
                "self_loops": entry.self_loops,
            },
            sha256={path.name: sha256_of(path)},
        ),
        symmetric=entry.symmetric,
        deduplicate=entry.deduplicate,
        self_loops=entry.self_loops,
        num_stream_edges=len(sources),
    )


def fetch(entry: PyGGraph, downloads: Path) -> Path:
    """The file, fetched first where the entry names a URL; of a folder, its only file that ends in `.pt`."""
    place = own_files(entry, downloads)
    if place.is_file():
        return place
    found = sorted(path for path in place.rglob("*.pt") if not path.name.startswith("pre_"))
    if len(found) != 1:
        said = f"has {len(found)} files that end in .pt, not one"
        raise SourceError(said, where=str(place), remedy="write the file itself as raw_dir")
    return found[0]


def _data(path: Path, trusted: bool) -> Mapping[str, Any]:
    """The parts by name."""
    try:
        found = loaded(path, safe=_data_classes(), trusted=trusted)
    except Refused as error:
        remedy = f"save tensors alone: {HOW}; or write trusted: true, if you trust whoever made the file"
        raise SourceError(str(error), where=str(path), remedy=remedy) from None
    if isinstance(found, tuple) and found:  # (data, slices, class) of a dataset that PyTorch Geometric keeps
        found = found[0]
    if hasattr(found, "edge_types"):
        remedy = "save one type of nodes and edges as a Data of its own: there is no model here for several"
        raise SourceError("holds several types of nodes or edges", where=str(path), remedy=remedy)
    parts = found.to_dict() if hasattr(found, "to_dict") else found
    if not isinstance(parts, Mapping):
        raise SourceError(f"holds a {type(found).__name__}, not a Data", where=str(path), remedy=f"save it: {HOW}")
    return parts


def _data_classes() -> list[Any]:
    """What a Data is pickled by, beside what PyTorch Geometric itself calls safe: they hold values and run nothing."""
    from hone.gnn.pyg import library

    kinds, storage = library().data.data, library().data.storage
    parts = (storage.BaseStorage, storage.NodeStorage, storage.EdgeStorage, storage.GlobalStorage)
    return [kinds.DataEdgeAttr, kinds.DataTensorAttr, *parts]


def _part(data: Mapping[str, Any], name: str, path: Path) -> Tensor:
    """A dense tensor; raises SourceError where there is none."""
    import torch

    value = data.get(name)
    if value is None:
        known = ", ".join(sorted(str(key) for key, held in data.items() if held is not None)) or "nothing"
        raise SourceError(f"has no {name}; it has {known}", where=str(path), remedy=f"save it: {HOW}")
    if hasattr(value, "to_torch_sparse_csr_tensor"):  # torch_sparse's
        value = value.to_dense()
    if not isinstance(value, torch.Tensor):
        said = f"{name} is a {type(value).__name__}, not a tensor"
        raise SourceError(said, where=str(path), remedy=f"save it: {HOW}")
    dense = value.detach().to_dense() if value.layout != torch.strided else value.detach()
    return dense.as_subclass(torch.Tensor)


def _features(data: Mapping[str, Any], path: Path) -> Array:
    import torch

    x = _part(data, "x", path)
    if x.dim() != 2 or not x.numel():
        said = f"x is {tuple(x.shape)}, not (nodes, numbers)"
        raise SourceError(said, where=str(path), remedy="give every node a row of numbers")
    whole = x if x.dtype in (torch.float16, torch.float32, torch.float64) else x.float()
    return np.ascontiguousarray(whole.numpy())


def _edges(data: Mapping[str, Any], path: Path) -> tuple[Array, Array]:
    import torch

    edges = _part(data, "edge_index", path)
    if edges.dim() != 2 or len(edges) != 2 or edges.dtype not in (torch.int64, torch.int32):
        said = f"edge_index is {tuple(edges.shape)} of {edges.dtype}, not (2, edges) of int64"
        raise SourceError(said, where=str(path), remedy="save sources and destinations as its two rows")
    ends = edges.long().numpy()
    return ends[0], ends[1]


def _labels(data: Mapping[str, Any], nodes: int, path: Path) -> Array:
    y = _part(data, "y", path)
    if len(y) != nodes or y.numel() != nodes:
        said = f"y is {tuple(y.shape)}, not ({nodes},): one class for each row of x"
        raise SourceError(said, where=str(path), remedy="of one-hot rows save y.argmax(dim=1)")
    return as_labels(y.reshape(-1).numpy(), path)


def _splits(entry: PyGGraph, data: Mapping[str, Any], labels: Array, path: Path) -> dict[str, Array]:
    if entry.split == "random":
        return _random(labels, entry)
    return {split: _masked(entry, data, names, len(labels), path) for split, names in MASKS.items()}


def _random(labels: Array, entry: PyGGraph) -> dict[str, Array]:
    """Of the nodes that have a label."""
    known = np.flatnonzero(labels != UNLABELLED)
    parts = stratified(labels[known], entry.train_share, entry.valid_share, entry.split_seed)
    return {split: known[nodes] for split, nodes in parts.items()}


def _masked(entry: PyGGraph, data: Mapping[str, Any], names: tuple[str, ...], nodes: int, path: Path) -> Array:
    import torch

    name = next((name for name in names if data.get(name) is not None), None)
    if name is None:
        known = ", ".join(sorted(key for key, held in data.items() if held is not None))
        remedy = "save the masks with the data, or write split: random"
        raise SourceError(f"has no {names[0]}; it has {known}", where=str(path), remedy=remedy)
    mask = _part(data, name, path)
    if mask.dtype != torch.bool or len(mask) != nodes or mask.dim() > 2:
        said = f"{name} is {tuple(mask.shape)} of {mask.dtype}, not ({nodes},) of bool"
        raise SourceError(said, where=str(path), remedy="save a mask: one bool for each row of x")
    if mask.dim() == 2:
        if entry.mask_column >= mask.shape[1]:
            said = f"{name} has {mask.shape[1]} columns, mask_column is {entry.mask_column}"
            raise SourceError(said, where=str(path), remedy=f"write mask_column: 0 to {mask.shape[1] - 1}")
        mask = mask[:, entry.mask_column]
    return mask.nonzero()[:, 0].numpy()

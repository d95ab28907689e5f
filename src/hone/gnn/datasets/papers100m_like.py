"""The kind `papers100m_like`: a graph as large as a public one, drawn on the CPU or on a GPU."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hone.config.graphs import LikeGraph
from hone.gnn.datasets.like_law import generate
from hone.gnn.datasets.streams import FolderWriter, GraphStreams


def read(entry: LikeGraph, _: Path) -> GraphStreams | FolderWriter:
    """The graph of a config's entry: as streams, or drawn by a GPU when it is written."""
    if entry.device == "cpu":
        return generate(entry)
    import torch

    from hone.gnn.datasets.like_files import prepare_on

    return partial(prepare_on, torch.device(entry.device), entry)

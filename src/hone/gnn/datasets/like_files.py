"""The graph that a GPU draws, as a folder: seconds for the arithmetic, then as fast as the disk is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from hone.config.graphs import LikeGraph
from hone.core.errors import MachineError
from hone.core.files import write_text
from hone.gnn.datasets.like_device import GeneratedGraph, generate_on
from hone.gnn.datasets.writing import ArrayFile, complete_folder, require_space
from hone.gnn.graph import INFO, layout, sha256_of
from hone.records import GraphSource
from hone.records.gnn import ARRAYS, GraphInfo

if TYPE_CHECKING:
    import torch
    from torch import Tensor

CHUNK_BYTES = 1 << 28
"""Of page-locked memory, for each array that is being written."""
WRITERS = 3


def prepare_on(device: torch.device, entry: LikeGraph, name: str, output: Path) -> GraphInfo:
    """Draw a graph on a device and write it as the folder `output`; all of it or nothing.

    Raises MachineError: no room on the disk, no GPU, or too little memory on it.
    """
    import torch

    if device.type == "cuda" and not torch.cuda.is_available():
        raise MachineError("PyTorch sees no GPU", remedy=f"write device: cpu under graphs: {name}:, or use a GPU")
    try:
        made = generate_on(device, entry)
    except torch.OutOfMemoryError as error:
        remedy = f"write device: cpu under graphs: {name}:, or a smaller scale"
        raise MachineError(f"the GPU is too small for this graph: {error}", where=name, remedy=remedy) from None
    info = _info(name, entry, made)
    require_space(output, sum(_tensor(made, array).nbytes for array in ARRAYS))
    with complete_folder(output) as folder, ThreadPoolExecutor(WRITERS) as pool:

        def written(array: str) -> tuple[str, str]:
            path = folder / f"{array}.npy"
            _write(_tensor(made, array), path, info)
            return path.name, sha256_of(path)

        info = info.model_copy(update={"sha256": dict(pool.map(written, ARRAYS))})
        write_text(folder / INFO, info.model_dump_json(indent=2) + "\n")
    return info


def _tensor(made: GeneratedGraph, array: str) -> Tensor:
    found: Tensor = getattr(made, array)
    return found


def _info(name: str, entry: LikeGraph, made: GeneratedGraph) -> GraphInfo:
    """Without checksums."""
    return GraphInfo(
        name=name, num_nodes=len(made.labels), num_edges=len(made.indices), feature_dim=made.features.shape[1],
        feature_dtype=entry.feature_dtype, num_classes=made.num_classes, num_train=len(made.train),
        num_valid=len(made.valid), num_test=len(made.test),
        source=GraphSource(
            kind=entry.kind, location=__name__,
            parameters={
                "scale": entry.scale, "degree_sigma": entry.degree_sigma, "seed": entry.seed, "device": entry.device,
            },
        ),
        sha256={f"{array}.npy": "" for array in ARRAYS},
    )  # fmt: skip


def _write(tensor: Tensor, path: Path, info: GraphInfo) -> None:
    """One array, front to back, by way of one chunk of memory."""
    import torch

    dtype, shape = layout(info)[path.stem]
    rows = max(CHUNK_BYTES // (tensor[:1].nbytes or 1), 1)
    chunk = torch.empty((min(rows, len(tensor)), *shape[1:]), dtype=tensor.dtype, pin_memory=tensor.is_cuda)
    with ArrayFile(path, dtype, *shape[1:]) as file:
        for first in range(0, len(tensor), rows):
            part = tensor[first : first + rows]
            here = chunk[: len(part)].copy_(part)
            file.append((here.view(torch.int16) if here.dtype == torch.bfloat16 else here).numpy().view(dtype))

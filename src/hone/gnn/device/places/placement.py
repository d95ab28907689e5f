"""Where a training's graph and features lie: in the memory of its GPU, of all its GPUs, or of the host."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hone.gnn.device.copies import narrow_dtype, on_device
from hone.gnn.device.memory import DeviceGraph
from hone.gnn.device.places.budget import GIB, FreeMemory, MemoryDemand, cached_rows, chosen, least, memory_demand
from hone.gnn.device.places.host import available_bytes, host_zeros, page_locked
from hone.gnn.device.places.inclusion import inclusion_probabilities, likeliest
from hone.gnn.device.places.peers import peers_within_reach
from hone.gnn.device.places.spread import cached_features, sharded_features

if TYPE_CHECKING:
    from torch import Tensor

    from hone.config.trainings import Placement
    from hone.gnn.distributed import Ranks
    from hone.gnn.graph import Graph
    from hone.records.gnn import Place

PLENTY = 1 << 60
"""Bytes; a CPU stands for a GPU in tests alone, and nobody measures it."""


@dataclass(frozen=True)
class Load:
    """What batches are drawn around a graph's nodes."""

    seeds: Tensor
    """(number,) int64: the nodes that batches are about."""
    batch_size: int
    fanouts: tuple[int, ...]


def measured(device: torch.device, ranks: Ranks) -> FreeMemory:
    """What there is; all processes of a training call it together and get the same."""
    gpu = PLENTY
    if ranks.world > 1:
        torch.distributed.barrier()  # what it keeps on the GPU from now on is not free
    if device.type == "cuda":
        torch.cuda.empty_cache()
        gpu = torch.cuda.mem_get_info(device)[0]
    mine = (platform.node(), gpu, available_bytes(), ranks.world > 1 and peers_within_reach(device, ranks.world))
    everybody: list[Any] = [mine]
    if ranks.world > 1:
        everybody = [None] * ranks.world
        torch.distributed.all_gather_object(everybody, mine)
    return least(everybody)


def placed_graph(
    graph: Graph, device: torch.device, wanted: Placement, load: Load, reserve: int, ranks: Ranks, *,
    dtype: torch.dtype | None = None, log: Path | None = None,
) -> DeviceGraph:  # fmt: skip
    """A graph in the place that is wanted, or that there is memory for; rank 0 says which on the screen and in `log`.

    All processes of a training call it together. Raises MachineError where it does not fit, before anything is loaded.
    """
    free, demand = measured(device, ranks), memory_demand(graph.info, reserve)
    place = chosen(wanted, demand, free, where=str(graph.path))
    if place == "gpu":
        say(description(place, demand, free), ranks, log)
        return DeviceGraph.load(graph, device, dtype)
    indptr, labels = (on_device(graph.tensor(name), device) for name in ("indptr", "labels"))
    edges = graph.tensor("indices")
    on_host = place == "host"
    indices = host_zeros(tuple(edges.shape), edges.dtype).copy_(edges) if on_host else on_device(edges, device)
    features = graph.tensor("features")
    narrow = dtype or narrow_dtype(features)
    if place == "sharded":
        say(description(place, demand, free), ranks, log)
        return DeviceGraph(indptr, indices, sharded_features(features, device, narrow, ranks), labels, place=place)
    hot, hits = _hottest(indptr, indices, load, cached_rows(place, demand, free))
    if on_host:  # not before: a copy must not go over from one locked piece to the next
        indices = page_locked(indices, device)
    say(description(place, demand, free, hits), ranks, log)
    return DeviceGraph(indptr, indices, cached_features(features, hot, device, narrow), labels, place=place)


def _hottest(indptr: Tensor, indices: Tensor, load: Load, number: int) -> tuple[Tensor, float]:
    """The nodes that batches most likely have, on the host, and the share of a batch's nodes that they should be."""
    probabilities = inclusion_probabilities(indptr, indices, load.seeds, load.batch_size, load.fanouts)
    hot = likeliest(probabilities, number)
    all_nodes = float(probabilities.sum(dtype=torch.float64))
    return hot.cpu(), float(probabilities[hot].sum(dtype=torch.float64)) / all_nodes if all_nodes else 1.0


def description(place: Place, demand: MemoryDemand, free: FreeMemory, hits: float = 1.0) -> str:
    """One line for the log. `hits`: the share of a batch's nodes that the cache is expected to have."""
    edges = f"{_gib(demand.indices)} of edges on the {'host' if place == 'host' else 'GPU'}"
    rows = cached_rows(place, demand, free)
    share = f"{rows / max(1, demand.rows):.1%} of them ({_gib(rows * demand.row)})"
    cached = f"on the host but for {share}, the GPU's cache, which should have {hits:.1%} of a batch's nodes"
    where = {"gpu": "on the GPU", "sharded": f"spread over {free.world} GPUs"}.get(place, cached)
    return (
        f"placement: {place}: {edges}, {_gib(demand.features)} of features {where}; "
        f"{_gib(free.gpu_bytes)} of GPU memory free, {_gib(demand.reserve)} kept for batches"
    )


def _gib(size: int) -> str:
    return "plenty" if size >= PLENTY else f"{size / GIB:.1f} GiB"


def say(line: str, ranks: Ranks, log: Path | None) -> None:
    """On the screen and in the log, once for all ranks."""
    if ranks.rank != 0:
        return
    sys.stderr.write(f"{line}\n")
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

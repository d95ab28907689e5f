"""Which placement of a graph and its features there is memory for: pure functions of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hone.core.errors import MachineError
from hone.gnn.device.memory import Room

if TYPE_CHECKING:
    from hone.config.models import GNNModel, HyperParameters
    from hone.config.trainings import Placement
    from hone.records.gnn import GraphInfo, Place

PLACES: tuple[Place, ...] = ("gpu", "sharded", "host_features", "host")
"""The fastest first."""
GIB = 1 << 30
RESERVE_BYTES = 2 * GIB
"""Of GPU memory, for what nobody counts: libraries, captured graphs, fragments."""
HOST_RESERVE_BYTES = 2 * GIB
"""Of host memory, for what is made on the way: masks and lists of nodes, copies under way."""
MAPS = 3
"""Of the nodes, 4 bytes each: of a training's batches, of those that need more room, of validation."""
PASSES = 2
"""Through a model that memory is kept for: those of both groups, each captured by itself; or one that needs more."""
KEPT_STATES = 12
"""Float32 matrices of (destinations, hidden or features) that a step by autograd keeps or makes at most."""


@dataclass(frozen=True)
class MemoryDemand:
    """Bytes of one process's arrays, by where they may lie."""

    kept: int
    """On the GPU whatever the placement: offsets, labels and maps."""
    places: int
    """On the GPU where features lie in several matrices."""
    indices: int
    row: int
    rows: int
    """Of features, `row` bytes each."""
    reserve: int
    """On the GPU: room for batches, and what nobody counts. `placement: gpu` goes without."""

    @property
    def features(self) -> int:
        """All rows."""
        return self.row * self.rows


@dataclass(frozen=True)
class FreeMemory:
    """What there is for each process: the least that one of them has."""

    gpu_bytes: int
    """Free."""
    host_bytes: int
    world: int = 1
    peers: bool = False
    """Whether every GPU reads the memory of all others: they are those of one machine."""


def memory_demand(info: GraphInfo, reserve: int) -> MemoryDemand:
    """Of a graph."""
    nodes, row = info.num_nodes, 2 * padded(info)
    kept = (8 + 8 + 4 * MAPS) * nodes
    return MemoryDemand(kept=kept, places=4 * nodes, indices=4 * info.num_edges, row=row, rows=nodes, reserve=reserve)


def training_reserve(model: GNNModel, hyper: HyperParameters, info: GraphInfo, batches: int) -> int:
    """GPU memory for so many batches of training, for those of validation, and RESERVE_BYTES."""
    trained = room_bytes(model, hyper.hidden, info, hyper.batch_size, hyper.fanouts, batches=batches, passes=PASSES)
    validated = room_bytes(model, hyper.hidden, info, hyper.inference_batch_size, hyper.validation_fanouts)
    return RESERVE_BYTES + trained + validated


def inference_reserve(
    model: GNNModel, hyper: HyperParameters, info: GraphInfo, fanouts: Sequence[tuple[int, ...]]
) -> int:
    """The same for inference with some fan-outs, one after the other."""
    size = hyper.inference_batch_size
    return RESERVE_BYTES + max(room_bytes(model, hyper.hidden, info, size, some) for some in fanouts)


def room_bytes(
    model: GNNModel, hidden: int, info: GraphInfo, batch_size: int, fanouts: tuple[int, ...], *, batches: int = 1,
    passes: int = 1,
) -> int:  # fmt: skip
    """Of batches as large as they can be, and of as many ways through a model."""
    numbered, width = model != "sage", padded(info)
    room = Room.largest(batch_size, fanouts, info.num_nodes, numbered=numbered)
    rows = room.nodes[-1]
    if numbered:  # all nodes' features, which the first layer makes something of
        kept = rows * 8 * width + room.nodes[-2] * KEPT_STATES * 4 * max(hidden, width)
        return batches * (rows * (2 * width + 4) + 16 * room.slots) + passes * kept
    # The first layer's input and the last hop's neighbours; numbers, map, readers and ranks of the other slots.
    batch = rows * (4 * width + 4 * fanouts[-1]) + 16 * room.slots
    # States, their gradients, and what the layer behind makes of them: rows of 16-bit numbers.
    return batches * batch + passes * 12 * hidden * rows


def padded(info: GraphInfo) -> int:
    """Columns of the features on the device."""
    return -(-info.feature_dim // 8) * 8


def chosen(wanted: Placement, demand: MemoryDemand, free: FreeMemory, where: str = "") -> Place:
    """The fastest place that there is memory for, or the one that is wanted.

    Raises MachineError, `where` in its message, when there is too little.
    """
    if wanted == "gpu":
        demand = replace(demand, reserve=0)  # whoever says so knows better
    possible = [place for place in PLACES if place != "sharded" or free.world > 1]
    problems = {place: lacking(place, demand, free) for place in (possible if wanted == "auto" else [wanted])}
    for place, problem in problems.items():
        if not problem:
            return place
    said = "; ".join(f"placement {place} {problem}" for place, problem in problems.items())
    remedy = "train with systems: [pipelined], or on a larger machine"
    if wanted != "auto":
        remedy = f"write placement: auto, without selected kernels, or {remedy}"
    raise MachineError(said, where=where, remedy=remedy)


def lacking(place: Place, demand: MemoryDemand, free: FreeMemory) -> str:
    """What is in the way of a place; empty: nothing."""
    if place == "sharded" and not free.peers:
        return "needs two or more GPUs of one machine that read each other's memory"
    on_gpu = gpu_bytes(place, demand, free.world)
    if on_gpu > free.gpu_bytes:
        return f"needs {on_gpu / GIB:.1f} GiB of GPU memory, {free.gpu_bytes / GIB:.1f} GiB are free"
    on_host = host_bytes(place, demand, free)
    if on_host > free.host_bytes:
        return f"needs {on_host / GIB:.1f} GiB of host memory, {free.host_bytes / GIB:.1f} GiB are available"
    return ""


def gpu_bytes(place: Place, demand: MemoryDemand, world: int) -> int:
    """Of each GPU, without cached rows."""
    shard = demand.row * -(-demand.rows // world)
    further = {
        "gpu": demand.indices + demand.features,
        "sharded": demand.indices + demand.places + shard,
        "host_features": demand.indices + demand.places,
        "host": demand.places,
    }
    return demand.kept + demand.reserve + further[place]


def cached_rows(place: Place, demand: MemoryDemand, free: FreeMemory) -> int:
    """Of a placement with features on the host: those that the GPU has memory left for."""
    if place not in ("host_features", "host"):
        return 0
    left = max(0, free.gpu_bytes - gpu_bytes(place, demand, free.world))
    return min(demand.rows, left // demand.row)


def host_bytes(place: Place, demand: MemoryDemand, free: FreeMemory) -> int:
    """Of each process: page-locked, and HOST_RESERVE_BYTES."""
    if place not in ("host_features", "host"):
        return 0
    others = demand.row * (demand.rows - cached_rows(place, demand, free))
    return others + (demand.indices if place == "host" else 0) + HOST_RESERVE_BYTES


def least(everybody: Sequence[tuple[str, int, int, bool]]) -> FreeMemory:
    """Of (machine, free bytes of its GPU, available bytes of the host, whether it reads its peers) of each process.

    Processes of a machine share its host's memory alike.
    """
    machines = [machine for machine, *_ in everybody]
    host = min(available // machines.count(machine) for machine, _, available, _ in everybody)
    peers = len(everybody) > 1 and len(set(machines)) == 1 and all(reads for *_, reads in everybody)
    return FreeMemory(min(gpu for _, gpu, *_ in everybody), host, len(everybody), peers)

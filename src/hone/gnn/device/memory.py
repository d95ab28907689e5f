"""Graph and features in GPU memory, and room for the batches that are under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from hone.gnn.device.copies import brought, narrow_dtype, on_device, padded_width
from hone.gnn.device.native import DropoutView, GraphView, HopView, address

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.device.places.spread import Features
    from hone.gnn.graph import Graph
    from hone.records.gnn import Place


@dataclass(frozen=True)
class DeviceGraph:
    """A graph whose arrays lie on one device, or where it can read them (`hone.gnn.device.places.placement`)."""

    indptr: Tensor
    """(nodes + 1,) int64."""
    indices: Tensor
    """(edges,) int32."""
    features: Features
    """(nodes, width) float16 or bfloat16; the width is a multiple of 8, filled up with zeros."""
    labels: Tensor
    """(nodes,) int64."""
    place: Place = field(default="gpu", kw_only=True)
    """Where edges and features are."""

    @classmethod
    def load(cls, graph: Graph, device: torch.device, dtype: torch.dtype | None = None) -> DeviceGraph:
        """Copy a graph; features become `dtype`, or stay as they are but for float32, which becomes bfloat16."""
        features = graph.tensor("features")
        narrow = dtype or narrow_dtype(features)
        return cls(
            indptr=on_device(graph.tensor("indptr"), device),
            indices=on_device(graph.tensor("indices"), device),
            features=brought(features, torch.zeros(len(features), padded_width(features), dtype=narrow, device=device)),
            labels=on_device(graph.tensor("labels"), device),
        )

    @property
    def view(self) -> GraphView:
        """For the kernels."""
        return GraphView(address(self.indptr), address(self.indices))


@dataclass(frozen=True)
class Room:
    """How many nodes a batch may have after each hop, the seeds first."""

    nodes: tuple[int, ...]
    """One for each hop, never less than for the hop before, whose nodes come along; and one more where the last hop's
    nodes are numbered, too."""
    fanouts: tuple[int, ...]

    def __post_init__(self) -> None:
        if list(self.nodes) != sorted(self.nodes):
            raise ValueError(f"a hop's nodes need room in the next, too: {self.nodes}")

    @classmethod
    def largest(cls, batch_size: int, fanouts: Sequence[int], num_nodes: int, *, numbered: bool = False) -> Room:
        """Enough for every batch there can be; `numbered`: with room for the last hop's nodes."""
        nodes = [batch_size]
        for fanout in fanouts if numbered else fanouts[:-1]:
            nodes.append(min(nodes[-1] * (1 + fanout), max(num_nodes, batch_size)))
        return cls(tuple(nodes), tuple(fanouts))

    @property
    def hops_numbered(self) -> int:
        """All, or all but the last one."""
        return len(self.nodes) - 1

    @property
    def slots(self) -> int:
        """Numbers that a batch's seeds and drawn neighbours need, as far as nodes are numbered."""
        numbered = self.fanouts[: self.hops_numbered]
        return self.nodes[0] + sum(rows * fanout for rows, fanout in zip(self.nodes, numbered, strict=False))


class HopRoom:
    """One hop's arrays."""

    def __init__(self, index: int, room: Room, first_slot: int, sizes: Tensor) -> None:
        device, last = sizes.device, index == room.hops_numbered
        fanout, rows = room.fanouts[index], room.nodes[index]
        sources = 0 if last else room.nodes[index + 1]

        def numbers(count: int) -> Tensor:
            return torch.zeros(count, dtype=torch.int32, device=device)

        self.last, self.rows, self.sources = last, rows, sources
        """`last`: its neighbours keep their global ids."""
        self.neighbours, self.degrees = numbers(rows * fanout), numbers(rows)
        slots = 0 if last else rows * fanout
        self.counts, self.offsets = numbers(sources), numbers(sources + 1)
        self.ranks, self.readers = numbers(slots), numbers(slots)
        self.view = HopView(
            fanout, index, first_slot, rows, sources, address(self.neighbours), address(self.degrees), address(sizes)
        )


class BatchRoom:
    """Room for one batch, from its seeds to its loss; used again for every batch that takes its turn here."""

    def __init__(self, room: Room, layers: int, device: torch.device, width: int = 0) -> None:
        """`width`: of the features, for a batch that goes through a model; 0: one that is sampled and no more."""
        self.room = room
        self.sizes = torch.zeros(len(room.fanouts) + 1, dtype=torch.int32, device=device)
        """Nodes after each hop, as far as they are numbered."""
        self.overflow = torch.zeros(1, dtype=torch.int32, device=device)
        """1 when there was too little room: the batch is of no use."""
        self.seen_overflow = torch.zeros(1, dtype=torch.int32, pin_memory=device.type == "cuda")
        """The same in the host's memory, as soon as the batch has been waited for."""
        self.global_seeds = torch.zeros(1, dtype=torch.int32, device=device)
        self.nodes = torch.zeros(room.nodes[-1], dtype=torch.int32, device=device)
        self.labels = torch.zeros(room.nodes[0], dtype=torch.int64, device=device)
        """Of the seeds."""
        self.locals = torch.zeros(room.slots, dtype=torch.int32, device=device)
        self.keys = torch.zeros(layers, dtype=torch.int64, device=device)
        self.filled = torch.zeros(len(room.fanouts), 4, dtype=torch.int32, device=device)
        self.keys_apart = torch.zeros(layers, 2, dtype=torch.int64, device=device)
        """Copies for `SelectedOperators`, 16 bytes apart: rows and sources of each hop, and the key of each layer."""
        columns = width if room.hops_numbered == len(room.fanouts) else 2 * width
        self.first_input = torch.zeros(room.nodes[-1], columns, dtype=torch.bfloat16, device=device)
        """[mean of the neighbours | own row] of the features; where all nodes are numbered, the features of all."""
        self.hops: list[HopRoom] = []
        first = room.nodes[0]
        for index, (rows, fanout) in enumerate(zip(room.nodes, room.fanouts, strict=False)):
            self.hops.append(HopRoom(index, room, first, self.sizes))
            first += rows * fanout

    def dropout(self, layer: int, share: float) -> DropoutView:
        """ReLU and dropout behind a layer of this batch."""
        return DropoutView(address(self.keys) + 8 * layer, 1.0 / (1.0 - share), round(share * 65536))

"""Batches sampled on the GPU: the same as the C++ sampler's, node for node, whatever runs there first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from hone.core.errors import ConfigError
from hone.gnn.device.memory import BatchRoom, DeviceGraph, Room
from hone.gnn.device.native import Library, MapView, address
from hone.gnn.device.operators import Operators

if TYPE_CHECKING:
    from hone.gnn.seeds import Plan

CLEARED = -1
"""Larger than every entry: the kernels read the map as unsigned numbers."""
EPOCH, ALL_SEEDS, DRAWN = 1, 4, 7
"""Places in `Progress`."""


class DeviceSampler:
    """Uniform sampling without replacement, hop by hop; nothing in it waits for the host, so it can be captured."""

    def __init__(
        self, graph: DeviceGraph, room: Room, library: Library, *, seed: int, max_seeds: int, world: int = 1,
        rank: int = 0, deterministic: bool = False, operators: Operators | None = None,
        unread: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        """`max_seeds`: the most that an epoch of this process has. Raises ConfigError for fan-outs that it cannot do.

        `deterministic`: the order in which gradients are summed up is the same every time, too. `operators` are the
        library's unless others are given. `unread`: hops for which nobody lists who reads a source.
        """
        for fanout in room.fanouts:
            if not 1 <= fanout <= library.max_fanout:
                remedy = f"use fan-outs of 1 to {library.max_fanout}, or another system"
                raise ConfigError(f"the device system cannot draw {fanout} neighbours", where="fanouts", remedy=remedy)
        device = graph.indptr.device
        self.graph, self.room, self._library = graph, room, library
        self._options = {
            "seed": seed, "max_seeds": max_seeds, "world": world, "rank": rank, "deterministic": deterministic,
            "operators": operators, "unread": unread,
        }  # fmt: skip
        self._operators = operators or Operators(library)
        self.deterministic, self._rank, self._unread = deterministic, rank, unread
        bits = max(1, (room.slots - 1).bit_length())
        self._batches_a_map = max(0, (1 << max(0, 32 - bits)) - 2)
        self._drawn = 0
        num_nodes = len(graph.indptr) - 1
        self._entries = torch.full((num_nodes,), CLEARED, dtype=torch.int32, device=device)
        self._map = MapView(address(self._entries), bits)
        slots = max(rows * fanout for rows, fanout in zip(room.nodes, room.fanouts, strict=False))
        blocks = -(-max(slots, room.nodes[-1] + 1) // library.slots_per_block)
        self._published = torch.zeros(blocks, dtype=torch.int64, device=device)
        self._order = torch.zeros(max_seeds, dtype=torch.int64, device=device)
        self._progress = torch.tensor([seed, 0, 0, 0, 0, room.nodes[0], world, 0], dtype=torch.int64, device=device)

    def with_room(self, room: Room, unread: frozenset[int] | None = None) -> DeviceSampler:
        """One that samples the same batches into other rooms, and lists readers of the same hops unless told."""
        options = self._options if unread is None else {**self._options, "unread": unread}
        return DeviceSampler(self.graph, room, self._library, **options)  # type: ignore[arg-type]

    def begin(self, plan: Plan, batch: int = 0) -> None:
        """Go to a batch of an epoch; on the current stream."""
        mine = plan.order[plan.rank :: plan.world]
        self._order[: len(mine)].copy_(mine, non_blocking=True)
        now = torch.tensor([plan.epoch, batch, len(mine), len(plan.order)], dtype=torch.int64)
        self._progress[EPOCH : ALL_SEEDS + 1].copy_(now, non_blocking=True)

    def make_ready(self, batches: int) -> None:
        """Before so many batches are launched, forget the batches before if their number would not fit into the map.

        Raises ConfigError for batches so large that not even these fit.
        """
        if batches > self._batches_a_map:
            problem = (
                f"a batch of up to {self.room.slots} drawn neighbours leaves the map no room for {batches} batches"
            )
            raise ConfigError(problem, where="batch_size", remedy="use a smaller batch_size, or smaller fan-outs")
        if self._drawn + batches > self._batches_a_map:
            self._entries.fill_(CLEARED)
            self._published.zero_()
            self._progress[DRAWN].zero_()
            self._drawn = 0
        self._drawn += batches

    def sample(self, batch: BatchRoom) -> None:
        """Fill a room with the epoch's next batch; can be captured, `make_ready` comes before."""
        call, progress = self._library.call, self._progress
        call(
            "begin_batch", progress, self._map, self._order, self.graph.labels, batch.nodes, batch.locals,
            batch.labels, batch.sizes, batch.global_seeds, batch.overflow, self.room.nodes[0], self._rank, batch.keys,
            len(batch.keys),
        )  # fmt: skip
        for number, hop in enumerate(batch.hops):
            if hop.last:
                self._operators.draw_neighbours(batch, self.graph, progress)
                continue
            ranks = None if number in self._unread else hop.ranks
            call("draw", progress, self.graph.view, self._map, batch.nodes, hop.view, 0)
            call(
                "relabel", progress, self._map, hop.view, batch.nodes, batch.locals, hop.counts, ranks,
                hop.offsets, hop.readers, self._published, batch.overflow, int(self.deterministic),
            )  # fmt: skip
        call("end_batch", progress, batch.overflow, batch.seen_overflow)

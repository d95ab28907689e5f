"""Features that lie in several places: in the memories of several GPUs, or in a GPU's and the host's, which it reads by
itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from hone.gnn.device.copies import brought, padded_width, rows_at_a_time
from hone.gnn.device.native import SpreadRowsView, address
from hone.gnn.device.places.host import host_zeros, page_locked
from hone.gnn.device.places.peers import everyones

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.distributed import Ranks


class SpreadFeatures:
    """(nodes, width) features, float16 or bfloat16, as rows of several matrices; asked for its shape like a tensor."""

    def __init__(self, bases: Sequence[Tensor], places: Tensor) -> None:
        """`bases`: (rows, width) each, all readable by the device of `places`.

        `places`: (nodes,) int32 on the device, which the kernels read as unsigned: row << bits | base, with as many
        bits as the number of bases needs (`bits_for`).
        """
        self.bases, self.places = tuple(bases), places
        addresses = [address(base) for base in bases]
        self._addresses = torch.tensor(addresses, dtype=torch.int64).to(places.device)
        self.view = SpreadRowsView(address(self._addresses), address(places), bits_for(len(bases)))
        """For the kernels; valid as long as this one lives."""

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.places)

    @property
    def shape(self) -> tuple[int, int]:
        """(nodes, width)."""
        return len(self), self.bases[0].shape[1]

    @property
    def dtype(self) -> torch.dtype:
        """Of the numbers."""
        return self.bases[0].dtype

    @property
    def device(self) -> torch.device:
        """The one that reads them."""
        return self.places.device


Features = torch.Tensor | SpreadFeatures
"""What a `DeviceGraph` may have."""


def bits_for(bases: int) -> int:
    """Of a place, to tell so many bases apart."""
    return (bases - 1).bit_length()


def cached_features(source: Tensor, hot: Tensor, device: torch.device, dtype: torch.dtype) -> SpreadFeatures:
    """The rows of some nodes in the device's memory, the others page-locked in the host's.

    `source`: (nodes, any width) on the host, any type; `hot`: (rows,) int64 there too, the nodes of the cache, in any
    order. Raises MachineError where memory cannot be page-locked.
    """
    is_hot = torch.zeros(len(source), dtype=torch.bool)
    is_hot[hot] = True
    width, number = padded_width(source), int(is_hot.sum())
    cache = torch.zeros(number, width, dtype=dtype, device=device)
    others = host_zeros((len(source) - number, width), dtype)
    _copy_rows(source, is_hot, cache)
    _copy_rows(source, ~is_hot, others)
    return SpreadFeatures((cache, page_locked(others, device)), _cached_places(is_hot.to(device)))


def _copy_rows(source: Tensor, wanted: Tensor, target: Tensor) -> None:
    """The rows that are wanted, to the target's first columns.

    They go through one buffer: memory that is asked for anew costs more than the copies.
    """
    rows, at, columns = rows_at_a_time(source), 0, slice(source.shape[1])
    buffer = torch.empty_like(source[:rows], pin_memory=target.is_cuda)
    for first in range(0, len(source), rows):
        index = wanted[first : first + rows].nonzero().squeeze(1)
        part = buffer[: len(index)]
        torch.index_select(source[first : first + rows], 0, index, out=part)
        target[at : at + len(index), columns] = part.to(target.device)
        at += len(index)


def _cached_places(is_hot: Tensor) -> Tensor:
    """Rows are in the order of the nodes, in the cache (base 0) and in the host's memory (base 1)."""
    rows = torch.where(
        is_hot, torch.cumsum(is_hot, 0, dtype=torch.int32), torch.cumsum(~is_hot, 0, dtype=torch.int32)
    )  # fmt: skip
    return (rows - 1).bitwise_left_shift_(1).bitwise_or_(~is_hot)


def sharded_features(source: Tensor, device: torch.device, dtype: torch.dtype, ranks: Ranks) -> SpreadFeatures:
    """Every process of one machine brings its part, node v to rank v % world, and reads those of all.

    All processes call this together. They keep what they have until no other reads it any more.
    """
    mine = source[ranks.rank :: ranks.world]
    shard = torch.zeros(len(mine), padded_width(source), dtype=dtype, device=device)
    bases = everyones(brought(mine, shard), ranks)
    nodes = torch.arange(len(source), dtype=torch.int32, device=device)
    bases_of = nodes % ranks.world
    places = nodes.div_(ranks.world, rounding_mode="floor").bitwise_left_shift_(bits_for(ranks.world))
    return SpreadFeatures(bases, places.bitwise_or_(bases_of))

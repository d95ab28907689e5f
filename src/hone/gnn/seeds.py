"""The first stage: which nodes each batch of an epoch is about, on one process or on several."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def derived_seed(*parts: int | str) -> int:
    """A seed of 63 bits for one purpose: different parts give unrelated seeds, on every machine the same."""
    text = "".join(f"{len(str(part))}:{part};" for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


@dataclass(frozen=True, slots=True)
class Plan:
    """An epoch's batches: global batch b is the b-th slice of `batch_size * world` nodes of `order`.

    Of each global batch a rank takes every world-th node, so the ranks' batches differ by one node at most. Every
    rank has the same number of batches, the last of which may be empty.
    """

    order: Tensor
    """(number of nodes,) int64."""
    batch_size: int
    """Of one rank."""
    epoch: int = 0
    rank: int = 0
    world: int = 1

    def __len__(self) -> int:
        """Number of batches, on every rank the same."""
        size = self.batch_size * self.world
        return (len(self.order) + size - 1) // size

    def first(self, batches: int) -> Plan:
        """The plan of the epoch's first batches alone."""
        return replace(self, order=self.order[: batches * self.batch_size * self.world])

    def seeds(self, index: int) -> Tensor:
        """This rank's nodes of a global batch, int64; may be empty in the last one."""
        return self._batch(index)[self.rank :: self.world]

    def global_seeds(self, index: int) -> int:
        """Number of nodes of a global batch, over all ranks."""
        return len(self._batch(index))

    def _batch(self, index: int) -> Tensor:
        size = self.batch_size * self.world
        return self.order[index * size : (index + 1) * size]


def shuffled(nodes: Tensor, seed: int, epoch: int) -> Tensor:
    """The nodes in an order of the epoch's own; no generator but its own is touched."""
    import torch

    generator = torch.Generator().manual_seed(derived_seed("order", seed, epoch))
    return nodes[torch.randperm(len(nodes), generator=generator)]


class Orders:
    """The orders of epochs, each made while the epoch before runs: a million nodes take 60 ms to shuffle."""

    def __init__(self, nodes: Tensor, seed: int, epochs: int) -> None:
        """Of `epochs` epochs, as `shuffled` has them."""
        self._nodes, self._seed, self._epochs = nodes, seed, epochs
        self._thread = ThreadPoolExecutor(1)
        self._ahead: dict[int, Future[Tensor]] = {}

    def of(self, epoch: int) -> Tensor:
        """An epoch's; the next one's is begun."""
        ready = self._ahead.pop(epoch, None)
        order = shuffled(self._nodes, self._seed, epoch) if ready is None else ready.result()
        if epoch + 1 < self._epochs:
            self._ahead = {epoch + 1: self._thread.submit(shuffled, self._nodes, self._seed, epoch + 1)}
        return order

    def close(self) -> None:
        """Wait for what was begun, which nobody needs."""
        self._thread.shutdown(cancel_futures=True)

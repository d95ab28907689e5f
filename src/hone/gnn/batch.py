"""One mini-batch on its way through the stages: seeds -> sample -> fetch features -> copy -> step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def nothing_to_release() -> None:
    """Of a batch whose arrays are its own."""


@dataclass(frozen=True, slots=True)
class Block:
    """One layer of a batch: a bipartite graph from `num_src` nodes to the first `num_dst` of them.

    Ids are local: positions in `Batch.nodes`. The neighbours of destination i are
    `indices[indptr[i]:indptr[i + 1]]`; a destination without neighbours has an empty row.
    """

    indptr: Tensor
    """(num_dst + 1,) int32, begins with 0."""
    indices: Tensor
    """(edges,) int32, each below num_src."""
    num_dst: int
    num_src: int
    scale: Tensor | None = None
    """(num_dst,) float32: by this factor the sum over a row stands for the sum over all neighbours; none: by 1."""

    @property
    def num_edges(self) -> int:
        """Sampled edges of this hop."""
        return len(self.indices)

    def tensors(self) -> Iterator[Tensor]:
        """Those that there are."""
        yield from (self.indptr, self.indices)
        if self.scale is not None:
            yield self.scale

    def mapped(self, change: Callable[[Tensor], Tensor]) -> Block:
        """The same block with `change` of each of its tensors."""
        scale = None if self.scale is None else change(self.scale)
        return replace(self, indptr=change(self.indptr), indices=change(self.indices), scale=scale)


@dataclass(frozen=True, slots=True)
class Batch:
    """One mini-batch; stages fill it from left to right.

    The frontier is cumulative, as in PyG's NeighborSampler and in SALIENT: hop h draws neighbours for all nodes
    found so far, so that every layer's destinations are the first nodes of its sources.
    """

    index: int
    """Number of the batch within the epoch; the ranks of a distributed run share it."""
    epoch: int
    nodes: Tensor
    """(num_nodes,) int32 global ids, each once, the seeds first; stays where it was sampled."""
    num_seeds: int
    blocks: tuple[Block, ...]
    """One for each layer, in the order in which a model uses them: the outermost hop first. `blocks[0].num_src` is
    num_nodes, `blocks[-1].num_dst` is num_seeds, and each block's num_dst is the next one's num_src."""
    features: Tensor | None = None
    """(num_nodes, feature_dim), in the graph's data type."""
    labels: Tensor | None = None
    """(num_seeds,) int64."""
    worker: int = 0
    """Which thread or process prepared it."""
    prepared_s: tuple[float, float] = (0.0, 0.0)
    """When its preparation began and ended, by the monotonic clock (Python's perf_counter, C++'s steady_clock)."""
    release: Callable[[], None] = nothing_to_release
    """Gives the memory of all tensors back to whoever lent it; called once, when nobody reads them any more."""

    @property
    def num_edges(self) -> int:
        """Sampled edges of all hops."""
        return sum(block.num_edges for block in self.blocks)

    def device_tensors(self) -> Iterator[Tensor]:
        """The tensors that a step reads."""
        for block in self.blocks:
            yield from block.tensors()
        if self.features is not None:
            yield self.features
        if self.labels is not None:
            yield self.labels

    def mapped(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """The same batch with every tensor that a step reads replaced by `change` of it.

        `nodes` stays where it is: in a sampler's slot it is to be read before the original is released.
        """
        return replace(
            self,
            blocks=tuple(block.mapped(change) for block in self.blocks),
            features=None if self.features is None else change(self.features),
            labels=None if self.labels is None else change(self.labels),
            release=nothing_to_release,
        )

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Batch:
        """A copy on a device; the batch itself where it is there already."""
        if all(tensor.device == device for tensor in self.device_tensors()):
            return self
        return self.mapped(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Batch:
        """A copy in page-locked memory, from which a GPU can read while the host goes on."""
        return self.mapped(lambda tensor: tensor.pin_memory())

    def record_stream(self, stream: torch.cuda.Stream) -> None:
        """Tell the allocator that a stream other than the one that made the tensors uses them."""
        for tensor in self.device_tensors():
            tensor.record_stream(stream)

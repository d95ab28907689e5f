"""Batches from the C++ workers, in order, in memory that is used again."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hone.gnn.sampling.design import Design, best_design
from hone.gnn.sampling.handle import Handle, SamplerError
from hone.gnn.sampling.native import MAX_HOPS, InnerLoop, Library
from hone.gnn.sampling.pages import map_pages
from hone.gnn.slots import slots_for

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.batch import Batch
    from hone.gnn.graph import Graph
    from hone.gnn.seeds import Plan


class Sampler:
    """Multi-hop neighbour sampling without replacement, uniform over neighbours; the frontier is cumulative.

    What a node draws depends on (seed, epoch, batch, hop, node) alone: not on the number of threads, nor on which
    other seeds the batch has. Workers sleep while they have nothing to do, and run without the interpreter's lock.
    """

    def __init__(
        self,
        graph: Graph,
        fanouts: Sequence[int],
        library: Path,
        *,
        seed: int = 0,
        threads: int = 0,
        slots: int | None = None,
        pin_memory: bool = False,
        design: Design | None = None,
        inner_loop: Path | None = None,
    ) -> None:
        """`fanouts` from the seeds outwards, -1 takes every neighbour; `library` comes from `build_sampler`.

        `threads` prepare batches for `epoch`, in `slots` (default: `slots_for`) places; none are needed for `sample`.
        `design` None: the fastest for the graph's size; all give the same batches.
        `inner_loop`: a shared object that draws in the place of the sampler's own inner loop, built from a solution of
        the definition `sample_neighbours`. A right one gives the same batches, which is not checked here.
        `pin_memory`: the slots are page-locked, so that the current CUDA device can read them while the host goes on.
        Raises SamplerError: fan-outs, graph or design that the sampler cannot do; MachineError: no such library or
        inner loop.
        """
        slots = slots_for(threads) if slots is None else slots
        _check(fanouts, threads, slots)
        self.seed = seed
        self._threads = threads
        if threads:  # forked processes, which have none, would not inherit the pages
            map_pages(graph, threads)
        self._handle = Handle(
            Library(library), graph, fanouts, threads=threads, slots=slots, pin_memory=pin_memory,
            design=design or best_design(graph.info.num_nodes),
            inner_loop=InnerLoop(inner_loop) if inner_loop else None,
        )  # fmt: skip
        # At the interpreter's end, too: the workers must be gone before it is, as page-locking calls back into it.
        self._end = weakref.finalize(self, self._handle.halt)
        from hone.gnn.sampling.views import Views

        self._views = Views(self._handle, len(fanouts), graph.info.feature_dim, graph.info.feature_dtype)

    def sample(self, seeds: Tensor, batch_index: int, epoch: int) -> Batch:
        """One batch, in the caller's thread, without features and labels; its arrays are its own.

        `seeds` (n,) int64, each a node and none twice, else SamplerError. May be called in a forked process.
        """
        found = self._handle.sample(seeds, self.seed, epoch, batch_index)
        return self._views.sampled(found, epoch)

    def epoch(self, plan: Plan) -> Iterator[Batch]:
        """The plan's batches in order, with features and labels; closing the iterator ends the epoch.

        A batch's arrays lie in a slot that it holds until its `release`; with all slots held no batch can come.
        Raises SamplerError: bad seeds, no memory, all slots held, batches of an earlier epoch still held.
        """
        if self._threads == 0:
            raise SamplerError("no threads to prepare batches", where="sampler", remedy="ask for 1 or more")
        if not self._end.alive:
            raise SamplerError("closed", where="sampler", remedy="open another")
        self._handle.start([plan.seeds(index) for index in range(len(plan))], self.seed, plan.epoch)
        try:
            while (found := self._handle.next()) is not None:
                yield self._views.prepared(found, plan.epoch)
        finally:
            self._handle.stop()

    def close(self) -> None:
        """End the workers; may be called again. Batches that were given out stay valid while somebody has them."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check(fanouts: Sequence[int], threads: int, slots: int) -> None:
    if not 1 <= len(fanouts) <= MAX_HOPS or any(fanout < -1 for fanout in fanouts):
        said = f"cannot sample with fan-outs {list(fanouts)}"
        raise SamplerError(
            said, where="fanouts", remedy=f"1 to {MAX_HOPS} of them, each at least -1, which takes all neighbours"
        )
    if threads < 0 or slots < 1:
        raise SamplerError(f"cannot work with {threads} threads and {slots} slots", where="threads")

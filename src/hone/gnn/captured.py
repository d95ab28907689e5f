"""A learner whose step on a GPU is one launch: a CUDA graph of the same step on a batch of fixed sizes.

A step of our layers has some 130 operators, one of a peer's some 400 with nested ones. Asking for them takes the host
longer than the GPU needs to do them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from hone.gnn.device.streams import graph_of, stream_on
from hone.gnn.fixed_batch import FixedBatch, Sizes
from hone.gnn.layers import BatchNorm
from hone.gnn.learner import Learner

if TYPE_CHECKING:
    from collections.abc import Callable

    from hone.config.models import HyperParameters
    from hone.config.trainings import Plateau
    from hone.gnn.batch import Batch
    from hone.gnn.distributed import Ranks
    from hone.gnn.models.model import GNN

FIRST_STEPS = 3
"""Launched one by one: libraries choose their kernels, and get their memory, when they are first used."""


class CapturedLearner(Learner):
    """Steps as `Learner`, for one process; a batch that does not fit into `sizes` is stepped on by itself.

    Dropout draws for the rows that fill up, too, so that its masks are others than `Learner`'s. They depend on `sizes`
    beside what they depend on there.
    """

    def __init__(
        self, model: GNN, hyper: HyperParameters, plateau: Plateau | None, *, ranks: Ranks, sizes: Sizes, **named: Any
    ) -> None:
        """As Learner. On a CPU nothing is captured, and steps are taken on the batch of fixed sizes all the same.

        Raises ValueError for a model with batch normalisation, or several processes.
        """
        if ranks.world > 1 or any(isinstance(module, BatchNorm) for module in model.modules()):
            raise ValueError("a captured step is of one process, and of a model without batch normalisation")
        super().__init__(model, hyper, plateau, ranks=ranks, **named)
        self.sizes = sizes
        self.misfits = 0
        """Batches so far that did not fit."""
        self._fixed: FixedBatch | None = None
        self._share = torch.zeros((), device=self.device)
        self._seeds = torch.zeros((), dtype=torch.float64, device=self.device)
        self._stream = stream_on(self.device)
        self._replay: Callable[[], object] | None = None
        self._steps = 0

    def step(self, batch: Batch, global_seeds: int) -> None:
        """As Learner."""
        if not self.sizes.hold(batch):
            self.misfits += 1
            super().step(batch, global_seeds)
            return
        if self._fixed is None:
            self._fixed = FixedBatch(self.sizes, batch)
        self._fixed.load(batch)
        self._share.fill_(1 / global_seeds)
        self._seeds.fill_(global_seeds)
        self._reseed(batch)
        self._work(partial(self._advance, self._fixed.batch, self._share, self._seeds))
        self._steps += 1

    def load_state(self, state: dict[str, Any]) -> None:
        """As Learner."""
        super().load_state(state)
        self._replay, self._steps = None, 0  # tensors are others now

    def _work(self, advance: Callable[[], None]) -> None:
        if self._stream is None:
            advance()
            return
        if self._replay is None and self._steps >= FIRST_STEPS:
            self._replay = graph_of(advance, self._stream, generator=self.generator, alone=False)
        if self._replay is None:
            self._aside(advance, self._stream)
        else:
            self._replay()

    def _aside(self, advance: Callable[[], None], stream: torch.cuda.Stream) -> None:
        """On the stream that will be captured, as PyTorch wants a step's first rounds to be."""
        current = torch.cuda.current_stream(self.device)
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            advance()
        current.wait_stream(stream)

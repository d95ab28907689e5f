"""The last stage: a model, its optimiser and one step of training; what a step needs comes with the batch."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from hone.gnn.distributed import Ranks, sum_over_ranks
from hone.gnn.plateau import PlateauRule
from hone.gnn.seeds import derived_seed

if TYPE_CHECKING:
    from torch import Tensor, nn

    from hone.config.models import HyperParameters
    from hone.config.trainings import Plateau, Precision
    from hone.gnn.batch import Batch
    from hone.gnn.models.model import GNN


def model_input(features: Tensor, precision: Precision) -> Tensor:
    """Features as the first layer takes them: half precision is widened on the device, not before the copy."""
    return features.to(torch.bfloat16 if precision == "bfloat16" else torch.float32)


def autocast(device: torch.device, precision: Precision) -> AbstractContextManager[Any]:
    """Mixed precision where it is asked for."""
    # Without its cache: a step reads each weight once, and what is kept of one step's weights must not be captured.
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16", cache_enabled=False)


class Learner:
    """Trains a model step by step; nothing in a step waits for a GPU.

    Dropout depends on (seed, epoch, batch, rank) alone, so that a run that was interrupted goes on as if it had not
    been. Gradients and loss are those of the global batch, however many processes share it. Batch normalisation takes
    the statistics of each process's own part.
    """

    def __init__(
        self,
        model: GNN,
        hyper: HyperParameters,
        plateau: Plateau | None,
        *,
        seed: int,
        precision: Precision,
        device: torch.device,
        ranks: Ranks,
    ) -> None:
        """Moves the model to the device."""
        self.device, self.ranks, self.precision, self.seed = device, ranks, precision, seed
        self._bare_model = model.to(device)
        self.model: nn.Module = self._bare_model
        if ranks.world > 1:
            self.model = DistributedDataParallel(model, device_ids=[device.index] if device.type == "cuda" else None)
        lr = torch.tensor(hyper.lr, device=device)
        # Fused: one kernel, which reads the learning rate on the device, where the plateau rule changes it.
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=lr, weight_decay=hyper.weight_decay, fused=True, capturable=device.type == "cuda"
        )
        self.plateau = PlateauRule(plateau.factor, plateau.patience, device) if plateau else None
        self.generator = torch.Generator(device)
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=device)

    @property
    def bare_model(self) -> GNN:
        """The model itself, whatever stands around it in a distributed training."""
        return self._bare_model

    @property
    def lr(self) -> Tensor:
        """The learning rate, a scalar on the device."""
        return cast("Tensor", self.optimizer.param_groups[0]["lr"])

    def step(self, batch: Batch, global_seeds: int) -> None:
        """One step on a batch that is on the device; `global_seeds` counts those of all ranks' parts."""
        self._reseed(batch)
        self._advance(batch, self.ranks.world / global_seeds, global_seeds)

    def _reseed(self, batch: Batch) -> None:
        """Dropout draws what it draws for this batch."""
        self.generator.manual_seed(derived_seed("dropout", self.seed, batch.epoch, batch.index, self.ranks.rank))

    def _advance(self, batch: Batch, share: float | Tensor, global_seeds: int | Tensor) -> None:
        """A step's work on the device; `share` is the ranks' number over `global_seeds`."""
        self.bare_model.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._loss_sum(batch, self.generator)
        # Ranks' gradients are averaged; weighted so, their mean is the gradient of the global batch's mean loss.
        (loss * share).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        total = sum_over_ranks(loss.detach().double(), self.ranks)
        self.loss_sum += total
        if self.plateau is not None:
            self.plateau.step(total / global_seeds, self.lr)

    def take_loss(self) -> float:
        """The sum of all seeds' losses since the last call; waits for the device."""
        total = float(self.loss_sum)
        self.loss_sum.zero_()
        return total

    def state(self) -> dict[str, Any]:
        """Everything that later steps depend on."""
        state = {"model": self.bare_model.state_dict(), "optimizer": self.optimizer.state_dict()}
        return state | ({"plateau": self.plateau.state_dict()} if self.plateau else {})

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.bare_model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.optimizer.param_groups[0]["lr"] = self.lr.to(self.device)
        if self.plateau:
            self.plateau.load_state_dict(state["plateau"])

    def _loss_sum(self, batch: Batch, generator: torch.Generator) -> Tensor:
        if batch.features is None or batch.labels is None:
            raise ValueError("a batch to train on has features and labels")
        with autocast(self.device, self.precision):
            scores = self.model(model_input(batch.features, self.precision), batch.blocks, generator)
        return F.nll_loss(scores[: batch.num_seeds], batch.labels, reduction="sum")

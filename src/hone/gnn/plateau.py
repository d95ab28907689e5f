"""Lower the learning rate on a plateau, on the device: the rule of ReduceLROnPlateau without its synchronisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

THRESHOLD = 1e-4
"""A loss counts as lower when it is lower by this share, as in torch."""
LEAST_CHANGE = 1e-8
"""A learning rate that would change by less is left alone, as in torch."""


class PlateauRule:
    """Multiplies a learning rate by `factor` once the loss has not fallen for more than `patience` steps.

    torch's scheduler reads the loss on the host, which stops a GPU at every step. Here all state is tensors.
    """

    def __init__(self, factor: float, patience: int, device: torch.device) -> None:
        self.factor = factor
        self.patience = patience
        self.best = torch.full((), torch.inf, dtype=torch.float64, device=device)
        self.bad_steps = torch.zeros((), dtype=torch.int64, device=device)

    @torch.no_grad()
    def step(self, loss: Tensor, lr: Tensor) -> None:
        """Take account of one step's loss, a scalar; `lr` is changed in place."""
        # In place and few: a step of the host's is as long as its operators are many.
        better = loss < self.best * (1 - THRESHOLD)
        self.best.copy_(torch.where(better, loss, self.best))
        self.bad_steps.add_(1).masked_fill_(better, 0)
        lower = self.bad_steps > self.patience
        self.bad_steps.masked_fill_(lower, 0)
        lowered = lr * self.factor
        lr.copy_(torch.where(lower & (lr - lowered > LEAST_CHANGE), lowered, lr))

    def state_dict(self) -> dict[str, Tensor]:
        """What `load_state_dict` takes."""
        return {"best": self.best, "bad_steps": self.bad_steps}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from there."""
        self.best = state["best"].to(self.best.device, copy=True)
        self.bad_steps = state["bad_steps"].to(self.bad_steps.device, copy=True)

"""Adam as torch.optim.Adam does it, by PyTorch's own fused kernel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch.optim.adam import adam

if TYPE_CHECKING:
    from torch import Tensor

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Adam:
    """Steps on a model's parameters with a learning rate that lies on their device.

    Not torch.optim.Adam: to construct one imports PyTorch's compiler, 1.2 s of the few that a small training takes.
    """

    def __init__(self, parameters: Iterable[Tensor], lr: Tensor, weight_decay: float) -> None:
        """`lr`: a scalar, read at each step, so that others may change it in place."""
        self.parameters = list(parameters)
        self.lr = lr
        self.weight_decay = weight_decay
        self.means = [torch.zeros_like(each) for each in self.parameters]
        self.squares = [torch.zeros_like(each) for each in self.parameters]
        self.steps = [torch.zeros((), dtype=torch.float32, device=each.device) for each in self.parameters]

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Change the parameters that have a gradient."""
        state = zip(self.parameters, self.means, self.squares, self.steps, strict=True)
        rows = [row for row in state if row[0].grad is not None]
        parameters, means, squares, steps = (list(column) for column in zip(*rows, strict=True))
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        adam(
            parameters, gradients, means, squares, [], steps, fused=True, amsgrad=False, maximize=False, lr=self.lr,
            beta1=BETAS[0], beta2=BETAS[1], weight_decay=self.weight_decay, eps=EPSILON,
        )  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        """Everything that later steps depend on."""
        return {"lr": self.lr, "means": self.means, "squares": self.squares, "steps": self.steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave, on this device."""
        self.lr.copy_(state["lr"])
        for name in ("means", "squares", "steps"):
            for own, other in zip(getattr(self, name), state[name], strict=True):
                own.copy_(other)

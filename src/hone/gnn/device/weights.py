"""The parameters of a model on the device, with Adam's moments: one vector each, at fixed addresses."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, cast

import torch

from hone.gnn.device.native import PlateauView, address
from hone.gnn.device.parts import Unwatched
from hone.gnn.distributed import ALONE, Ranks, sum_over_ranks
from hone.gnn.plateau import LEAST_CHANGE, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from hone.config.models import HyperParameters
    from hone.config.trainings import Plateau
    from hone.gnn.device.native import Library
    from hone.gnn.device.parts import Moment
    from hone.gnn.device.places.spread import Features
    from hone.gnn.models.model import GNN
    from hone.gnn.models.sage import SAGEConv

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Adam's, as torch.optim.Adam has them."""


class FlatWeights(ABC):
    """Parameters in a vector, their gradients in another, Adam and the plateau rule on them."""

    def __init__(
        self, count: int, device: torch.device, hyper: HyperParameters, library: Library, plateau: Plateau | None,
        ranks: Ranks,
    ) -> None:  # fmt: skip
        self._hyper, self._library, self._ranks = hyper, library, ranks
        self.parameters, self.gradient, self._first, self._second = (
            torch.zeros(count, device=device) for _ in range(4)
        )
        self._rounded = torch.zeros(count, dtype=torch.bfloat16, device=device)
        self.rate = torch.tensor(hyper.lr, dtype=torch.float32, device=device)
        self._steps = torch.zeros(1, dtype=torch.int64, device=device)
        self.loss_sum = torch.zeros(1, dtype=torch.float64, device=device)
        """Of all batches that `note` has been called for."""
        self.mark: Callable[[Moment], None] = Unwatched().mark
        """Told when the loss is summed over the ranks."""
        self._best = torch.full((1,), torch.inf, dtype=torch.float64, device=device)
        self._bad_steps = torch.zeros(1, dtype=torch.int64, device=device)
        factor, patience = (plateau.factor, plateau.patience) if plateau else (0.0, 0)
        self._plateau = PlateauView(
            address(self._best), address(self._bad_steps), factor, patience, THRESHOLD, LEAST_CHANGE
        )

    @abstractmethod
    def store(self) -> GNN:
        """The model with the parameters as they are now."""

    def note(self, total: Tensor, global_seeds: Tensor) -> None:
        """Take account of a batch's loss, of which `total` is this rank's sum; `update` follows. Can be captured."""
        self.mark("loss_ready")
        sum_over_ranks(total, self._ranks)
        self.mark("loss_summed")
        self._library.call("note_loss", total, global_seeds, self.loss_sum, self.rate, self._steps, self._plateau)

    def sum_gradients(self) -> None:
        """Over all ranks, as `update` takes them; can be captured."""
        sum_over_ranks(self.gradient, self._ranks)

    def update(self) -> None:
        """One step of Adam with the gradients; can be captured."""
        self._library.call(
            "adam", len(self.parameters), self.gradient, self.parameters, self._first, self._second, self._rounded,
            self.rate, self._steps, BETA1, BETA2, EPSILON, self._hyper.weight_decay,
        )  # fmt: skip

    def state(self) -> dict[str, Any]:
        """Everything that later steps depend on; the tensors themselves, not copies."""
        return {
            "parameters": self.parameters, "first": self._first, "second": self._second, "steps": self._steps,
            "rate": self.rate, "best": self._best, "bad_steps": self._bad_steps,
        }  # fmt: skip

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave, on whatever device it was."""
        for name, tensor in self.state().items():
            tensor.copy_(state[name])
        self._rounded.copy_(self.parameters)


class Weights(FlatWeights):
    """Of a GraphSAGE. A layer's weight is [W_l; W_r] transposed, (2 * inputs, outputs), so that mean and own row are
    one product.

    Widths are filled up to multiples of 8 with rows and columns that stay zero.
    """

    def __init__(
        self, model: GNN, features: Features, hyper: HyperParameters, library: Library, plateau: Plateau | None = None,
        ranks: Ranks = ALONE,
    ) -> None:  # fmt: skip
        """`model` is a SAGE, whose parameters are copied; `features` are those on the device."""
        self._model = model
        self._convs = [cast("SAGEConv", conv) for conv in model.convs]
        self.classes = self._convs[-1].lin_l.out_features
        inner = [conv.lin_l.in_features for conv in self._convs[1:]]
        self.widths = [features.shape[1], *inner, -(-self.classes // 8) * 8]
        """Of the state before the first layer and after each."""
        shapes = [(2 * a, b) for a, b in itertools.pairwise(self.widths)]
        super().__init__(sum(a * b for a, b in shapes), features.device, hyper, library, plateau, ranks)
        self._matrices = _parts(self.parameters, shapes)
        self.gradients = _parts(self.gradient, shapes)
        """Of each layer, float32: what `update` applies."""
        self.rounded = _parts(self._rounded, shapes)
        """Of each layer, bfloat16: what products read."""
        self.load()

    def load(self) -> None:
        """Take the model's parameters."""
        with torch.no_grad():
            for conv, matrix in zip(self._convs, self._matrices, strict=True):
                outputs, inputs = conv.lin_l.weight.shape
                half = len(matrix) // 2
                matrix[:inputs, :outputs] = conv.lin_l.weight.T
                matrix[half : half + inputs, :outputs] = conv.lin_r.weight.T
            self._rounded.copy_(self.parameters)

    def store(self) -> GNN:
        """Give the model the parameters as they are now."""
        with torch.no_grad():
            for conv, matrix in zip(self._convs, self._matrices, strict=True):
                outputs, inputs = conv.lin_l.weight.shape
                half = len(matrix) // 2
                conv.lin_l.weight.copy_(matrix[:inputs, :outputs].T)
                conv.lin_r.weight.copy_(matrix[half : half + inputs, :outputs].T)
        return self._model


def _parts(flat: Tensor, shapes: list[tuple[int, int]]) -> list[Tensor]:
    """Matrices that lie in a vector one after the other."""
    parts = torch.split(flat, [a * b for a, b in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]

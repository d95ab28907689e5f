"""GraphSAGE forward and backward on a sampled batch: products are cuBLAS's, everything else is one kernel each.

The gradient of the first layer's weights may be one kernel, too (`weight_gradient.py`).

The state of a layer is kept as it leaves the product. Whoever reads it on the way forward applies ReLU and dropout, by
a hash, and notes a bit for each element that passes. The way back reads the notes, or computes the hash again where
operators take none. States are bfloat16, sums and gradients of weights float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch

from hone.gnn.device.operators import Operators
from hone.gnn.device.row_product import RowProduct
from hone.gnn.device.streams import IN_TURN, Aside, nothing

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from hone.gnn.device.memory import BatchRoom, DeviceGraph, Room
    from hone.gnn.device.native import Library
    from hone.gnn.device.weight_gradient import WeightGradient
    from hone.gnn.device.weights import Weights


class SagePass:
    """The memory that one batch needs on its way forward and backward, at fixed addresses, so that it can be captured.

    Layer l reads hop (layers - 1 - l).
    """

    def __init__(
        self, weights: Weights, graph: DeviceGraph, room: Room, dropout: float, library: Library,
        operators: Operators | None = None, weight_gradient: WeightGradient | None = None,
    ) -> None:  # fmt: skip
        """`dropout` is the share that a training step drops; `operators` are the library's unless others are given.

        `weight_gradient`: in place of the first layer's gradient of states and its product. Raises ValueError where one
        is given with operators that note nothing: it reads their notes, and there may be no lists of readers.
        """
        device = graph.features.device
        self._operators = operators or Operators(library)
        self._weights, self._graph, self._library, self._dropout = weights, graph, library, dropout
        self._weight_gradient = weight_gradient
        self._layers = len(room.fanouts)
        widths = weights.widths
        rows = [room.nodes[self._hop(layer)] for layer in range(self._layers)]

        def matrices(rows: list[int], widths: list[int]) -> list[Tensor]:
            pairs = zip(rows, widths, strict=True)  # behind each there is a row more, which operators may write to
            return [torch.zeros(n + 1, width, dtype=torch.bfloat16, device=device)[:n] for n, width in pairs]

        behind_first = rows[1:], [2 * width for width in widths[1:-1]]
        self._inputs, self._input_gradients = matrices(*behind_first), matrices(*behind_first)
        """Of the layers behind the first one; its own input is the batch's."""
        self._states = matrices(rows, widths[1:])
        inner = self._states[:-1] if self._operators.in_place else matrices(rows[:-1], widths[1:-1])
        self._gradients = [*inner, self._states[-1]]
        """Of the states, where they may lie in their place."""
        self._notes: list[Tensor | None] = [None] * (self._layers - 1)
        """Of the inner states, what of them passed in training, where operators note it."""
        if self._operators.noting:
            self._notes = [torch.zeros(len(it), it.shape[1] // 8, dtype=torch.uint8, device=device) for it in inner]
        self._first_product = RowProduct(rows[0], 2 * weights.widths[0], weights.widths[1], device)
        if weight_gradient is not None and not self._operators.noting:
            raise ValueError("a gradient of weights reads notes, which these operators do not write")
        self._losses = torch.zeros(rows[-1], device=device)
        self.total = torch.zeros(1, dtype=torch.float64, device=device)
        """Sum of the losses of the batch that has gone backward."""

    def gather(self, batch: BatchRoom) -> None:
        """The first layer's input, `forward` comes after it: no weight has a say in it, so that it is made ahead."""
        self._operators.begin(batch, self._graph.features)
        self._operators.mean_of_features(batch, self._graph.features, batch.first_input)

    def forward(self, batch: BatchRoom, *, training: bool, meanwhile: Callable[[], None] = nothing) -> Tensor:
        """Scores (seeds' room, classes filled up to a multiple of 8) bfloat16.

        `meanwhile` comes behind the first mean of states: from there to the first layer's gradient kernels are small.
        """
        share = self._dropout if training else 0.0
        self._first_product(batch.first_input, self._weights.rounded[0], self._states[0])
        for layer in range(1, self._layers):
            inputs = self._inputs[layer - 1]
            notes = self._notes[layer - 1] if training else None
            self._operators.mean_of_states(batch, layer, share, self._states[layer - 1], inputs, notes)
            if layer == 1:
                meanwhile()
            torch.mm(inputs, self._weights.rounded[layer], out=self._states[layer])
        if self._layers == 1:
            meanwhile()
        return self._states[-1]

    def backward(self, batch: BatchRoom, aside: Aside = IN_TURN) -> None:
        """After `forward` in training: the gradient of the global batch's mean loss, to the weights' `gradients`.

        Notes the loss. What the layers below do not wait for is done aside; the caller waits for it.
        """
        call, scores, weights = self._library.call, self._states[-1], self._weights
        call(
            "loss", batch.sizes, batch.labels, scores, len(scores), weights.classes, scores.shape[1],
            batch.global_seeds, self._losses, scores,
        )  # fmt: skip
        with aside():
            call("sum_losses", self._losses, len(self._losses), self.total)
            weights.note(self.total, batch.global_seeds)
        for layer in range(self._layers - 1, 0, -1):
            gradient, of_states = self._input_gradients[layer - 1], self._gradients[layer]
            with aside():
                product(self._inputs[layer - 1].T, of_states, weights.gradients[layer])
            torch.mm(of_states, weights.rounded[layer].T, out=gradient)
            if layer == 1 and self._weight_gradient is not None:
                notes = cast("Tensor", self._notes[0])
                hop, share, out = self._hop(1), self._dropout, weights.gradients[0]
                self._weight_gradient(batch, hop, share, batch.first_input, gradient, notes, out)
                return
            self._operators.gradient_of_states(
                batch, layer, self._dropout, gradient, self._states[layer - 1], self._gradients[layer - 1],
                self._notes[layer - 1],
            )  # fmt: skip
        product(batch.first_input.T, self._gradients[0], weights.gradients[0])

    def _hop(self, layer: int) -> int:
        return self._layers - 1 - layer


def product(left: Tensor, right: Tensor, out: Tensor) -> None:
    """left @ right of bfloat16 matrices, not rounded on the way to a float32 result."""
    if left.is_cuda:
        torch.mm(left, right, out_dtype=torch.float32, out=out)
    else:  # has no product with another data type
        torch.mm(left.float(), right.float(), out=out)

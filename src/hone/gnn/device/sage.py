"""GraphSAGE forward and backward on a sampled batch: products are cuBLAS's, everything else is one kernel each.

The state of a layer is kept as it leaves the product; whoever reads it applies ReLU and dropout, forward and backward,
with a mask that is computed again and never stored. States are bfloat16, sums and gradients of weights float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.device.memory import BatchRoom, DeviceGraph, Room
    from hone.gnn.device.native import Library
    from hone.gnn.device.weights import Weights


class SagePass:
    """The memory that one batch needs on its way forward and backward, at fixed addresses, so that it can be captured.

    Layer l reads hop (layers - 1 - l).
    """

    def __init__(self, weights: Weights, graph: DeviceGraph, room: Room, dropout: float, library: Library) -> None:
        """`dropout` is the share that a training step drops."""
        device = graph.features.device
        self._weights, self._graph, self._library, self._dropout = weights, graph, library, dropout
        self._layers = len(room.fanouts)
        widths = weights.widths
        rows = [room.nodes[self._hop(layer)] for layer in range(self._layers)]

        def matrices(widths: list[int]) -> list[Tensor]:
            pairs = zip(rows, widths, strict=True)
            return [torch.zeros(n, width, dtype=torch.bfloat16, device=device) for n, width in pairs]

        self._inputs, self._input_gradients = (matrices([2 * width for width in widths[:-1]]) for _ in range(2))
        self._states = matrices(widths[1:])
        self._losses = torch.zeros(rows[-1], device=device)
        self.total = torch.zeros(1, dtype=torch.float64, device=device)
        """Sum of the losses of the batch that has gone backward."""

    def forward(self, batch: BatchRoom, *, training: bool) -> Tensor:
        """Scores (seeds' room, classes filled up to a multiple of 8) bfloat16."""
        call, widths = self._library.call, self._weights.widths
        share = self._dropout if training else 0.0
        for layer in range(self._layers):
            hop = batch.hops[self._hop(layer)].view
            if layer == 0:
                features = self._graph.features
                is_half = int(features.dtype == torch.float16)
                call("mean_of_features", hop, batch.nodes, features, is_half, widths[0], self._inputs[0])
            else:
                dropout = batch.dropout(layer - 1, share)
                call("mean_of_states", hop, self._states[layer - 1], widths[layer], dropout, self._inputs[layer])
            torch.mm(self._inputs[layer], self._weights.rounded[layer], out=self._states[layer])
        return self._states[-1]

    def backward(self, batch: BatchRoom) -> None:
        """After `forward` in training: the gradient of the global batch's mean loss, to the weights' `gradients`."""
        call, scores, weights = self._library.call, self._states[-1], self._weights
        call(
            "loss", batch.sizes, batch.nodes, self._graph.labels, scores, len(scores), weights.classes,
            scores.shape[1], batch.global_seeds, self._losses, scores,
        )  # fmt: skip
        call("sum_losses", self._losses, len(self._losses), self.total)
        for layer in range(self._layers - 1, -1, -1):
            product(self._inputs[layer].T, self._states[layer], weights.gradients[layer])
            if layer == 0:
                return
            torch.mm(self._states[layer], weights.rounded[layer].T, out=self._input_gradients[layer])
            hop, below = batch.hops[self._hop(layer)], self._states[layer - 1]
            call(
                "gradient_of_states", hop.view, hop.offsets, hop.readers, self._input_gradients[layer], below,
                weights.widths[layer], batch.dropout(layer - 1, self._dropout), below,
            )  # fmt: skip

    def _hop(self, layer: int) -> int:
        return self._layers - 1 - layer


def product(left: Tensor, right: Tensor, out: Tensor) -> None:
    """left @ right of bfloat16 matrices, not rounded on the way to a float32 result."""
    if left.is_cuda:
        torch.mm(left, right, out_dtype=torch.float32, out=out)
    else:  # has no product with another data type
        torch.mm(left.float(), right.float(), out=out)

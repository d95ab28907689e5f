"""A training step of GraphSAGE whose products are cuBLAS's and whose everything else is one kernel each.

The state of a layer is kept as it leaves the product; whoever reads it applies ReLU and dropout, forward and backward,
with a mask that is computed again and never stored. States are bfloat16, sums and parameters float32.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, cast

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from hone.config_trainings import HyperParameters
    from hone.gnn.device.memory import BatchRoom, DeviceGraph, Room
    from hone.gnn.device.native import Library
    from hone.gnn.layers import SAGEConv
    from hone.gnn.models import GNN

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Adam's, as torch.optim.Adam has them."""


class DeviceSage:
    """Parameters, Adam's moments and the memory of one step, at fixed addresses, so that a step can be captured.

    Layer l reads hop (layers - 1 - l). Its weight is [W_l; W_r] transposed, (2 * inputs, outputs), so that mean and own
    row are one product; the number of classes is filled up to a multiple of 8 with columns that stay zero.
    """

    def __init__(self, model: GNN, graph: DeviceGraph, room: Room, hyper: HyperParameters, library: Library) -> None:
        """`model` is a SAGE; its parameters are copied, `export` copies them back."""
        device = graph.features.device
        self._graph, self._library, self._hyper = graph, library, hyper
        self._model, self._layers = model, len(room.fanouts)
        self._convs = [cast("SAGEConv", conv) for conv in model.convs]
        inputs = [conv.lin_l.in_features for conv in self._convs]
        self.classes = self._convs[-1].lin_l.out_features
        widths = [graph.features.shape[1], *inputs[1:], -(-self.classes // 8) * 8]
        self._widths = widths
        shapes = [(2 * a, b) for a, b in itertools.pairwise(widths)]
        count = sum(a * b for a, b in shapes)

        def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(*shape, dtype=dtype, device=device)

        self.parameters, self.gradient = numbers(count), numbers(count)
        self._first, self._second = numbers(count), numbers(count)
        self._rounded = numbers(count, dtype=torch.bfloat16)
        self.rate = torch.tensor(hyper.lr, dtype=torch.float32, device=device)
        self.steps = numbers(1, dtype=torch.int64)
        self.weights = _parts(self.parameters, shapes)
        self._gradients, self._half = _parts(self.gradient, shapes), _parts(self._rounded, shapes)
        rows = [room.nodes[self._hop(layer)] for layer in range(self._layers)]
        half = torch.bfloat16
        self._inputs = [numbers(n, 2 * a, dtype=half) for n, a in zip(rows, widths[:-1], strict=True)]
        self._states = [numbers(n, b, dtype=half) for n, b in zip(rows, widths[1:], strict=True)]
        self._input_gradients = [torch.empty_like(item) for item in self._inputs]
        self._losses = numbers(rows[-1])
        self.loss_sum = numbers(1, dtype=torch.float64)
        self._import()

    def step(self, batch: BatchRoom) -> None:
        """Forward, backward and Adam on a sampled batch; can be captured."""
        self.forward(batch)
        self.backward(batch)
        self.update()

    def forward(self, batch: BatchRoom) -> Tensor:
        """Scores (seeds' room, classes filled up to a multiple of 8) bfloat16."""
        call, widths = self._library.call, self._widths
        for layer in range(self._layers):
            hop = batch.hops[self._hop(layer)].view
            if layer == 0:
                features = self._graph.features
                is_half = int(features.dtype == torch.float16)
                call("mean_of_features", hop, batch.nodes, features, is_half, widths[0], self._inputs[0])
            else:
                dropout = batch.dropout(layer - 1, self._hyper.dropout)
                call("mean_of_states", hop, self._states[layer - 1], widths[layer], dropout, self._inputs[layer])
            torch.mm(self._inputs[layer], self._half[layer], out=self._states[layer])
        return self._states[-1]

    def backward(self, batch: BatchRoom) -> None:
        """The gradient of the mean loss, in `gradient`; the losses are added to `loss_sum`."""
        call, last = self._library.call, self._layers - 1
        scores = self._states[last]
        call(
            "loss", batch.sizes, batch.nodes, self._graph.labels, scores, len(scores), self.classes, scores.shape[1],
            batch.global_seeds, self._losses, scores,
        )  # fmt: skip
        self.loss_sum += self._losses.sum(dtype=torch.float64)
        for layer in range(last, -1, -1):
            product(self._inputs[layer].T, self._states[layer], self._gradients[layer])
            if layer == 0:
                return
            torch.mm(self._states[layer], self._half[layer].T, out=self._input_gradients[layer])
            hop = batch.hops[self._hop(layer)]
            below = self._states[layer - 1]
            call(
                "gradient_of_states", hop.view, hop.offsets, hop.readers, self._input_gradients[layer], below,
                self._widths[layer], batch.dropout(layer - 1, self._hyper.dropout), below,
            )  # fmt: skip

    def update(self) -> None:
        """One step of Adam."""
        self.steps += 1
        self._library.call(
            "adam", len(self.parameters), self.gradient, self.parameters, self._first, self._second, self._rounded,
            self.rate, self.steps, BETA1, BETA2, EPSILON, self._hyper.weight_decay,
        )  # fmt: skip

    def export(self) -> GNN:
        """The model with the parameters as they are now."""
        with torch.no_grad():
            for conv, weight in zip(self._convs, self.weights, strict=True):
                outputs, inputs = conv.lin_l.weight.shape
                half = len(weight) // 2
                conv.lin_l.weight.copy_(weight[:inputs, :outputs].T)
                conv.lin_r.weight.copy_(weight[half : half + inputs, :outputs].T)
        return self._model

    def _import(self) -> None:
        with torch.no_grad():
            for conv, weight in zip(self._convs, self.weights, strict=True):
                outputs, inputs = conv.lin_l.weight.shape
                half = len(weight) // 2
                weight[:inputs, :outputs] = conv.lin_l.weight.T
                weight[half : half + inputs, :outputs] = conv.lin_r.weight.T
            self._rounded.copy_(self.parameters)

    def _hop(self, layer: int) -> int:
        return self._layers - 1 - layer


def product(left: Tensor, right: Tensor, out: Tensor) -> None:
    """left @ right of bfloat16 matrices, not rounded on the way to a float32 result."""
    if left.is_cuda:
        torch.mm(left, right, out_dtype=torch.float32, out=out)
    else:  # has no product with another data type
        torch.mm(left.float(), right.float(), out=out)


def _parts(flat: Tensor, shapes: list[tuple[int, int]]) -> list[Tensor]:
    """Matrices that lie in a vector one after the other."""
    sizes = [a * b for a, b in shapes]
    parts = torch.split(flat, sizes)
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]

"""A model of `hone.gnn.models` forward and backward on batches in their rooms, by PyTorch's autograd.

All shapes are the room's and nothing waits for the host, so that a step can be captured: what it allocates is the
captured graph's, and every step gives it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

from hone.gnn.device.padded import HashDropout, PaddedBlock
from hone.gnn.device.streams import IN_TURN, Aside, nothing
from hone.gnn.device.weights import FlatWeights
from hone.gnn.distributed import ALONE
from hone.gnn.layers import BatchNorm
from hone.gnn.learner import model_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from hone.config.models import HyperParameters
    from hone.config.trainings import Plateau, Precision
    from hone.gnn.device.memory import BatchRoom, DeviceGraph
    from hone.gnn.device.native import Library
    from hone.gnn.distributed import Ranks
    from hone.gnn.models.model import GNN

NOT_THERE = -100
"""A label whose loss does not count, by `nll_loss`'s own default."""


class ModelWeights(FlatWeights):
    """A model whose parameters and buffers are parts of vectors; the model itself is moved to the device."""

    def __init__(
        self, model: GNN, device: torch.device, hyper: HyperParameters, library: Library,
        plateau: Plateau | None = None, ranks: Ranks = ALONE,
    ) -> None:  # fmt: skip
        """Any model of `hone.gnn.models`."""
        self.model = model.to(device)
        self.leaves = list(model.parameters())
        super().__init__(sum(leaf.numel() for leaf in self.leaves), device, hyper, library, plateau, ranks)
        buffers = [(module, name) for module in model.modules() for name, _ in module.named_buffers(recurse=False)]
        self.statistics = _joined(buffers, torch.float32, device)
        """Of batch normalisation, float32."""
        self._counts = _joined(buffers, torch.int64, device)
        with torch.no_grad():
            for part, leaf in zip(_parts_like(self.parameters, self.leaves), self.leaves, strict=True):
                part.copy_(leaf)
                leaf.data = part
        self._rounded.copy_(self.parameters)

    def take(self, gradients: tuple[Tensor, ...]) -> None:
        """Those of the parameters, in their order."""
        torch.cat([gradient.reshape(-1) for gradient in gradients], out=self.gradient)

    def store(self) -> GNN:
        """The model itself."""
        return self.model

    def state(self) -> dict[str, Any]:
        """As FlatWeights."""
        return super().state() | {"statistics": self.statistics, "counts": self._counts}


def _joined(buffers: list[tuple[nn.Module, str]], dtype: torch.dtype, device: torch.device) -> Tensor:
    """One vector of those modules' buffers that are of a type, which become parts of it."""
    mine = [(module, name, module.get_buffer(name)) for module, name in buffers]
    mine = [item for item in mine if item[2].dtype == dtype]
    flat = torch.zeros(sum(buffer.numel() for *_, buffer in mine), dtype=dtype, device=device)
    parts = _parts_like(flat, [buffer for *_, buffer in mine])
    for (module, name, buffer), part in zip(mine, parts, strict=True):
        setattr(module, name, part.copy_(buffer))
    return flat


def _parts_like(flat: Tensor, tensors: list[Any]) -> list[Tensor]:
    parts = torch.split(flat, [tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


class AutogradPass:
    """One batch's way through a model: `Pass` for models that no hand-written one is for. Rooms number all hops."""

    def __init__(
        self, weights: ModelWeights, graph: DeviceGraph, library: Library, ranks: Ranks, *, inputs: int,
        precision: Precision, scaled_sums: bool = False,
    ) -> None:  # fmt: skip
        """`inputs`: width of the features, without what fills them up. `scaled_sums`: see `hone.gnn.scaled`."""
        self._weights, self._graph, self._library, self._ranks = weights, graph, library, ranks
        self._inputs, self._precision = inputs, precision
        self._indptr = graph.indptr if scaled_sums else None
        self._norms = [module for module in weights.model.modules() if isinstance(module, BatchNorm)]
        self._scores: Tensor | None = None
        self.total = torch.zeros(1, dtype=torch.float64, device=graph.features.device)
        """Sum of the losses of the batch that has gone backward."""

    def gather(self, batch: BatchRoom) -> None:
        """The features of all the batch's nodes, to its `first_input`."""
        features, hops = self._graph.features, len(batch.hops)
        is_half, out, count = int(features.dtype == torch.float16), batch.first_input, batch.sizes[hops : hops + 1]
        if isinstance(features, torch.Tensor):
            self._library.call("gather_features", count, batch.nodes, features, is_half, *out.shape, out)
        else:
            self._library.call("gather_spread_features", count, batch.nodes, features.view, is_half, *out.shape, out)

    def forward(self, batch: BatchRoom, *, training: bool, meanwhile: Callable[[], None] = nothing) -> Tensor:
        """Log-probabilities (seeds' room, classes) float32."""
        meanwhile()
        model = self._weights.model.train(training)
        if training and self._ranks.world > 1 and len(self._weights.statistics):
            torch.distributed.broadcast(self._weights.statistics, 0)  # as DistributedDataParallel does
        drops = HashDropout(batch.keys[:1], self._library) if training else None
        features = model_input(batch.first_input[:, : self._inputs], self._precision)
        # Without autocast's cache: what it keeps of one step's weights would be what a captured step goes on with.
        mixed = torch.autocast(
            features.device.type, torch.bfloat16, enabled=self._precision == "bfloat16", cache_enabled=False
        )
        with torch.set_grad_enabled(training), mixed:
            scores = self._through(model, features, batch, drops)
        self._scores = scores if training else None
        return scores.detach()

    def backward(self, batch: BatchRoom, aside: Aside = IN_TURN) -> None:
        """After `forward` in training: the gradient of the global batch's mean loss, to the weights' `gradient`.

        Notes the loss aside. Raises ValueError where no `forward` in training came before.
        """
        if self._scores is None:
            raise ValueError("backward comes after forward in training")
        seeds = len(self._scores)
        rows = torch.arange(seeds, device=self.total.device)
        labels = batch.labels[:seeds].masked_fill(rows >= batch.sizes[0], NOT_THERE)
        loss = F.nll_loss(self._scores, labels, reduction="sum", ignore_index=NOT_THERE)
        mean = loss / batch.global_seeds[0].clamp(min=1)
        self._weights.take(torch.autograd.grad(mean, self._weights.leaves))
        self.total.copy_(loss.detach())
        with aside():
            self._weights.note(self.total, batch.global_seeds)
        self._scores = None

    def _through(self, model: GNN, features: Tensor, batch: BatchRoom, drops: HashDropout | None) -> Tensor:
        """The model layer by layer: batch normalisation is told whose rows it sees."""
        numbers = range(len(batch.hops) - 1, -1, -1)
        blocks = [PaddedBlock(batch, number, self._library, self._indptr) for number in numbers]
        scores: Tensor = model(features, blocks, drops, self._pad)
        self._pad(None)
        return scores

    def _pad(self, block: PaddedBlock | None) -> None:
        for norm in self._norms:
            norm.padding = block

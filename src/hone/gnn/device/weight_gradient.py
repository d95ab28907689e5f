"""The gradient of the first layer's weights from that of the second layer's input, in one kernel where that is faster.

Else it is a product with the gradient of the first layer's states, the largest matrix of a step: a kernel writes it,
and the product reads it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.device.kernel_work import HopCounts
    from hone.gnn.device.memory import BatchRoom
    from hone.gnn.device.native import Library

BLOCK = 256, 128
"""Inputs and outputs of a block: `kWeightInputs` and `kWeightOutputs` of gradient_of_weights.cuh."""
BYTES_OF_A_TERM = 500
"""That the two other kernels move in the time in which the GPU adds a term to one block of the weights. By
`device_roofline` on an H200 (docs/log/2026-11-28-gradient-in-one-kernel.md): 43 us for 97,000 terms in two blocks, and
59 us for 129 MB, of 84,000 sources with 256 inputs and outputs: the sizes follow from the table's operations."""


class WeightGradient:
    """The kernel and its memory, for one batch at a time."""

    def __init__(self, library: Library, inputs: int, width: int, device: torch.device, *, in_turn: bool) -> None:
        """Of weights (inputs, width), on a GPU that `has` the kernel.

        `in_turn`: blocks add up the same terms every time; else those do that are free, and sums differ in their last
        bits.
        """
        self._library = library
        self._partials = torch.empty(library.weight_parts(inputs, width), inputs, width, device=device)
        blocks = inputs * width // 64  # or fewer, of as many weights each
        self._next = None if in_turn else torch.zeros(blocks, dtype=torch.int32, device=device)

    def __call__(
        self, batch: BatchRoom, hop: int, share: float, input: Tensor, out_gradient: Tensor, notes: Tensor, out: Tensor
    ) -> None:
        """input (sources, inputs), out_gradient (rows, 2 * width) bfloat16, notes (sources, width / 8) uint8
        -> out (inputs, width) float32.

        `hop` is what the second layer reads, `share` what dropout dropped of its states; `notes` are those of
        `mean_of_states`.
        """
        self._library.call(
            "gradient_of_weights", batch.hops[hop].view, input, input.shape[1], out_gradient, notes, out.shape[1],
            batch.dropout(0, share), self._next, self._partials, out,
        )  # fmt: skip

    @staticmethod
    def has(library: Library, inputs: int, width: int, device: torch.device) -> bool:
        """Whether this GPU has the kernel for such weights."""
        return device.type == "cuda" and library.weight_parts(inputs, width) > 0


def is_faster(hop: HopCounts, fanout: int, inputs: int, width: int) -> bool:
    """Whether the kernel is, on batches whose second layer reads such a hop.

    It does as much for each slot of a row as the others do for each source: where many slots read the same source, as
    in a small graph, or where a block's columns are not all there, it does more.
    """
    blocks = -(-inputs // BLOCK[0]) * -(-width // BLOCK[1])
    return hop.rows * (fanout + 1) * blocks * BYTES_OF_A_TERM < hop.sources * (2 * inputs + 4 * width)

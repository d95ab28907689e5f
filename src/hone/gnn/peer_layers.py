"""The layers that peers train: PyTorch Geometric's convolutions, or PyTorch's own operators in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn

from hone.gnn.models.sage import SAGEConv
from hone.gnn.pyg import own_names, with_pyg_convolutions

if TYPE_CHECKING:
    from torch import Tensor

    from hone.config.trainings import Convolutions
    from hone.gnn.batch import Block
    from hone.gnn.models.model import GNN


def with_peer_layers(model: GNN, convolutions: Convolutions) -> GNN:
    """The model with other convolutions, in place, with the same parameters. `torch` is for SAGE alone."""
    if convolutions == "pyg":
        return with_pyg_convolutions(model)
    model.convs = nn.ModuleList(SegmentSAGEConv(cast("SAGEConv", conv)) for conv in model.convs)
    return model


def parameters_of(state: dict[str, Any], convolutions: Convolutions) -> dict[str, Any]:
    """The state dict of a model `with_peer_layers` as one of the model without."""
    return own_names(state) if convolutions == "pyg" else state


class SegmentSAGEConv(nn.Module):
    """SAGE's layer by a gather and a mean of segments, which is summed in float32 whatever the format of x.

    A step calls 425 of PyTorch's operators, nested ones too, and with PyTorch Geometric's layers 584 (float32, a CPU).
    None of them waits for a GPU, forward or backward, so that a step can be captured.
    """

    def __init__(self, ours: SAGEConv) -> None:
        super().__init__()
        self.lin_l, self.lin_r = ours.lin_l, ours.lin_r

    def forward(self, x: Tensor, block: Block, own: Tensor | None = None) -> Tensor:
        """As our convolutions: x (num_src, inputs) -> (num_dst, outputs)."""
        drawn = x.index_select(0, block.indices).float()  # segment_reduce adds up in the format that it is given
        # Unsafe: nothing is checked, so that nothing waits. Without `initial` an empty row would be NaN.
        mean: Tensor = torch.segment_reduce(drawn, "mean", offsets=block.indptr, unsafe=True, initial=0.0)
        neighbours: Tensor = self.lin_l(mean.to(x.dtype))
        own_part: Tensor = self.lin_r(x[: block.num_dst] if own is None else own)
        return neighbours + own_part

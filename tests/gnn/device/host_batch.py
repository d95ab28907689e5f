"""A batch that was sampled on the device as the other systems have it, to compare the two."""

import torch
from torch import Tensor

from hone.gnn.batch import Batch, Block
from hone.gnn.device.memory import BatchRoom


def as_batch(room: BatchRoom, index: int, epoch: int) -> Batch:
    """A sampled batch as the other systems have it, on the host, its last hop's nodes numbered.

    Raises ValueError for one that did not fit into its room.
    """
    if int(room.overflow):
        raise ValueError("the batch did not fit into its room")
    sizes = [int(size) for size in room.sizes]
    nodes = room.nodes[: sizes[room.room.hops_numbered]].cpu()
    blocks = []
    for number, hop in enumerate(room.hops):
        rows, fanout = sizes[number], room.room.fanouts[number]
        degrees = hop.degrees[:rows].cpu()
        slots = hop.neighbours[: rows * fanout].cpu().view(rows, fanout)
        drawn = slots[torch.arange(fanout)[None, :] < degrees[:, None]]
        if hop.last:
            nodes, drawn = _numbered(nodes, drawn)
        indptr = torch.zeros(rows + 1, dtype=torch.int32)
        indptr[1:] = torch.cumsum(degrees, 0)
        blocks.append(Block(indptr, drawn, num_dst=rows, num_src=len(nodes) if hop.last else sizes[number + 1]))
    return Batch(index, epoch, nodes, num_seeds=sizes[0], blocks=tuple(reversed(blocks)))


def _numbered(nodes: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor]:
    """The nodes with those drawn that are new behind them, as first met, and the places of what was drawn."""
    places = {int(node): place for place, node in enumerate(nodes)}
    local = [places.setdefault(int(node), len(places)) for node in drawn]
    return torch.tensor(list(places), dtype=torch.int32), torch.tensor(local, dtype=torch.int32)

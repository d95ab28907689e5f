"""Memory of other processes of this machine: each rank's tensor as all ranks can read it."""

from __future__ import annotations

import pickle
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.distributed import Ranks

DEVICE, WAITS = 6, 14
"""Places among the arguments of torch.multiprocessing.reductions.rebuild_cuda_tensor: the device, and the last one,
whether there is an event to wait for."""


def everyones(own: Tensor, ranks: Ranks) -> list[Tensor]:
    """The tensors of all ranks in their order, this one's itself; all ranks call it together, of one process group.

    On a GPU through CUDA's handles between processes: what others have is mapped for this process's own GPU, which
    reads it over NVLink or PCIe (`peers_within_reach` says whether it can). A tensor has to be kept by its rank until
    the others have read it for the last time. On a CPU the file_system strategy of torch.multiprocessing has to be set.
    """
    from torch import distributed
    from torch.multiprocessing.reductions import reduce_tensor

    if own.is_cuda:
        torch.cuda.synchronize(own.device)  # it is whole before anybody hears of it
    told = bytes(ForkingPickler.dumps(reduce_tensor(own)))  # type: ignore[no-untyped-call]
    everybody: list[Any] = [None] * ranks.world
    distributed.all_gather_object(everybody, told)
    return [own if rank == ranks.rank else _opened(item, own.device) for rank, item in enumerate(everybody)]


def _opened(told: bytes, device: torch.device) -> Tensor:
    """Another rank's tensor, said to be on this device: CUDA maps it for the device that asks for it."""
    rebuild, arguments = pickle.loads(told)
    if device.type == "cuda":  # nor is there an event to wait for: it is whole
        arguments = (*arguments[:DEVICE], device.index, *arguments[DEVICE + 1 : WAITS], False)
    found: Tensor = rebuild(*arguments)
    return found


def peers_within_reach(device: torch.device, world: int) -> bool:
    """Whether a GPU can read the memory of the first `world` GPUs of its machine; on a CPU always."""
    if device.type != "cuda":
        return True
    if torch.cuda.device_count() < world:
        return False
    others = (other for other in range(world) if other != device.index)
    return all(torch.cuda.can_device_access_peer(device.index, other) for other in others)

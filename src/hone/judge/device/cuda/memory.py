"""Tensors over shared device memory, in processes with PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from hone.judge.device.cuda.sets import Region

REFERENCE_SETS = 2
"""Sets that the reference may need room for: new inputs, expected results, and what computing either takes."""
LARGE_SHARE = 0.125
"""Of the GPU's memory. Problems that need less are judged beside others, and room is made otherwise."""


class _Memory:
    """What PyTorch needs to see foreign device memory as a tensor of bytes."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (nbytes,), "typestr": "|u1", "data": (address, False), "version": 3,
        }  # fmt: skip


class DeviceArena:
    """All sets of a region as tensors that share its memory."""

    def __init__(self, region: Region, address: int) -> None:
        self.region = region
        self.bytes: torch.Tensor = torch.as_tensor(_Memory(address, region.nbytes), device="cuda")
        """(nbytes,) uint8: the whole region."""
        self.sets = [self._tensors(index) for index in range(region.count)]
        """For each set the tensors by name."""

    def rows(self) -> torch.Tensor:
        """(count, bytes of a set) uint8."""
        used = self.region.count * self.region.layout.nbytes
        return self.bytes[:used].view(self.region.count, -1)

    def stacked(self, first: int, end: int) -> dict[str, torch.Tensor]:
        """By name the tensors of some sets as one, (end - first, …), over the same memory."""
        rows, found = self.rows()[first:end], {}
        for slot in self.region.layout.slots:
            dtype: Any = getattr(torch, slot.dtype)
            flat = rows[:, slot.offset : slot.offset + slot.nbytes].view(dtype)
            found[slot.name] = flat.view(end - first, *slot.shape)
        return found

    def _tensors(self, index: int) -> dict[str, torch.Tensor]:
        base = index * self.region.layout.nbytes
        found = {}
        for slot in self.region.layout.slots:
            dtype: Any = getattr(torch, slot.dtype)
            raw = self.bytes[base + slot.offset : base + slot.offset + slot.nbytes]
            found[slot.name] = raw.view(dtype).reshape(slot.shape)
        return found


def give_back_if_short(inputs: DeviceArena, outputs: DeviceArena) -> None:
    """Free what PyTorch keeps for later, where sets are large and less than `REFERENCE_SETS` of them are free."""
    free, total = torch.cuda.mem_get_info()
    needed = REFERENCE_SETS * (inputs.region.layout.nbytes + outputs.region.layout.nbytes)
    if needed > free and needed > LARGE_SHARE * total:
        torch.cuda.empty_cache()

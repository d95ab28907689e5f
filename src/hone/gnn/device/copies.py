"""Arrays of the host, copied to a device in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

BYTES_A_COPY = 1 << 28


def narrow_dtype(features: Tensor) -> torch.dtype:
    """What features of 16 bits become."""
    return features.dtype if features.dtype in (torch.float16, torch.bfloat16) else torch.bfloat16


def padded_width(features: Tensor) -> int:
    """Columns that their rows have on the device."""
    return -(-features.shape[1] // 8) * 8


def rows_at_a_time(source: Tensor) -> int:
    """Of an array that is copied in parts."""
    return max(1, BYTES_A_COPY // (source[:1].nbytes or 1))


def on_device(source: Tensor, device: torch.device) -> Tensor:
    """A copy as it is."""
    return brought(source, torch.empty_like(source, device=device))


def brought(source: Tensor, target: Tensor) -> Tensor:
    """The target with the source's rows in its first columns.

    They go through page-locked memory, into which all cores copy: out of a file's map a GPU takes a few GB a second.
    """
    rows = rows_at_a_time(source)
    pinned = torch.empty_like(source[:rows], pin_memory=target.is_cuda)
    columns = () if source.dim() == 1 else (slice(source.shape[1]),)
    for first in range(0, len(source), rows):
        part = source[first : first + rows]
        there = pinned[: len(part)].copy_(part).to(target.device)
        target[(slice(first, first + rows), *columns)] = there.to(target.dtype)
    return target

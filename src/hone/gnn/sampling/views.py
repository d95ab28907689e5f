"""The arrays that the C++ workers fill, as tensors without a copy."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import torch

from hone.gnn.batch import Batch, Block

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.sampling.handle import Handle
    from hone.gnn.sampling.native import NativeArray, NativeBatch


class Views:
    """Makes batches of what the handle gives; a tensor of each whole array is made once and sliced for each batch."""

    def __init__(self, handle: Handle, hops: int, feature_dim: int, feature_dtype: str) -> None:
        self._handle = handle
        self._hops = hops
        self._feature_dim = feature_dim
        self._feature_dtype: torch.dtype = getattr(torch, feature_dtype)
        self._whole: dict[tuple[int, int], Tensor] = {}

    def sampled(self, found: NativeBatch, epoch: int) -> Batch:
        """A batch without features and labels, copied: the next one overwrites the memory."""
        return Batch(
            index=found.batch,
            epoch=epoch,
            nodes=self._first(found.nodes, torch.int32, found.num_nodes).clone(),
            num_seeds=found.num_seeds,
            blocks=tuple(self._block(found, hop, copy=True) for hop in reversed(range(self._hops))),
            prepared_s=(found.began_s, found.ended_s),
        )

    def prepared(self, found: NativeBatch, epoch: int) -> Batch:
        """A batch in its slot, which it holds until it is released."""
        values = found.num_nodes * self._feature_dim
        return Batch(
            index=found.batch,
            epoch=epoch,
            nodes=self._first(found.nodes, torch.int32, found.num_nodes),
            num_seeds=found.num_seeds,
            blocks=tuple(self._block(found, hop, copy=False) for hop in reversed(range(self._hops))),
            features=self._first(found.features, self._feature_dtype, values).view(-1, self._feature_dim),
            labels=self._first(found.labels, torch.int64, found.num_seeds),
            worker=found.worker,
            prepared_s=(found.began_s, found.ended_s),
            release=_Lease(self._handle, found.slot).release,
        )

    def _block(self, found: NativeBatch, number: int, *, copy: bool) -> Block:
        hop = found.hops[number]
        indptr = self._first(hop.indptr, torch.int32, hop.num_dst + 1)
        indices = self._first(hop.indices, torch.int32, hop.num_edges)
        if copy:
            indptr, indices = indptr.clone(), indices.clone()
        return Block(indptr, indices, num_dst=hop.num_dst, num_src=hop.num_src)

    def _first(self, array: NativeArray, dtype: torch.dtype, count: int) -> Tensor:
        """The first `count` values of an array."""
        if not array.address or not count:
            return torch.empty(0, dtype=dtype)
        key = (array.address, array.size_bytes)
        if key not in self._whole:
            memory = (ctypes.c_char * array.size_bytes).from_address(array.address)
            memory.owner = self._handle  # type: ignore[attr-defined]  # the tensor keeps `memory`, `memory` the handle
            self._whole[key] = torch.frombuffer(memory, dtype=dtype)
        return self._whole[key][:count]


class _Lease:
    """A slot that is to be given back once."""

    def __init__(self, handle: Handle, slot: int) -> None:
        self._handle: Handle | None = handle
        self._slot = slot

    def release(self) -> None:
        """Give the slot back; the second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.release(self._slot)

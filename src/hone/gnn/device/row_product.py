"""A product of many rows with a small matrix, by a kernel of cuBLASLt that needs no workspace.

What cuBLAS chooses by itself for such a product hands out tiles by a counter in its workspace, which it clears before.
In a captured graph that is one more launch between the last kernel of a step and the first of the next, and nothing
else of the step can run meanwhile.
"""

from __future__ import annotations

import ctypes
from ctypes import Structure, byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor

BFLOAT16, FLOAT32, IN_FLOAT32 = 14, 0, 68
"""`cudaDataType_t` and `cublasComputeType_t`, as in CUDA's library_types.h and cublas_api.h."""
MAX_WORKSPACE = 1
"""`cublasLtMatmulPreferenceAttributes_t`."""


class _Choice(Structure):
    """`cublasLtMatmulHeuristicResult_t`."""

    _fields_ = (
        ("algorithm", c_uint64 * 8), ("workspace", c_size_t), ("state", c_int), ("waves", c_float),
        ("reserved", c_int * 4),
    )  # fmt: skip


class RowProduct:
    """left (rows, inner) @ right (inner, columns) -> out, all of them bfloat16 and contiguous; can be captured.

    All begin at multiples of 256 bytes, as what PyTorch allocates on a GPU does.

    `torch.mm` where there is no cuBLASLt, or where it has no such kernel.
    """

    def __init__(self, rows: int, inner: int, columns: int, device: torch.device) -> None:
        self._shapes = (rows, inner), (inner, columns), (rows, columns)
        plan = _Plan(*self._shapes, device) if device.type == "cuda" and _library() else None
        self._plan = plan if plan and plan.found else None

    @property
    def is_own(self) -> bool:
        """Whether there is such a kernel."""
        return self._plan is not None

    def __call__(self, left: Tensor, right: Tensor, out: Tensor) -> None:
        """`out` is none of the others. Raises ValueError for other shapes."""
        shapes = tuple(tuple(it.shape) for it in (left, right, out))
        if shapes != self._shapes:
            raise ValueError(f"the product is of {self._shapes}, not of {shapes}")
        if self._plan is None or not self._plan.run(left, right, out):
            torch.mm(left, right, out=out)


class _Plan:
    """Matrices are handed over as their transposes, because cuBLAS stores columns: out' = right' @ left'."""

    def __init__(
        self, left: tuple[int, int], right: tuple[int, int], out: tuple[int, int], device: torch.device
    ) -> None:
        """Of these shapes."""
        self._handle = _handle(device.index if device.index is not None else torch.cuda.current_device())
        self._description = _made("cublasLtMatmulDescCreate", c_int(IN_FLOAT32), c_int(FLOAT32))
        self._left, self._right, self._out = (
            _made("cublasLtMatrixLayoutCreate", c_int(BFLOAT16), c_uint64(width), c_uint64(rows), c_int64(width))
            for rows, width in (left, right, out)
        )
        preference, none = _made("cublasLtMatmulPreferenceCreate"), c_uint64(0)
        self.found = all((self._handle, self._description, self._left, self._right, self._out, preference))
        if not self.found:
            return
        _ask("cublasLtMatmulPreferenceSetAttribute", preference, c_int(MAX_WORKSPACE), byref(none), c_size_t(8))
        self._choice, found = _Choice(), c_int32(0)
        _ask(
            "cublasLtMatmulAlgoGetHeuristic", self._handle, self._description, self._right, self._left, self._out,
            self._out, preference, c_int(1), byref(self._choice), byref(found),
        )  # fmt: skip
        _ask("cublasLtMatmulPreferenceDestroy", preference)
        self.found = found.value == 1 and self._choice.state == 0

    def run(self, left: Tensor, right: Tensor, out: Tensor) -> bool:
        """Whether it was launched; only where a kernel was found."""
        one, zero = c_float(1.0), c_float(0.0)
        pointers = [c_void_p(it.data_ptr()) for it in (right, left, out)]
        return _ask(
            "cublasLtMatmul", self._handle, self._description, byref(one), pointers[0], self._right, pointers[1],
            self._left, byref(zero), pointers[2], self._out, pointers[2], self._out, byref(self._choice.algorithm),
            None, c_size_t(0), c_void_p(torch.cuda.current_stream().cuda_stream),
        )  # fmt: skip


@cache
def _library() -> Any:
    """The cuBLASLt that PyTorch has loaded; None: there is none."""
    try:
        return ctypes.CDLL(f"libcublasLt.so.{(torch.version.cuda or '').partition('.')[0]}")
    except OSError:
        return None


@cache
def _handle(index: int) -> c_void_p:
    """Of the GPU with this number."""
    with torch.cuda.device(index):
        return _made("cublasLtCreate")


def _made(function: str, *arguments: Any) -> c_void_p:
    """What it makes; null where it refuses."""
    made = c_void_p()
    _ask(function, byref(made), *arguments)
    return made


def _ask(function: str, *arguments: Any) -> bool:
    """Whether it did not refuse."""
    return int(getattr(_library(), function)(*arguments)) == 0

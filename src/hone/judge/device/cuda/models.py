"""What the two GPU runners with PyTorch share beside the CPU's: precision flags, graphs, the profiler's table."""

from __future__ import annotations

import importlib
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from hone.judge.child.models import TABLE_CHARACTERS

_failed_graphs: list[Any] = []
"""Kept, because PyTorch's allocator goes on to ask them which streams are theirs."""


def allow_tf32(setting: str) -> None:
    """Whether float32 matrix products and convolutions may round their inputs to TF32: `on`, `off`, or as they are."""
    if setting == "default":
        return
    # The older of PyTorch's two interfaces: candidates use it too, and PyTorch refuses a mixture.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = setting == "on"


@contextmanager
def without_tf32() -> Iterator[None]:
    """Float32 in full inside, whatever is allowed else."""
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    allow_tf32("off")
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


@contextmanager
def captured_graph() -> Iterator[Any]:
    """A graph of what is put on the GPU inside; raises what PyTorch raises when that cannot be captured."""
    stream, graph = torch.cuda.current_stream(), torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            yield graph
    except BaseException:
        # A capture that fails leaves its own stream the current one: events on the default stream would time nothing.
        torch.cuda.set_stream(stream)
        graph.reset()
        _failed_graphs.append(graph)
        raise


def profile_table(run: Callable[[], object]) -> str:
    """PyTorch's operator table of one call with its time on the GPU, the most expensive operators first."""
    from torch.autograd.profiler import profile

    with profile(use_device="cuda") as profiler:
        run()
        torch.cuda.synchronize()
    table = profiler.key_averages().table(sort_by="self_cuda_time_total", row_limit=15)
    return str(table)[:TABLE_CHARACTERS]


def import_extension_tools() -> None:
    """Import what `load_inline` needs, which takes a second, without opening the GPU.

    The import asks whether there is a GPU. PyTorch would ask NVML and never close it, so that the GPU's device file
    stayed open in this process and in all that are forked from it.
    """
    asked = torch.cuda.is_available
    torch.cuda.is_available = lambda: True
    try:
        importlib.import_module("torch.utils.cpp_extension")
    finally:
        torch.cuda.is_available = asked


def warm_triton() -> None:
    """Let Triton ask its compiler for its version now: runners that fork from here cannot start programs any more."""
    try:
        from triton.backends.nvidia import compiler, driver  # type: ignore[import-not-found]
        from triton.runtime import build  # type: ignore[import-not-found]
        from triton.runtime.cache import triton_key  # type: ignore[import-not-found]

        build.platform_key()
        triton_key()
        driver.libcuda_dirs()
        for architecture in (90, 100):
            compiler.get_ptxas_version(architecture)
    except (ImportError, AttributeError, TypeError, OSError, subprocess.SubprocessError, AssertionError):
        return  # without Triton, or with another one, its solutions fail by themselves

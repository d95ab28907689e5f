"""The machine that gives a verdict: its CPU, memory and packages, as records name them."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import shutil
from pathlib import Path
from typing import Literal

from hone.core.code import commit
from hone.records import Environment


def cpu_model() -> str:
    """Model name of this machine's CPU, with the instruction set's name where Linux gives no model."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@functools.cache
def cpu_environment() -> Environment:
    """This machine as one that runs solutions on its CPU; imports nothing heavy."""
    return Environment(
        host=platform.node(),
        device=cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        python=platform.python_version(),
        torch=installed_version("torch"),
        commit=commit(),
    )


@functools.cache
def cuda_environment(gpu_name: str, driver: str) -> Environment:
    """This machine as one that runs solutions on a GPU."""
    return cpu_environment().model_copy(update={"device": gpu_name, "driver": driver})


def environment_of(device: Literal["cpu", "cuda"]) -> Environment:
    """The machine with its CPU or its GPU; raises MachineError for a GPU where there is none."""
    if device == "cpu":
        return cpu_environment()
    from hone.machine.gpus import visible_gpus

    gpu = visible_gpus()[0]
    return cuda_environment(gpu.name, gpu.driver)


def installed_version(package: str) -> str:
    """Version of an installed package, empty when it is not there."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def oom_kills() -> int:
    """How many processes the kernel has killed for lack of memory since the machine started."""
    try:
        with open("/proc/vmstat", encoding="ascii") as lines:  # noqa: PTH123
            return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
    except OSError:
        return 0


def sees_gpu() -> bool:
    """Whether there is a trace of an NVIDIA GPU: its device file, or the driver's program."""
    return Path("/dev/nvidia0").exists() or shutil.which("nvidia-smi") is not None


def available_bytes() -> int:
    """Memory that new processes can use without swapping; very large where Linux does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123
            found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        found = []
    return found[0] if found else 1 << 62

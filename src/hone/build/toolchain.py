"""Which compiler with which flags: the one place that says how `cpp` and `cuda` solutions are compiled."""

from __future__ import annotations

import functools
import os
import platform
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hone.records import Language, digest

# No -ffast-math: it lets the compiler assume that NaN and infinity do not occur, which the judge checks for.
CPP_FLAGS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-std=c++17")
# SASS for H100 and H200, and PTX so that later GPUs can run it too.
CUDA_FLAGS = (
    "-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC",
    "-gencode", "arch=compute_90,code=sm_90", "-gencode", "arch=compute_90,code=compute_90",
)  # fmt: skip
CUDA_TARGET = "sm_90"


@dataclass(frozen=True)
class Toolchain:
    """One compiler as found on this machine."""

    command: tuple[str, ...]
    """The compiler and its flags, without file names."""
    suffix: str
    """Of the source file."""
    version: str
    """First line of `--version` that names a version."""
    target: str
    """The CPU or GPU architecture that the code is for."""
    missing: str = ""
    """Why there is no such compiler, and what to do about it; empty when it was found."""
    program: tuple[str, ...] = ()
    """The compiler without flags."""


def cpu_model() -> str:
    """Model name of this machine's CPU, with the instruction set's name where Linux gives no model."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@functools.cache
def cpu_target() -> str:
    """What `-march=native` depends on: model name and a digest of the feature flags (virtual machines hide some)."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    flags = [line.partition(":")[2].strip() for line in lines if line.startswith(("flags", "Features"))]
    return f"{cpu_model()} with features {digest(flags[:1])[:8]}"


def toolchain_for(language: Language) -> Toolchain:
    """The compiler of `cpp` (variable CXX, else g++) or `cuda` (variable NVCC, else nvcc)."""
    if language is Language.CPP:
        return _find("CXX", "g++", CPP_FLAGS, ".cpp", cpu_target(), "install g++ (Debian: apt install g++)")
    return _find("NVCC", "nvcc", CUDA_FLAGS, ".cu", CUDA_TARGET, "install the CUDA toolkit, 12.0 or newer")


def _find(variable: str, default: str, flags: tuple[str, ...], suffix: str, target: str, remedy: str) -> Toolchain:
    words = tuple(shlex.split(os.environ.get(variable, ""))) or (default,)
    path = shutil.which(words[0])
    version = _version((path, *words[1:])) if path else None
    missing = ""
    if version is None:
        missing = f"no compiler: '{words[0]}' cannot be run; {remedy} or name it in the variable {variable}"
    return Toolchain((*words, *flags), suffix, version or "", target, missing, words)


def _version(command: tuple[str, ...]) -> str | None:
    try:
        said = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=60, check=True, stdin=subprocess.DEVNULL
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    # nvcc's first line names the product only; its release stands further down.
    return next((line for line in lines if "release" in line), lines[0]) if lines else None

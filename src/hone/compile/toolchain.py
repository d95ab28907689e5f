"""Which compiler with which flags: the one place that says how `cpp` and `cuda` solutions are compiled."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hone.compile.extension_flags import FlagError, cuda_flags, host_flags
from hone.core.errors import ConfigError
from hone.machine.environment import cpu_model
from hone.machine.hardware import GPU, gpu_here
from hone.records import Definition, Language, digest

# No -ffast-math: it lets the compiler assume that NaN and infinity do not occur, which the judge checks for.
CPP_FLAGS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-std=c++17")
# `-Xptxas -v` says what each kernel needs.
CUDA_FLAGS = ("-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-Xptxas", "-v")


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
    opened: tuple[Path, ...] = ()
    """Folders that it may read beside the system's (`hone.compile.confined`)."""

    def with_flags(self, flags: Sequence[str], opened: Iterable[Path] = ()) -> Toolchain:
        """The same compiler with further flags; a language standard among them takes the place of the usual one.

        `opened`: folders that it may read, too.
        """
        command = self.command
        if any(flag.startswith("-std=") for flag in flags):
            command = tuple(word for word in command if not word.startswith("-std="))
        return replace(self, command=(*command, *flags), opened=(*self.opened, *opened))


@functools.cache
def cpu_target() -> str:
    """What `-march=native` depends on: model name and a digest of the feature flags (virtual machines hide some)."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    flags = [line.partition(":")[2].strip() for line in lines if line.startswith(("flags", "Features"))]
    return f"{cpu_model()} with features {digest(flags[:1])[:8]}"


def toolchain_for(language: Language, gpu: GPU | None = None) -> Toolchain:
    """The compiler of `cpp` (variable CXX, else g++) or `cuda` (variable NVCC, else nvcc).

    `gpu`: what CUDA is compiled for; absent: what `gpu_here` says.
    """
    if language is Language.CPP:
        return _find("CXX", "g++", CPP_FLAGS, ".cpp", cpu_target(), "install g++ (Debian: apt install g++)")
    gpu = gpu or gpu_here()
    flags = (*CUDA_FLAGS, *target_flags(gpu.sm))
    return _find("NVCC", "nvcc", flags, ".cu", gpu.target, "install the CUDA toolkit, 12.0 or newer")


def target_flags(sm: str) -> tuple[str, ...]:
    """Machine code for a compute capability such as `90`, and PTX so that later GPUs can run it too."""
    return ("-gencode", f"arch=compute_{sm},code=sm_{sm}", "-gencode", f"arch=compute_{sm},code=compute_{sm}")


def flags_for(definition: Definition, language: Language) -> tuple[str, ...]:
    """The definition's own flags for solutions in a language; raises ConfigError for one that is not let through.

    Those that tune code are, as for `load_inline`: none that names a file, a program or a target.
    """
    if language is not definition.kernel_language:
        return ()
    for flag in definition.compiler_flags:
        try:
            known = (cuda_flags if language is Language.CUDA else host_flags)([flag])
        except FlagError:
            known = None
        if known is None or (not known.flags and not known.std):
            remedy = "only flags that tune code are, such as -use_fast_math, -std=c++20, -maxrregcount=64"
            raise ConfigError(
                f"the flag '{flag}' is not let through to the compiler", where=definition.name, remedy=remedy
            )
    return definition.compiler_flags


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

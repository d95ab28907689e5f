"""The sampler's C++ as a shared object of this machine, from the store where it was compiled before."""

from __future__ import annotations

import re
from pathlib import Path

from hone.compile.builds import build_one
from hone.compile.toolchain import toolchain_for
from hone.core.errors import MachineError
from hone.core.store import Store
from hone.records import Build, Language, Solution

SOURCES = Path(__file__).parent / "cpp"
MAIN = "api.cpp"
FLAGS = ("-pthread",)
STUDY = "-DHONE_STUDY"
"""Compiles all kinds of the design study."""
NAME = "hone/sampler"
TIMEOUT_S = 600.0
INCLUDE = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)


def build_sampler(store: Path, *, study: bool = False) -> Path:
    """Path of the shared object; compiled at most once for each source, compiler and CPU model (a few seconds).

    `study` has all kinds of the design study. Raises MachineError without a compiler, or when it refuses.
    """
    build = sampler_build(store, study=study)
    assert build.artifact is not None, "sampler_build sees to it"
    return store / build.artifact


def sampler_build(store: Path, *, study: bool = False) -> Build:
    """As `build_sampler`, the record; its `artifact` is relative to the store."""
    solution = Solution(
        definition=NAME, language=Language.CPP, entry_point="hone_sampler_open", source=whole_source(SOURCES / MAIN)
    )
    toolchain = toolchain_for(Language.CPP).with_flags((*FLAGS, STUDY) if study else FLAGS)
    build = build_one(solution, toolchain, Store(store), TIMEOUT_S, own=True)
    if build.artifact is None:
        remedy = "use g++ 11 or newer (variable CXX) on Linux"
        raise MachineError(f"the sampler does not compile: {build.log[:2000]}", where=str(SOURCES), remedy=remedy)
    return build


def whole_source(main: Path) -> str:
    """The text of a file with its own headers put in their places, each once: one source, one key of the store."""
    seen: set[str] = set()

    def put_in(found: re.Match[str]) -> str:
        name = found.group(1)
        if name in seen:
            return ""
        seen.add(name)
        return INCLUDE.sub(put_in, (main.parent / name).read_text(encoding="utf-8").replace("#pragma once\n", ""))

    return INCLUDE.sub(put_in, main.read_text(encoding="utf-8"))

"""The kernels and definitions that a study is about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hone.config.settings import read
from hone.core.errors import ConfigError
from hone.solutions.bench import DEFINITIONS, Bench, read_definitions, read_workloads
from hone.sources.solution_files import SUFFIXES, language_of, source_files


def open_bench(config: Path, definitions: Path = DEFINITIONS) -> Bench:
    """Raises ConfigError for a wrong config or a folder without definitions."""
    known = read_definitions(definitions)
    if not known:
        remedy = "`snakemake definitions --cores 2` makes them, with the config that has their sources"
        raise ConfigError("there are no definitions", where=str(definitions), remedy=remedy)
    return Bench(read(config), known, read_workloads(definitions))


def expand(patterns: Sequence[str]) -> list[Path]:
    """Files named by paths, folders (all kernels in it) and patterns, each once, in order; raises ConfigError."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        if path.is_dir():
            files = source_files(path)
        elif path.is_file():
            files = [path]
        else:
            files = [file for file in sorted(path.parent.glob(path.name)) if language_of(file)]
        if not files:
            raise ConfigError("names no kernel", where=pattern, remedy=f"kernels end in {', '.join(SUFFIXES)}")
        found.update(dict.fromkeys(files))
    return list(found)

"""Kernels in single files, the definitions that they are for, and the pipeline's own stages applied to them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hone.config import Settings, closest, read
from hone.errors import ConfigError
from hone.files import read_records
from hone.methods.extract import ENTRY_POINTS
from hone.methods.files import SUFFIXES, language_of, read_file, source_files
from hone.records import Build, Definition, Solution, Trace

DEFINITIONS = Path("results/definitions")


@dataclass(frozen=True)
class Bench:
    """A config with the definitions at hand."""

    settings: Settings
    definitions: Mapping[str, Definition]

    def kernel(self, file: Path, definition: str = "") -> Solution:
        """The solution in a file, for the named definition, else the one in its header; raises ConfigError."""
        solution = read_file(file).solution if not definition else _solution(file, definition)
        name = solution.definition
        if name not in self.definitions:
            raise ConfigError(f"no definition '{name}'{closest(name, self.definitions)}", where=str(file))
        if self.definitions[name].source not in self.settings.sources:
            hint = closest(self.definitions[name].source, self.settings.sources)
            raise ConfigError(f"source of '{name}' is not in the config{hint}", where=str(file))
        return solution

    def kernels(self, files: Sequence[Path]) -> list[Solution]:
        """`kernel` of each file."""
        return [self.kernel(file) for file in files]

    def build(self, solutions: Sequence[Solution], store: Path) -> dict[str, Build]:
        """Builds by solution id, with as many compilers at a time as there are CPUs."""
        from hone.build import build_all

        protocol = self.settings.judge
        builds = build_all(
            solutions, dict(self.definitions), store=store, timeout_s=protocol.build_timeout_s,
            workers=len(os.sched_getaffinity(0)), extensions=protocol.device == "cuda", progress=False,
        )  # fmt: skip
        return {build.solution: build for build in builds}

    def judge(self, solutions: Sequence[Solution], builds: Mapping[str, Build], store: Path) -> list[Trace]:
        """One trace for each solution, in the order given, by one call of the judge."""
        from hone.judge.judging import judge_all
        from hone.sources.workloads import workload_of

        needed = {solution.definition: self.definitions[solution.definition] for solution in solutions}
        sources = self.settings.sources
        workloads = {name: workload_of(item, sources[item.source].tolerance) for name, item in needed.items()}
        return judge_all(
            solutions, builds, needed, workloads, self.settings.judge,
            baselines=self.settings.baselines, store=store, progress=False,
        )  # fmt: skip

    def speedup(self, trace: Trace) -> float | None:
        """Over the config's first baseline; absent when the trace has no time of it."""
        baseline = self.settings.baselines[0]
        known = trace.performance is not None and baseline in trace.performance.baselines
        return trace.performance.speedup(baseline) if known and trace.performance else None


def open_bench(config: Path, definitions: Path = DEFINITIONS) -> Bench:
    """Raises ConfigError for a wrong config or a folder without definitions."""
    known: dict[str, Definition] = {}
    for file in sorted(definitions.rglob("*.jsonl")):
        if not file.name.endswith(".unsupported.jsonl"):
            known.update({item.name: item for item in read_records(file, Definition)})
    if not known:
        remedy = "`snakemake definitions --cores 2` makes them, with the config that has their sources"
        raise ConfigError("there are no definitions", where=str(definitions), remedy=remedy)
    return Bench(read(config), known)


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


def _solution(file: Path, definition: str) -> Solution:
    """A file as a solution of a definition, whatever its header says."""
    language = language_of(file)
    if language is None:
        raise ConfigError(f"ends in none of {', '.join(SUFFIXES)}", where=str(file))
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        remedy = "a solution is a text file with a kernel's source"
        raise ConfigError(f"cannot read: {error}", where=str(file), remedy=remedy) from None
    return Solution(definition=definition, language=language, entry_point=ENTRY_POINTS[language], source=source)

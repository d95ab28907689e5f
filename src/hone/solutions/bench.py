"""Single kernels, the definitions that they are for, and the pipeline's own stages applied to them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hone.config.runs import DEFAULT_RUN
from hone.config.settings import Settings
from hone.core.errors import ConfigError, closest
from hone.core.files import read_records
from hone.launcher import ENTRY_POINTS
from hone.machine.hardware import gpu
from hone.records import Build, Definition, Solution, Trace, Workload
from hone.sources.solution_files import read_file, read_source

DEFINITIONS = DEFAULT_RUN / "definitions"


@dataclass(frozen=True)
class Bench:
    """A config with the definitions at hand."""

    settings: Settings
    definitions: Mapping[str, Definition]
    workloads: Mapping[str, Sequence[Workload]] = field(default_factory=dict)
    """By definition; one that has none here is judged as its problem's authors gave it."""

    def kernel(self, file: Path, definition: str = "") -> Solution:
        """The solution in a file, for the named definition, else the one in its header; raises ConfigError."""
        if definition:
            language, source = read_source(file)
            entry = ENTRY_POINTS[language]
            solution = Solution(definition=definition, language=language, entry_point=entry, source=source)
        else:
            solution = read_file(file).solution
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
        """Builds by solution id, those of existing kernels included, with as many compilers at a time as CPUs."""
        from hone.compile import build_all
        from hone.compile.kernels import with_kernels

        protocol, name = self.settings.judge, self.settings.gpu
        wanted = with_kernels(solutions, self.definitions, protocol.device)
        builds = build_all(
            wanted, dict(self.definitions), store=store, timeout_s=protocol.build_timeout_s,
            workers=len(os.sched_getaffinity(0)), gpu=gpu(name) if name else None,
            extensions=protocol.device == "cuda", progress=False,
        )  # fmt: skip
        return {build.solution: build for build in builds}

    def judge(
        self, solutions: Sequence[Solution], builds: Mapping[str, Build], store: Path, *, again: bool = False
    ) -> list[Trace]:
        """One trace for each solution, in the order given, by one call of the judge; `again`: also known ones.

        On the first workload of its definition.
        """
        from hone.judge.judging import judge_all

        needed = {solution.definition: self.definitions[solution.definition] for solution in solutions}
        workloads = {name: [self.workload(item)] for name, item in needed.items()}
        return judge_all(
            solutions, builds, needed, workloads, self.settings.judge,
            baselines=self.settings.baselines, store=store, again=again, progress=False,
        )  # fmt: skip

    def workload(self, definition: Definition) -> Workload:
        """The first workload of a definition."""
        from hone.sources.workloads import workload_of

        known = self.workloads.get(definition.name)
        return known[0] if known else workload_of(definition, self.settings.sources[definition.source].tolerance)

    def speedup(self, trace: Trace) -> float | None:
        """Over the config's first baseline; absent when the trace has no time of it."""
        baseline = self.settings.baselines[0]
        known = trace.performance is not None and baseline in trace.performance.baselines
        return trace.performance.speedup(baseline) if known and trace.performance else None


def read_definitions(folder: Path) -> dict[str, Definition]:
    """All definitions that the pipeline has made, by name."""
    files = [file for file in sorted(folder.rglob("*.jsonl")) if not file.name.endswith(".unsupported.jsonl")]
    return {item.name: item for file in files for item in read_records(file, Definition)}


def read_workloads(definitions: Path) -> dict[str, list[Workload]]:
    """All workloads that the pipeline has made beside a folder of definitions, by definition."""
    from hone.sources.workloads import group

    files = sorted((definitions.parent / "workloads").rglob("*.jsonl"))
    return group(item for file in files for item in read_records(file, Workload))

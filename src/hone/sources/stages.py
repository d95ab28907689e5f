"""The stages of problems and existing kernels as functions of files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from hone.config.experiments import Numbers
from hone.config.sources import Source
from hone.core.errors import located
from hone.core.files import read_all, read_records, write_records
from hone.records import TORCH_BASELINES, Definition, Tolerance, UnsupportedProblem, Workload
from hone.sources.workloads import visible, workload_of


def fetch_problems(name: str, source: Source, output: Path) -> None:
    """A source's problem files, or entries of existing kernels, verified against the config; raises SourceError."""
    from hone.sources.extraction.fetch import fetch as fetch_kernels
    from hone.sources.fetch import fetch

    with located(f"sources.{name}"):
        if source.kind == "kernels":
            write_records(output, fetch_kernels(name, source))
        else:
            write_records(output, fetch(name, source))


def define_level(
    problems: Path,
    level: int,
    tolerance: Tolerance,
    *,
    kind: str,
    baselines: Sequence[str],
    soundness: Path,
    versions: Path,
    definitions: Path,
    workloads: Path,
    unsupported: Path,
) -> None:
    """Definitions of one level and their workloads, and the problems that cannot become one.

    A problem has one workload, an existing kernel (`kind: kernels`) those of its entry.
    """
    from hone.sources import soundness as flags
    from hone.sources.extraction.define import define as define_kernels
    from hone.sources.extraction.fetch import KernelFile
    from hone.sources.inspect import define
    from hone.sources.problem import ProblemFile

    missing: list[UnsupportedProblem] = []
    if kind == "kernels":
        found, sized = define_kernels(read_records(problems, KernelFile), tolerance, baselines=baselines)
    else:
        files = [file for file in read_records(problems, ProblemFile) if file.level == level]
        known = flags.read(soundness, versions).at(max(tolerance.atol, tolerance.rtol))
        found, missing = define(files, known, baselines=[name for name in baselines if name in TORCH_BASELINES])
        sized = [workload_of(definition, tolerance) for definition in found]
    write_records(definitions, found)
    write_records(workloads, sized)
    write_records(unsupported, missing)


def select_batch(
    batch: Numbers, definitions: Iterable[Path], workloads: Iterable[Path], *, chosen: Path, chosen_workloads: Path
) -> None:
    """The definitions of a batch and their workloads, out of whole levels."""
    found = [item for item in read_all(definitions, Definition) if (item.level, item.number) in batch]
    names = {item.name for item in found}
    write_records(chosen, found)
    write_records(chosen_workloads, [item for item in read_all(workloads, Workload) if item.definition in names])


def show_workloads(workloads: Path, output: Path) -> None:
    """The workloads that prompts may speak of: no prompt stage ever opens a file that holds the others."""
    write_records(output, visible(read_records(workloads, Workload)))

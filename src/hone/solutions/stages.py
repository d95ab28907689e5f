"""Building and judging as functions of files.

They stand outside `build` and `judge`, whose text is part of every verdict's key: how files are read changes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from hone.core.errors import MachineError, SourceError
from hone.core.files import read_all, read_records, write_records
from hone.machine.hardware import GPU
from hone.records import Build, BuildStatus, Definition, Protocol, Solution, Workload
from hone.sources.workloads import group


def build(
    solutions: Path, definitions: Iterable[Path], *, store: Path, timeout_s: float, workers: int, device: str,
    output: Path, gpu: GPU | None = None,
) -> None:  # fmt: skip
    """Shared objects, or what the compiler said, of a batch's solutions and of the existing kernels beside them.

    `gpu`: what CUDA is compiled for; absent: this machine's GPU. MachineError when there is no compiler.
    """
    from hone.compile import build_all
    from hone.compile.kernels import with_kernels

    known = {item.name: item for item in read_all(definitions, Definition)}
    kernels = with_kernels(read_records(solutions, Solution), known, device)
    builds = build_all(
        kernels, known, store=store, timeout_s=timeout_s, workers=workers, gpu=gpu, extensions=device == "cuda"
    )
    missing = [item for item in builds if item.status is BuildStatus.NO_COMPILER]
    if missing:
        problem = f"{len(missing)} solutions wait for a compiler: {missing[0].log.splitlines()[0]}"
        raise MachineError(problem, where=str(solutions), remedy="install it, then run the same command again")
    write_records(output, builds)


def build_existing(
    definitions: Path, *, store: Path, timeout_s: float, workers: int, output: Path, gpu: GPU | None = None
) -> None:
    """Shared objects of all existing kernels of a level, before anybody is asked to improve them.

    `gpu`: as for `build`. Raises SourceError that names each kernel that does not compile with the compiler's first
    error, MachineError when there is no compiler.
    """
    from hone.compile import build_all
    from hone.compile.kernels import kernel_solution
    from hone.compile.outcome import first_error

    known = {item.name: item for item in read_records(definitions, Definition)}
    kernels = {(item.name, name): kernel_solution(item, name) for item in known.values() for name in item.kernels}
    builds = build_all(list(kernels.values()), known, store=store, timeout_s=timeout_s, workers=workers, gpu=gpu)
    wrong = []
    for (definition, name), found in zip(kernels, builds, strict=True):
        if found.status is BuildStatus.NO_COMPILER:
            raise MachineError(found.log.splitlines()[0], where=definition, remedy="install it, then run this again")
        if found.status is not BuildStatus.BUILT:
            wrong.append(f"{definition}, {name}: {first_error(found.log) or found.status.value}")
    if wrong:
        remedy = "correct the kernel's entry; with `prune: false` in it nothing of the headers is left out"
        raise SourceError("existing kernels do not compile:\n  " + "\n  ".join(wrong), remedy=remedy)
    write_records(output, builds)


def judge(
    solutions: Path,
    builds: Path,
    definitions: Iterable[Path],
    workloads: Iterable[Path],
    *,
    protocol: Protocol,
    baselines: Sequence[str],
    store: Path,
    output: Path,
) -> None:
    """Verdicts and times of a batch's solutions, one trace for each solution and workload of its definition."""
    from hone.judge.judging import judge_all

    kernels = read_records(solutions, Solution)
    needed = {kernel.definition for kernel in kernels}
    known = {item.name: item for item in read_all(definitions, Definition) if item.name in needed}
    given = group(read_all(workloads, Workload))
    compiled = {item.solution: item for item in read_records(builds, Build)}
    traces = judge_all(kernels, compiled, known, given, protocol, baselines=baselines, store=store, progress=True)
    write_records(output, traces)

"""Which kernels become operators: the existing ones of each definition, and the best of those that were written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hone.compile.kernels import kernel_solution
from hone.core.errors import MachineError
from hone.core.files import read_all, write_records
from hone.machine.hardware import GPU
from hone.operators.choice import KernelChoice, KernelSet
from hone.records import BuildStatus, Definition, SanitizerVerdict, Solution, Trace, Workload
from hone.selection.rank import best_solution
from hone.selection.stages import objections_of
from hone.sources.workloads import group

EXISTING: tuple[KernelSet, ...] = ("upstream", "current")


def choose(
    definitions: Iterable[Path],
    workloads: Iterable[Path],
    solutions: Iterable[Path],
    evaluations: Iterable[Path],
    *,
    store: Path,
    timeout_s: float,
    workers: int,
    output: Path,
    gpu: GPU | None = None,
    sanitized: Iterable[Path] = (),
) -> None:
    """Write a KernelChoice for each existing kernel and each definition's winner, built (as a rule: in the store).

    `gpu`: what CUDA is compiled for; absent: this machine's GPU. `sanitized`: verdicts of compute-sanitizer; a solution
    that it objects to is no winner. Raises MachineError when there is no compiler, or an
    existing kernel does not build.
    """
    from hone.compile import build_all

    items = {item.name: item for item in read_all(definitions, Definition) if item.kernels}
    objected = objections_of(read_all(sanitized, SanitizerVerdict))
    allowed = [solution for solution in read_all(solutions, Solution) if solution.id not in objected]
    found = kernels_of(items.values(), group(read_all(workloads, Workload)), allowed, read_all(evaluations, Trace))
    kernels = [solution for _, solution, _ in found]
    builds = build_all(kernels, items, store=store, timeout_s=timeout_s, workers=workers, gpu=gpu, progress=False)
    for (name, solution, _), build in zip(found, builds, strict=True):
        if build.status is not BuildStatus.BUILT:
            message = (build.log.strip() or build.status.value).splitlines()[0]
            raise MachineError(f"the kernel '{name}' was not built: {message}", where=solution.definition)
    write_records(
        output,
        [
            KernelChoice(kernel_set=name, solution=solution, build=build, speedup=speedup)
            for (name, solution, speedup), build in zip(found, builds, strict=True)
        ],
    )


def kernels_of(
    definitions: Iterable[Definition],
    workloads: Mapping[str, Sequence[Workload]],
    solutions: Sequence[Solution],
    traces: Sequence[Trace],
) -> list[tuple[KernelSet, Solution, float | None]]:
    """For each definition with existing kernels: these, then its winner and the winner's speedup where there is one."""
    found: list[tuple[KernelSet, Solution, float | None]] = []
    for definition in definitions:
        found += [(name, kernel_solution(definition, name), None) for name in EXISTING if name in definition.kernels]
        best = best_solution(definition, workloads.get(definition.name, ()), solutions, traces)
        if definition.kernels and best is not None:
            found.append(("winner", best.solution, best.speedup))
    return found

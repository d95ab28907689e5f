"""What a training does about `kernels: selected`: for each operator the kernel that it runs here, or why none.

A kernel that cannot be used costs the training nothing but its speed: it runs the builtin, says so on the screen, in
the log and in its record.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hone.compile.builds import build_for
from hone.core.errors import HoneError
from hone.core.files import read_record
from hone.core.store import Store
from hone.gnn.job import TrainingJob
from hone.machine.environment import environment_of
from hone.records import BuildStatus, KernelUse, Language, SelectedKernel, Selection
from hone.selection.loop.check import OwnBatch, OwnLoop, refusal


@dataclass(frozen=True)
class Found:
    """One operator's kernel on this machine."""

    use: KernelUse
    artifact: Path | None = None
    """Its shared object; None: the builtin runs."""


def with_selected_kernels(
    job: TrainingJob,
    selections: Iterable[Path],
    *,
    graph: Path,
    sampler: Path | None,
    store: Path,
    log: Path | None = None,
) -> TrainingJob:
    """The job with those kernels of the selections that can be used on this machine.

    Every other operator runs the builtin, which a warning says where a kernel was selected for this machine. Raises
    RecordError for a selection that cannot be read.
    """
    own = _own(job, graph, sampler, store)
    read = [read_record(path, Selection) for path in selections]
    found = [find(item, environment_of(item.runs_on).device, store, own) for item in read]
    for item in found:
        if item.use.used == "fell_back":
            warn(item.use, log)
    objects = {item.use.operator: str(item.artifact) for item in found if item.artifact is not None}
    definitions = {item.operator: item.definition for item in read if item.operator in objects}
    uses = tuple(item.use for item in found)
    return job.model_copy(update={"kernel_uses": uses, "objects": objects, "definitions": definitions})


def _own(job: TrainingJob, graph: Path, sampler: Path | None, store: Path) -> OwnBatch | OwnLoop | None:
    """What of a training a kernel is tried on."""
    if sampler is None:
        return None
    if job.system == "device":
        return OwnLoop(job=job, graph=str(graph), library=str(sampler))
    return OwnBatch(
        graph=str(graph), sampler=str(sampler), fanouts=job.hyper.fanouts, batch_size=job.hyper.batch_size,
        seed=job.seed, store=str(store),
    )  # fmt: skip


def find(selection: Selection, where: str, store: Path, own: OwnBatch | OwnLoop | None = None) -> Found:
    """The operator's kernel for this machine, built, and tried; the builtin where there is none or any of it fails.

    `where` is the model name of the CPU or GPU that is to run it; `own` what the training runs it on, where it has to
    agree with the builtin.
    """
    kernel = next((item for item in selection.kernels if item.where == where), None)
    if kernel is None:
        others = ", ".join(item.where for item in selection.kernels)
        reason = f"nothing was selected for {where}, only for {others}" if others else "the campaign selected none"
        return Found(KernelUse(operator=selection.operator, where=where, used="builtin", reason=reason))
    artifact, reason = _built(selection, kernel, store)
    if artifact is not None:
        reason = refusal(selection, kernel, artifact, own)
    common = {"operator": selection.operator, "where": where, "solution": kernel.solution.id}
    if artifact is None or reason:
        return Found(KernelUse(**common, used="fell_back", reason=reason))
    return Found(KernelUse(**common, used="selected"), artifact)


def warn(use: KernelUse, log: Path | None) -> None:
    """Say on the screen and in the log that a kernel was selected and does not run."""
    rule = "!" * 100
    lines = [
        rule,
        f"warning: {use.operator}: the selected kernel {use.solution[:12]} is not used: {use.reason}",
        "  the builtin runs in its place; the tables say so (gnn_kernels, column used)",
        rule,
    ]
    text = "\n".join(lines) + "\n"
    sys.stderr.write(text)
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(text)


def _built(selection: Selection, kernel: SelectedKernel, store: Path) -> tuple[Path | None, str]:
    """Shared object for this machine, out of the store or compiled now; else None and why there is none."""
    kept = _kept(kernel, store)
    if kept is not None:
        return kept, ""
    assert selection.definition is not None, "the record sees to it"
    try:
        build = build_for(selection.definition, kernel.solution, store)
    except HoneError as error:
        return None, f"it cannot be built: {error.problem}"
    if build.artifact is None:
        lines = build.log.strip().splitlines() or [build.status.value]
        said = next((line for line in lines if "error" in line), lines[0])
        return None, said if build.status is BuildStatus.NO_COMPILER else f"it does not compile: {said}"
    return store / build.artifact, ""


def _kept(kernel: SelectedKernel, store: Path) -> Path | None:
    """The object that was judged, where it is still there, undamaged, and for this machine; no compiler is needed."""
    path = store / kernel.artifact
    if not path.is_file() or kernel.target != _target(kernel.solution.language):
        return None
    build = Store(store).build(path.parent.name)
    return path if build is not None and build.artifact == kernel.artifact else None


def _target(language: Language) -> str:
    """What objects in a language must be for to run here."""
    from hone.compile.toolchain import cpu_target
    from hone.machine.hardware import gpu_here

    return gpu_here().target if language is Language.CUDA else cpu_target()

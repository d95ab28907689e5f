"""Problem files become definitions: what each one computes, found by running it without data in a child process."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hone.core.errors import MachineError, SourceError
from hone.core.scratch import ScratchFolder
from hone.launcher import C_TYPES, NARROW_TYPES
from hone.records import Argument, Definition, Language, UnsupportedProblem, canonical_json
from hone.sources.channel import Replies
from hone.sources.inspection import READY, Inspection, Report
from hone.sources.naming import name_arguments
from hone.sources.problem import ProblemFile, packages, pretrained_weights, without_held_out
from hone.sources.soundness import Soundness, warn_unknown_commits

PROBLEM_TIMEOUT_S = 120.0
START_TIMEOUT_S = 180.0
TRY_IMPORT = "see whether `python -c 'import torch'` works in this environment"
KEPT_VARIABLES = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "SYSTEMROOT")
"""All that the child inherits: no keys, no home folder."""


def define(
    files: Sequence[ProblemFile],
    soundness: Soundness,
    *,
    baselines: Sequence[str] = ("torch_eager",),
    in_place: bool = False,
    timeout_s: float = PROBLEM_TIMEOUT_S,
) -> tuple[list[Definition], list[UnsupportedProblem]]:
    """Definitions of the problems that run, in their order, and what the others lack.

    `in_place`: a problem may return nothing, because what it writes to its inputs is its result. `timeout_s` is the
    limit of one problem. One problem's failure, crash or hang never touches another; but wrong held-out sizes raise
    SourceError, since leaving the problem or the sizes out would go unnoticed.
    """
    warn_unknown_commits(soundness, files)
    unsupported = {file.name: found for file in files if (found := _needs(file)) is not None}
    reports = _inspect([file for file in files if file.name not in unsupported], timeout_s)
    definitions = []
    for file in files:
        if file.name in unsupported:
            continue
        report = reports[file.name]
        if report.field:
            where = f"{file.repository}: {file.path}: {report.field}"
            raise SourceError(report.error, where=where, remedy=report.remedy)
        if report.inspection is None or not (report.inspection.outputs or in_place):
            reason = report.error or "forward returns nothing"
            unsupported[file.name] = UnsupportedProblem(name=file.name, reason=reason, requires=packages(file.text))
        else:
            definitions.append(definition_of(file, report.inspection, soundness, baselines))
    return definitions, [unsupported[file.name] for file in files if file.name in unsupported]


def definition_of(
    file: ProblemFile, inspection: Inspection, soundness: Soundness, baselines: Sequence[str] = ("torch_eager",)
) -> Definition:
    """The definition of a problem whose inspection is known."""
    inputs, parameters, outputs, axes = name_arguments(inspection)
    tensors = [
        value for value in (*inspection.inputs, *inspection.parameters, *inspection.outputs) if value.kind == "tensor"
    ]
    return Definition(
        name=file.name,
        source=file.source,
        level=file.level,
        number=file.number,
        title=file.title,
        axes=axes,
        inputs=inputs,
        parameters=parameters,
        outputs=outputs,
        reference=without_held_out(file.text),
        held_out=inspection.held_out,
        baselines=tuple(baselines),
        languages=_languages((*inputs, *parameters, *outputs)),
        requires=packages(file.text),
        compulsory_bytes=sum(value.size_bytes for value in tensors),
        flops=inspection.flops,
        soundness=soundness.flags(file),
        upstream=file.upstream,
    )


def _languages(arguments: Sequence[Argument]) -> tuple[Language, ...]:
    """Those in which every argument has a type: complex and quantised tensors have none in C++ and CUDA."""
    dtypes = {argument.dtype for argument in arguments}
    named = {language: {*C_TYPES, *narrow} for language, narrow in NARROW_TYPES.items()}
    return tuple(language for language in Language if dtypes <= named.get(language, dtypes))


def _needs(file: ProblemFile) -> UnsupportedProblem | None:
    """What keeps a problem from being run at all, read from its text: downloads, packages that are not installed."""
    wanted = packages(file.text)
    weights = pretrained_weights(file.text)
    if weights:
        needs = (*wanted, "network", *(f"model weights {name}" for name in weights))
        return UnsupportedProblem(name=file.name, reason="downloads a pretrained model when it is run", requires=needs)
    missing = [package for package in wanted if importlib.util.find_spec(package) is None]
    if missing:
        reason = f"needs packages that are not installed: {', '.join(missing)}"
        return UnsupportedProblem(name=file.name, reason=reason, requires=wanted)
    return None


def _inspect(files: Sequence[ProblemFile], timeout_s: float) -> dict[str, Report]:
    """A report for every file. A child that dies or hangs is replaced, and the rest goes on in the new one."""
    reports: dict[str, Report] = {}
    while waiting := [file for file in files if file.name not in reports]:
        for report in _run_child(waiting, timeout_s):
            reports[report.name] = report
    return reports


def _run_child(files: Sequence[ProblemFile], timeout_s: float) -> list[Report]:
    """Reports in order; the last one tells of the death or timeout of the child, if there was one."""
    with ScratchFolder("inspect") as folder, _child(files, Path(folder)) as replies:
        if replies.read(START_TIMEOUT_S) != READY.encode():
            why = replies.ending(START_TIMEOUT_S)
            raise MachineError(f"cannot start a process with PyTorch: {why}", where=sys.executable, remedy=TRY_IMPORT)
        reports: list[Report] = []
        for file in files:
            line = replies.read(timeout_s)
            if line is None:
                return [*reports, Report(name=file.name, error=replies.ending(timeout_s))]
            reports.append(Report.model_validate_json(line))
        return reports


def _child(files: Sequence[ProblemFile], folder: Path) -> Replies:
    requests = folder / "requests.jsonl"
    requests.write_text("".join(canonical_json({"name": f.name, "text": f.text}) + "\n" for f in files), "utf-8")
    errors = folder / "stderr"
    with requests.open("rb") as stdin, errors.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "hone.sources.inspect_child"],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=_environment(str(folder)),
            cwd=folder,
            start_new_session=True,
        )
    return Replies(process, errors)


def _environment(folder: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    fixed = {
        "HOME": folder,
        "TMPDIR": folder,
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",  # shapes need no GPU, and a GPU must not be held by this stage
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {**kept, **fixed}

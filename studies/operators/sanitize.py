"""Chosen kernels under NVIDIA's compute-sanitizer: a process for each (kernel, tool), which runs all its workloads.

A row is clean only when the tool itself says that it found nothing, and the kernel ran on every workload of the row.
The log of each run stays in the folder that is named like the table.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch

from hone.core.csv_table import Row, write_table
from hone.core.errors import ConfigError, MachineError, RecordError
from hone.core.files import read_all, write_text
from hone.operators.choice import KERNEL_SETS, KernelChoice
from hone.operators.stages import by_name, chosen_kernels
from hone.records import Definition, Language, Workload
from hone.records.layout import ITEM_BYTES
from hone.sources.workloads import group
from studies.processes import run_watched

COLUMNS = (
    "kernel", "kernel_set", "solution", "tool", "workloads", "left_out", "findings", "clean", "seconds", "detail",
)  # fmt: skip
"""`workloads`: how many ran to their end; `left_out`: how many are too large; `findings`: errors or hazards, by the
tool's own count, empty where it gave none."""
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
TIMEOUT_S = 300.0
ONE_ALLOCATION_EACH = "PYTORCH_NO_CUDA_MEMORY_CACHING=1"
"""PyTorch then asks CUDA for each tensor by itself, so that memcheck sees where one ends."""
SUMMARIES = {
    "racecheck": re.compile(r"^=+ RACECHECK SUMMARY: (\d+) hazards? displayed \(\d+ errors?, \d+ warnings?\)", re.M),
    "": re.compile(r"^=+ ERROR SUMMARY: (\d+) errors?\b", re.M),
}
FAILURE = re.compile(r"^=+ (Error: |Internal|Device not supported|No attachable process)", re.M)
"""What it says where it could not watch; a racecheck hazard begins so, too."""
DETAIL_CHARACTERS = 400


@dataclass(frozen=True)
class Subject:
    """A chosen kernel with what it is run on."""

    choice: KernelChoice
    definition: Definition
    artifact: Path
    workloads: tuple[Workload, ...]
    left_out: int

    @property
    def device(self) -> str:
        """`cuda` or `cpu`: where it runs."""
        return "cuda" if self.choice.solution.language is Language.CUDA else "cpu"

    def request(self) -> str:
        """As the child reads it."""
        asked = {
            "artifact": str(self.artifact.absolute()), "definition": self.definition.model_dump(mode="json"),
            "workloads": [workload.model_dump(mode="json") for workload in self.workloads], "device": self.device,
        }  # fmt: skip
        return json.dumps(asked)


def sanitize(
    choices: Path, definitions: Iterable[Path], workloads: Iterable[Path], *, store: Path, kernel_sets: Sequence[str],
    tools: Sequence[str], most_mib: float, output: Path, timeout_s: float = TIMEOUT_S,
) -> list[Row]:  # fmt: skip
    """Write the table, again after each row, and give its rows.

    Raises ConfigError for names that there are not, RecordError where nothing was chosen, and MachineError without
    compute-sanitizer, a GPU for kernels that need one, or the built kernels: all before anything runs.
    """
    for what, names, known in (("tool", tools, TOOLS), ("set of kernels", kernel_sets, KERNEL_SETS)):
        if unknown := [name for name in names if name not in known]:
            raise ConfigError(f"no {what} '{unknown[0]}'", remedy=f"there are {', '.join(known)}")
    chosen = subjects(choices, definitions, workloads, store, kernel_sets, most_mib)
    program = find_program()
    if any(subject.device == "cuda" for subject in chosen) and not torch.cuda.is_available():
        raise MachineError("the kernels need a GPU, and PyTorch finds none", remedy="run this where there is a GPU")
    rows: list[Row] = []
    for row in _rows(chosen, program, tools, output.with_suffix(""), most_mib, timeout_s):
        rows.append(row)
        write_table(output, COLUMNS, rows)
    return rows


def unclean(rows: Iterable[Row]) -> list[str]:
    """A line for each row that is not clean."""
    bad = [row for row in rows if row["clean"] is not True]
    return [f"{row['kernel']} ({row['kernel_set']}) under {row['tool']}: {row['detail']}" for row in bad]


def subjects(
    choices: Path, definitions: Iterable[Path], workloads: Iterable[Path], store: Path, kernel_sets: Sequence[str],
    most_mib: float,
) -> list[Subject]:  # fmt: skip
    """The chosen kernels of these sets in the file's order; raises RecordError or MachineError."""
    known, sized = by_name(definitions), group(read_all(workloads, Workload))
    found = []
    for choice in chosen_kernels(choices, known, kernel_sets):
        name, artifact = choice.solution.definition, store / (choice.build.artifact or "")
        if not artifact.is_file():
            remedy = "`hone operator choose` builds it"
            raise MachineError(f"the {choice.kernel_set} kernel is not in the store", where=name, remedy=remedy)
        items = sized.get(name, [])
        small = tuple(item for item in items if argument_bytes(known[name], item) <= most_mib * 2**20)
        found.append(Subject(choice, known[name], artifact, small, len(items) - len(small)))
    if not found:
        remedy = "`hone operator choose` writes it"
        raise RecordError(f"no kernel of {', '.join(kernel_sets)} was chosen", where=str(choices), remedy=remedy)
    return found


def argument_bytes(definition: Definition, workload: Workload) -> int:
    """Of a call's inputs and outputs together."""
    tensors = [item for item in (*definition.inputs, *definition.outputs) if item.kind == "tensor"]
    lengths = [prod(workload.axes[axis] for axis in item.shape) for item in tensors]
    return sum(n * ITEM_BYTES[item.dtype_at(workload.dtype)] for n, item in zip(lengths, tensors, strict=True))


def find_program() -> str:
    """Path of compute-sanitizer; raises MachineError."""
    name = os.environ.get("COMPUTE_SANITIZER") or "compute-sanitizer"
    if path := shutil.which(name):
        return path
    remedy = "it comes with the CUDA toolkit: put that on the PATH, or name it in the variable COMPUTE_SANITIZER"
    raise MachineError(f"'{name}' cannot be run", remedy=remedy)


def judged(tool: str, log: str, ended: str, finished: int, asked: int) -> Row:
    """`findings`, `clean` and `detail` of a run; `ended`: how the process ended, empty when all was well."""
    own = SUMMARIES.get(tool, SUMMARIES[""])
    counts = [int(count) for summary in SUMMARIES.values() for count in summary.findall(log)]
    findings = max(counts) if own.search(log) else None
    reasons = [_first_finding(log)] if findings or FAILURE.search(log) else []
    if findings is None:
        reasons.append(f"{tool} gave no summary")
    if ended:
        reasons.append(ended.partition(":")[0] if findings else ended)  # a finding has its own words
    if finished != asked:
        reasons.append(f"{finished} of {asked} workloads finished")
    return {"findings": findings, "clean": not reasons, "detail": "; ".join(reasons)[:DETAIL_CHARACTERS]}


def _rows(
    chosen: Sequence[Subject], program: str, tools: Sequence[str], folder: Path, most_mib: float, timeout_s: float
) -> Iterator[Row]:
    for subject in chosen:
        choice = subject.choice
        for tool in tools:
            row: dict[str, Any] = {
                "kernel": subject.definition.name, "kernel_set": choice.kernel_set,
                "solution": choice.solution.id[:12], "tool": tool, "workloads": 0, "left_out": subject.left_out,
            }  # fmt: skip
            if not subject.workloads:
                yield {**row, "clean": False, "detail": f"no workload of at most {most_mib:g} MiB"}
                continue
            place = folder / f"{choice.kernel_set}_{choice.solution.id[:12]}_{tool}"
            yield {**row, **_run(subject, program, tool, place, timeout_s)}


def _run(subject: Subject, program: str, tool: str, folder: Path, timeout_s: float) -> Row:
    """One process; the columns that depend on it."""
    request, report = (folder.absolute() / name for name in ("request.json", "report.json"))
    write_text(request, subject.request())
    report.unlink(missing_ok=True)  # an earlier run's says nothing about this one
    arguments = [
        "env", ONE_ALLOCATION_EACH, program, "--tool", tool, "--error-exitcode", "86", "--target-processes", "all",
        sys.executable, "-P", "-m", "studies.operators.sanitize_child", str(request), str(report),
    ]  # fmt: skip
    spent = run_watched(arguments, folder, tool, timeout_s)
    log = (folder / f"{tool}.log").read_text(encoding="utf-8", errors="replace")
    finished = json.loads(report.read_text(encoding="utf-8"))["finished"] if report.is_file() else []
    ended = spent["said"][:DETAIL_CHARACTERS] if not spent["said"].startswith(": ") else ""
    found = judged(tool, log, ended, len(finished), len(subject.workloads))
    return {"workloads": len(finished), "seconds": spent["wall_s"], **found}


def _first_finding(log: str) -> str:
    """The first lines of what the tool reports, without its prefix."""
    lines = [line.strip("= ") for line in log.splitlines() if line.startswith("=====")]
    lines = [line for line in lines if line and "COMPUTE-SANITIZER" not in line and "SUMMARY" not in line]
    return ", ".join(lines[:3]) or "findings without a description"

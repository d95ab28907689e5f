"""Chosen kernels under NVIDIA's compute-sanitizer: a process for each (kernel, tool), which runs all its workloads.

A row is clean only when the tool itself says that it found nothing, and the kernel ran on every workload of the row.
The log of each run stays in the folder that is named like the table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from hone.core.csv_table import Row, write_table
from hone.core.errors import ConfigError, MachineError, RecordError
from hone.core.files import read_all, write_text
from hone.operators.choice import KERNEL_SETS, KernelChoice
from hone.operators.stages import by_name, chosen_kernels
from hone.records import Definition, Language, Workload
from hone.sanitizer.run import argument_bytes
from hone.sanitizer.tool import DETAIL_CHARACTERS, TOOLS, find_program, read_log, watched
from hone.sources.workloads import group
from studies.processes import run_watched

COLUMNS = (
    "kernel", "kernel_set", "solution", "tool", "workloads", "left_out", "findings", "clean", "seconds", "detail",
)  # fmt: skip
"""`workloads`: how many ran to their end; `left_out`: how many are too large; `findings`: errors or hazards, by the
tool's own count, empty where it gave none."""
TIMEOUT_S = 300.0


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
    command = [sys.executable, "-P", "-m", "hone.sanitizer.child", str(request), str(report)]
    spent = run_watched(watched(program, tool, command), folder, tool, timeout_s)
    log = (folder / f"{tool}.log").read_text(encoding="utf-8", errors="replace")
    finished = json.loads(report.read_text(encoding="utf-8"))["finished"] if report.is_file() else []
    ended = spent["said"][:DETAIL_CHARACTERS] if not spent["said"].startswith(": ") else ""
    found = read_log(tool, log, ended, len(finished), len(subject.workloads))
    return {"workloads": len(finished), "seconds": spent["wall_s"], **asdict(found)}

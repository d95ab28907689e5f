"""A kernel under all tools of compute-sanitizer; what was watched once is in the store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path

from hone.core.code import code_digest
from hone.core.processes import ending_within
from hone.core.scratch import ScratchFolder
from hone.core.store import Store
from hone.records import Build, Definition, Language, SanitizerVerdict, Solution, Workload, digest
from hone.records.layout import ITEM_BYTES
from hone.sanitizer.tool import TOOLS, read_log, watched

MOST_MIB = 32.0
"""Workloads whose arguments are larger are left out: a tool makes a kernel hundreds of times slower."""
TIMEOUT_S = 300.0


def argument_bytes(definition: Definition, workload: Workload) -> int:
    """Of a call's inputs and outputs together."""
    tensors = [item for item in (*definition.inputs, *definition.outputs) if item.kind == "tensor"]
    lengths = [prod(workload.axes[axis] for axis in item.shape) for item in tensors]
    return sum(n * ITEM_BYTES[item.dtype_at(workload.dtype)] for n, item in zip(lengths, tensors, strict=True))


def sanitizer_verdicts(
    program: str, version: str, definition: Definition, solution: Solution, build: Build,
    workloads: Sequence[Workload], *, store: Path, where: str,
) -> Iterator[SanitizerVerdict]:  # fmt: skip
    """One verdict for each tool, with all workloads up to MOST_MIB in one process.

    `where` is the GPU's model name, `build` that of the solution, with its shared object in the store. What says
    nothing about the kernel is not kept.
    """
    small = [item for item in workloads if argument_bytes(definition, item) <= MOST_MIB * 2**20]
    shelf = Store(store)
    for tool in TOOLS:
        key = digest(
            {
                "solution": solution.id, "build": [build.command, build.toolchain, build.target],
                "definition": definition.model_dump(mode="json", include={"reference", "inputs", "outputs", "dtypes"}),
                "workloads": [item.id for item in small], "tool": tool, "program": version, "where": where,
                "code": code_digest("sanitizer", "judge/child/models"),
            }
        )  # fmt: skip
        known = shelf.sanitized(key)
        if known is None:
            known = _watch(program, version, definition, solution, build, small, store, tool, where)
            known = known.model_copy(update={"left_out": len(workloads) - len(small)})
            if known.status != "unknown":
                shelf.keep_sanitized(key, known)
        yield known


def _watch(
    program: str, version: str, definition: Definition, solution: Solution, build: Build,
    workloads: Sequence[Workload], store: Path, tool: str, where: str,
) -> SanitizerVerdict:  # fmt: skip
    """One process; CUDA's or the tool's own troubles are no verdict."""
    started = time.monotonic()
    with ScratchFolder("sanitize") as scratch:
        folder = Path(scratch)
        request, report = folder / "request.json", folder / "report.json"
        asked = {
            "artifact": str((store / (build.artifact or "")).absolute()),
            "definition": definition.model_dump(mode="json"),
            "workloads": [item.model_dump(mode="json") for item in workloads],
            "device": "cuda" if solution.language is Language.CUDA else "cpu",
        }
        request.write_text(json.dumps(asked), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "hone.sanitizer.child", str(request), str(report)]
        log, ended = _ended(watched(program, tool, command), folder)
        finished = json.loads(report.read_text(encoding="utf-8"))["finished"] if report.is_file() else []
    said = read_log(tool, log, ended, len(finished), len(workloads))
    return SanitizerVerdict(
        definition=definition.name, solution=solution.id, where=where, tool=tool,
        status="objects" if said.findings else "clean" if said.clean and workloads else "unknown",
        findings=said.findings, workloads=len(finished), left_out=0, detail=said.detail, version=version,
        seconds=round(time.monotonic() - started, 2),
    )  # fmt: skip


def _ended(arguments: Sequence[str], folder: Path) -> tuple[str, str]:
    """What a process said, and how it ended, empty where all was well; its whole group is gone afterwards."""
    log = folder / "log"
    with log.open("wb") as handle:
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=handle, stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder)},
        )  # fmt: skip
    ended = ending_within(process, TIMEOUT_S)
    return log.read_text(encoding="utf-8", errors="replace"), ended


def version_of(program: str) -> str:
    """First line of its `--version`; empty where it says none."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    return next((line.strip() for line in done.stdout.splitlines() if "ersion" in line), "")

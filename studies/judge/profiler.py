"""Latencies that the judge measured beside those that PyTorch's profiler reads off the same kernels."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hone.core.csv_table import Row
from hone.core.errors import ConfigError, MachineError
from hone.records import Build, Definition, Language, Solution, Trace
from hone.solutions.bench import Bench
from studies.processes import run_watched

COLUMNS = ("file", "status", "judge_us", "profiler_us", "ratio", "alone_us", "kernels", "launches", "detail")
"""`profiler_us`: median over launches of first kernel's start to last kernel's end, launched in a row on cold data as
in the judge's batches; `ratio`: profiler over judge. `alone_us`: the same of launches with a flush and a wait between,
which also find the kernel's code cold."""
LAUNCHES = 60
FLUSH_MIB = 256
TIMEOUT_S = 300.0


def compare(bench: Bench, files: Sequence[Path], scratch: Path) -> Iterator[Row]:
    """One row for each plain .cu, after all have been judged; raises ConfigError for files of other kinds."""
    kernels = bench.kernels(files)
    other = next((file for file, kernel in zip(files, kernels, strict=True) if kernel.language != Language.CUDA), None)
    if other is not None:
        raise ConfigError("only a plain .cu can be launched without Python", where=str(other))
    if bench.settings.judge.device != "cuda":
        raise ConfigError("the protocol judges on the CPU", where="judge.device", remedy="use a config with cuda")
    store = scratch / "store"
    builds = bench.build(kernels, store)
    traces = bench.judge(kernels, builds, store)
    for file, kernel, trace in zip(files, kernels, traces, strict=True):
        folder = scratch / kernel.id[:16]
        folder.mkdir(parents=True, exist_ok=True)
        measured = measure(kernel, builds[kernel.id], bench.definitions[kernel.definition], store, folder)
        yield row(file.name, trace, measured)


def measure(kernel: Solution, build: Build, definition: Definition, store: Path, folder: Path) -> dict[str, Any]:
    """What the profiler's process reports; empty when there is nothing to launch. Raises MachineError."""
    if build.artifact is None:
        return {}
    request, report = folder / "request.json", folder / "report.json"
    asked = {
        "artifact": str((store / build.artifact).absolute()), "definition": definition.model_dump(mode="json"),
        "launches": LAUNCHES, "flush_mib": FLUSH_MIB,
    }  # fmt: skip
    request.write_text(json.dumps(asked), encoding="utf-8")
    arguments = [sys.executable, "-P", "-m", "studies.judge.profiler_child", str(request), str(report)]
    spent = run_watched(arguments, folder, "profiler", TIMEOUT_S)
    if not report.is_file():
        raise MachineError(f"the profiler's process {spent['said'][:500]}", where=f"solution {kernel.id[:12]}")
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found


def row(name: str, trace: Trace, measured: dict[str, Any]) -> Row:
    """A row from a trace and a report; no ratio without both times."""
    judge_us = trace.performance.solution.latency_ms * 1e3 if trace.performance else None
    profiler_us = measured.get("profiler_us")
    return {
        "file": name,
        "status": trace.status.value,
        "judge_us": judge_us,
        "profiler_us": profiler_us,
        "ratio": profiler_us / judge_us if profiler_us and judge_us else None,
        "alone_us": measured.get("alone_us"),
        "kernels": measured.get("kernels"),
        "launches": measured.get("launches"),
        "detail": trace.detail,
    }

"""Stand-alone sources beside the packages' own compiled functions: on the same inputs they must give the same.

The package's function is compiled on this machine from the package's own host code with the flags that the package
uses: PyTorch's operators by PyTorch's extension builder, functions on tensors of tvm-ffi by nvcc. Needs a GPU, PyTorch
with CUDA, nvcc and ninja, and apache-tvm-ffi for the latter; no network where the packages are in the cache.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hone.compile import build_all
from hone.compile.kernels import kernel_solution
from hone.config.sources import KernelsSource
from hone.core.csv_table import Row
from hone.core.errors import ConfigError, MachineError
from hone.records import Build, Definition, Workload
from hone.sources.extraction.define import define
from hone.sources.extraction.entry import Entry
from hone.sources.extraction.fetch import fetch
from hone.sources.extraction.packages import CACHE
from studies.operators.package_sources import write_module, write_sources
from studies.processes import run_watched

COLUMNS = (
    "kernel", "workload", "dtype", "held_out", "identical", "max_abs_difference", "difference_share",
    "reference_share", "build_s", "detail",
)  # fmt: skip
"""`identical`: to the bit, over all results. Shares: of the workload's tolerance, the worst element; `difference_share`
against the package's function, `reference_share` of the stand-alone source against the reference in float64."""
KERNEL = "upstream"
TIMEOUT_S = 1500.0
BUILD_TIMEOUT_S = 300.0
TVM_FFI = "apache-tvm-ffi==0.1.11"
"""The release that SGLang 0.5.23 asks for."""


@dataclass(frozen=True)
class Subject:
    """One kernel of the source."""

    definition: Definition
    entry: Entry
    workloads: tuple[Workload, ...]


def compare(
    name: str, source: KernelsSource, scratch: Path, *, kernels: Sequence[str] = (), workers: int = 4,
    cache: Path = CACHE,
) -> Iterator[Row]:  # fmt: skip
    """One row for each workload; `kernels`: only these titles. Raises ConfigError, SourceError or MachineError."""
    subjects = _subjects(name, source, kernels, cache)
    builds = _built(subjects, scratch / "store", workers)
    libraries = _libraries([subject for subject in subjects if subject.entry.operator], source, scratch, cache)
    for subject in subjects:
        build = builds[subject.definition.name]
        if subject.entry.operator is None or build.artifact is None:
            detail = "the entry names no operator" if build.artifact else f"does not compile: {build.log[:200]}"
            yield {"kernel": subject.definition.title, "build_s": build.seconds, "detail": detail}
            continue
        artifact = scratch / "store" / build.artifact
        for row in _measured(subject, artifact, libraries[subject.definition.title], scratch):
            yield {"kernel": subject.definition.title, "build_s": build.seconds, **row}


def mismatches(rows: Sequence[Row]) -> list[str]:
    """What speaks against the extraction, a line each: no comparison, or a result off by more than the tolerance."""
    lines = []
    for row in rows:
        share = row.get("difference_share")
        name = f"{row['kernel']} {row.get('workload') or ''}".strip()
        if share is None:
            lines.append(f"{name}: not compared: {row.get('detail')}")
        elif not float(share) <= 1.0:
            lines.append(f"{name}: off by {float(share):.3g} times the tolerance")
    return lines


def _subjects(name: str, source: KernelsSource, kernels: Sequence[str], cache: Path) -> list[Subject]:
    files = fetch(name, source, cache=cache)
    titles = [file.title for file in files]
    if unknown := [title for title in kernels if title not in titles]:
        raise ConfigError(f"no kernel '{unknown[0]}'", where=source.path, remedy=f"there are {', '.join(titles)}")
    chosen = [file for file in files if not kernels or file.title in kernels]
    definitions, workloads = define(chosen, source.tolerance)
    return [
        Subject(item, file.entry, tuple(load for load in workloads if load.definition == item.name))
        for file, item in zip(chosen, definitions, strict=True)
    ]


def _built(subjects: Sequence[Subject], store: Path, workers: int) -> dict[str, Build]:
    """Definition -> build of its stand-alone source, by the same compiler and flags as any solution."""
    known = {subject.definition.name: subject.definition for subject in subjects}
    solutions = [kernel_solution(item, KERNEL) for item in known.values()]
    builds = build_all(solutions, known, store=store, timeout_s=BUILD_TIMEOUT_S, workers=workers, progress=False)
    return dict(zip(known, builds, strict=True))


def _libraries(subjects: Sequence[Subject], source: KernelsSource, scratch: Path, cache: Path) -> dict[str, str]:
    """Title -> library: one of all PyTorch operators, and one for each function that tvm-ffi exports."""
    operators = {item.definition.title: item.entry.operator for item in subjects if item.entry.operator}
    registered = {title: operator for title, operator in operators.items() if not operator.function}
    if len(registered) < len(operators) and importlib.util.find_spec("tvm_ffi") is None:
        raise MachineError("there is no tvm-ffi, which exports SGLang's functions", remedy=f"pip install {TVM_FFI}")
    found = {}
    if registered:
        sources = write_sources(registered, source.packages, scratch / "package", cache)
        asked = {**sources.message(), "folder": str((scratch / "library").absolute())}
        found = dict.fromkeys(registered, _child("build", asked, scratch)["library"])
    for item in subjects:
        title, operator = item.definition.title, operators[item.definition.title]
        if operator.function:
            sources = write_module(title, operator, item.entry.dtypes, source.packages, scratch / "package", cache)
            asked = {**sources.message(), "library": str((scratch / f"{title}.so").absolute())}
            found[title] = _child("module", asked, scratch, title)["library"]
    return found


def _measured(subject: Subject, artifact: Path, library: str, scratch: Path) -> list[Row]:
    operator = subject.entry.operator
    assert operator is not None
    asked = {
        "definition": subject.definition.model_dump(mode="json"),
        "workloads": [workload.model_dump(mode="json") for workload in subject.workloads],
        "artifact": str(artifact.absolute()), "library": library, "operator": operator.model_dump(mode="json"),
    }  # fmt: skip
    rows: list[Row] = _child("compare", asked, scratch, subject.definition.title)["rows"]
    return rows


def _child(what: str, asked: dict[str, Any], scratch: Path, name: str = "") -> dict[str, Any]:
    """The report of a process of its own; raises MachineError with the end of what it said."""
    folder = scratch / f"{what}_{name}"
    folder.mkdir(parents=True, exist_ok=True)
    request, report = folder / "request.json", folder / "report.json"
    request.write_text(json.dumps(asked), encoding="utf-8")
    arguments = [sys.executable, "-P", "-m", "studies.operators.upstream_child", what, str(request), str(report)]
    spent = run_watched(arguments, folder, what, TIMEOUT_S)
    if not report.is_file():
        remedy = "this study needs a GPU, PyTorch with CUDA, nvcc and ninja"
        raise MachineError(f"the process {spent['said'][:1500]}", where=f"{what} {name}".strip(), remedy=remedy)
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found

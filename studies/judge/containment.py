"""Good kernels judged alone, then among hostile ones: their verdicts must be the same."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from hone.core.csv_table import Row
from hone.core.scratch import ScratchFolder
from hone.records import Solution, Trace
from hone.solutions.bench import Bench

COLUMNS = ("file", "kind", "status_alone", "status_mixed", "speedup_alone", "speedup_mixed", "seconds")
"""`seconds`: wall time of all phases of the file's judgement in the mixed run, compilation not included."""


def containment(bench: Bench, good: Sequence[Path], bad: Sequence[Path], seed: int) -> list[Row]:
    """One row for each file, good ones first; the judge is called once for the good ones and once for all.

    Everything is compiled once, beforehand. The mixed order is random; the judge itself brings the kernels of one
    definition together.
    """
    kernels = {file: bench.kernel(file) for file in (*good, *bad)}
    order = list(kernels)
    random.Random(seed).shuffle(order)
    with ScratchFolder("study") as scratch:
        built = Path(scratch) / "built"
        built.mkdir()
        builds = bench.build(list(kernels.values()), built)

        def judged(name: str, files: Sequence[Path]) -> dict[str, Trace]:
            store = Path(scratch) / name
            shutil.copytree(built, store)
            chosen: list[Solution] = [kernels[file] for file in files]
            return {trace.solution: trace for trace in bench.judge(chosen, builds, store)}

        alone, mixed = judged("alone", good), judged("mixed", order)
    return [
        _row(bench, file, "good" if file in good else "bad", alone.get(kernels[file].id), mixed[kernels[file].id])
        for file in kernels
    ]


def _row(bench: Bench, file: Path, kind: str, alone: Trace | None, mixed: Trace) -> Row:
    return {
        "file": file.name,
        "kind": kind,
        "status_alone": alone.status.value if alone else None,
        "status_mixed": mixed.status.value,
        "speedup_alone": bench.speedup(alone) if alone else None,
        "speedup_mixed": bench.speedup(mixed),
        "seconds": mixed.spent_s,
    }


def not_contained(rows: Sequence[Row]) -> list[str]:
    """What speaks against containment, a line each; empty when every good verdict is the same and is a verdict."""
    lines = []
    for row in rows:
        alone, mixed = row["status_alone"], row["status_mixed"]
        if row["kind"] == "good" and alone != mixed:
            lines.append(f"{row['file']}: {alone} alone, {mixed} among hostile kernels")
        elif row["kind"] == "good" and alone in ("not_judged", "machine_error"):
            lines.append(f"{row['file']}: {alone}, which says nothing")
    return lines

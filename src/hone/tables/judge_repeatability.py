"""judge_repeatability: how far the speedups of two runs of the judge on the same solutions are apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hone.analysis.provenance import Provenance, joined, of_trace
from hone.core.errors import RecordError
from hone.core.files import read_records, write_text
from hone.records import Trace
from hone.tables import columns
from hone.tables.files import to_frame, write_csv
from hone.tables.page import markdown
from hone.tables.row import EMPTY, TableRow
from hone.tables.table import Table

SHOWN_CHANGES = 20


class Row(TableRow):
    """One of two verdicts on the same solution, against one baseline."""

    definition: columns.Problem
    workload: str
    """Digest of the workload's sizes, data type, seed and tolerance."""
    solution: columns.SolutionDigest
    run: int
    """1 for the first of the two folders compared, 2 for the second."""
    speedup: columns.Speedup = EMPTY
    experiment: columns.Experiment = ""
    baseline: columns.Baseline = ""
    latency_ms: columns.LatencyMs = EMPTY
    baseline_ms: columns.BaselineMs = EMPTY
    findings: columns.Findings = ""


TABLE = Table(
    name="judge_repeatability",
    title="The same solutions judged twice",
    caption="How far the speedups of two runs of the judge on the same solutions are apart.",
    row=Row,
    shown={
        "definition": "Problem",
        "baseline": "Baseline",
        "run": "Run",
        "speedup": "Speedup",
        "latency_ms": "Time (ms)",
        "baseline_ms": "Baseline (ms)",
        "findings": "Findings",
    },
)


class Key(NamedTuple):
    """What two runs are paired by."""

    experiment: str
    definition: str
    solution: str
    workload: str


@dataclass(frozen=True)
class Spread:
    """How far the speedups over one baseline are apart, as |ln(second / first)|: 0.01 is one percent."""

    baseline: str
    pairs: int
    median: float
    percentile_95: float

    def __str__(self) -> str:
        spread = f"median |log ratio| {self.median:.4f}, 95th percentile {self.percentile_95:.4f}"
        return f"over {self.baseline}: {self.pairs} pairs, {spread}"


@dataclass(frozen=True)
class Comparison:
    """Rows of the table, two for each pair and baseline, and what they come to."""

    rows: list[Row]
    spreads: list[Spread]
    changed: list[str]
    """Pairs whose verdicts differ, each in words."""
    same: int
    """Verdicts that both folders took from one store: judged once, so they say nothing."""
    single: int
    """Verdicts that only one of the folders has."""

    def summary(self) -> list[str]:
        """What is printed, one sentence a line."""
        lines = [str(spread) for spread in self.spreads]
        lines.append(f"{len(self.changed)} pairs have different verdicts")
        lines += [f"  {line}" for line in self.changed[:SHOWN_CHANGES]]
        if self.same:
            lines.append(f"{self.same} verdicts are one and the same in both folders and were left out")
        if self.single:
            lines.append(f"{self.single} verdicts are in one of the folders alone")
        return lines


def read_traces(results: Path) -> dict[Key, Trace]:
    """All traces of a results folder, the latest of each key; raises RecordError where there are none."""
    found: dict[Key, Trace] = {}
    folder = results / "traces"
    for file in sorted(folder.rglob("*.jsonl")):
        experiment = file.relative_to(folder).parts[0]
        for trace in read_records(file, Trace):
            key = Key(experiment, trace.definition, trace.solution, trace.workload)
            if key not in found or found[key].judged_at < trace.judged_at:
                found[key] = trace
    if not found:
        remedy = "name the results folder of a run: what lies in results/ when the pipeline has run"
        raise RecordError("holds no verdicts", where=str(folder), remedy=remedy)
    return found


def compare(first: Path, second: Path, commit: str = "") -> Comparison:
    """Pair the verdicts of two results folders by experiment, solution and workload.

    A pair has speedups where both passed and were timed. Raises RecordError for a folder without verdicts, and when
    all verdicts of the two come from one store.
    """
    one, two = read_traces(first), read_traces(second)
    shared = sorted(one.keys() & two.keys())
    pairs = [(key, one[key], two[key]) for key in shared if one[key] != two[key]]
    if shared and not pairs:
        remedy = "judge the second time with a store of its own: `paths: {store: <another folder>}` in the config"
        raise RecordError(f"holds the same verdicts as {first}, taken from one store", where=str(second), remedy=remedy)
    rows = [row for pair in pairs for row in _rows(*pair, Provenance("", commit))]
    changed = [
        f"{key.definition} {key.solution[:12]}: first {before.status}, then {after.status}"
        for key, before, after in pairs
        if before.status is not after.status
    ]
    return Comparison(rows, _spreads(rows), changed, len(shared) - len(pairs), len(one.keys() ^ two.keys()))


def _rows(key: Key, first: Trace, second: Trace, provenance: Provenance) -> Iterator[Row]:
    """Both runs' speedups, once for each baseline that both were timed against."""
    if first.performance is None or second.performance is None:
        return
    for baseline in first.performance.baselines:
        if baseline not in second.performance.baselines:
            continue
        for run, trace, performance in ((1, first, first.performance), (2, second, second.performance)):
            yield Row(
                **key._asdict(),
                run=run,
                baseline=baseline,
                speedup=performance.speedup(baseline),
                latency_ms=performance.solution.latency_ms,
                baseline_ms=performance.baselines[baseline].latency_ms,
                findings=joined(performance.findings),
                **provenance.columns(of_trace(trace)),
            )


def _spreads(rows: Sequence[Row]) -> list[Spread]:
    """One for each baseline; rows come in pairs, run 1 before run 2."""
    ratios: dict[str, list[float]] = {}
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        ratios.setdefault(first.baseline, []).append(abs(math.log(second.speedup / first.speedup)))
    return [
        Spread(baseline, len(found), float(np.median(found)), float(np.quantile(found, 0.95)))
        for baseline, found in ratios.items()
    ]


def write(comparison: Comparison, output: Path) -> None:
    """The table as CSV, and beside it, with the suffix .md, its Markdown twin that begins with the summary."""
    frame = to_frame(TABLE, comparison.rows)
    write_csv(frame, output)
    told = "\n".join(f"- {line.strip()}" for line in comparison.summary())
    write_text(output.with_suffix(".md"), markdown(TABLE, frame, told))

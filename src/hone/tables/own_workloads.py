"""own_workloads: a user's own kernels on each workload, beside the least time that the device can need there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from hone.analysis.astra import US_PER_MS
from hone.analysis.context import Cells
from hone.methods.astra.roofline import least_time
from hone.records import Definition, Status, Trace, Workload
from hone.selection.rank import latest
from hone.sources.workloads import group, moved_bytes
from hone.tables import columns
from hone.tables.judge_exploits import folder_files
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import of


class Row(TableRow):
    """One file on one workload."""

    file: str
    """Name of the kernel's file."""
    definition: columns.Problem = ""
    workload: str
    """Name of the workload."""
    held_out: bool
    """No prompt and no search showed the workload."""
    bytes: int
    """Inputs and outputs once each, what is written in place twice: the least that can be moved."""
    baseline: columns.Baseline = ""
    baseline_us: float = EMPTY
    """Median time of the baseline in us."""
    solution_us: float = EMPTY
    """Median time of the kernel in us."""
    speedup: columns.Speedup = EMPTY
    least_us: float = EMPTY
    """The least time that the GPU can need, in microseconds: the longest of bytes at the speed of a copy, the shortest
    kernel, and the judge's own bound."""
    least_share: float = EMPTY
    """least_us over solution_us: 1 cannot be passed."""
    bandwidth: float = EMPTY
    """Bytes over solution_us, in GB/s (10^9 bytes)."""
    status: columns.Verdict
    findings: columns.Findings = ""
    experiment: columns.Experiment = ""
    dtype: str
    """Data type of the workload."""
    least_source: str = ""
    """What least_us was computed with."""
    solution: columns.SolutionDigest = ""


def rows(run: Run) -> list[Row]:
    """For each file of `own_kernels` whose problem says what it moves, each workload that has a verdict.

    Speedups are over the first baseline of the config. Rows go by experiment, file, and bytes.
    """
    definitions = {item.name: item for item in run.records.definitions if item.inputs}
    traces = latest(run.records.traces)
    workloads = group(run.records.workloads)
    items = [item for item in folder_files(run) if not item["group"] and item["definition"] in definitions]
    found = []
    for item in items:
        definition = definitions[item["definition"]]
        for workload in workloads.get(definition.name, ()):
            trace = traces.get((item["solution"], workload.id))
            if trace is not None:
                found.append(Row.pick(item, file=item["exploit"], **_measured(definition, workload, trace, item)))
    return sorted(found, key=lambda row: (row.experiment, row.definition, row.file, row.bytes, row.workload))


def _measured(definition: Definition, workload: Workload, trace: Trace, item: Cells) -> Cells:
    nbytes, performance = moved_bytes(definition, workload), trace.performance
    told: Cells = {
        "workload": workload.name, "held_out": workload.held_out, "dtype": workload.dtype, "bytes": nbytes,
        "status": str(trace.status), "findings": "", "speedup": EMPTY,
    }  # fmt: skip
    if performance is None:
        return told
    told |= {"solution_us": performance.solution.latency_ms * US_PER_MS, "findings": "; ".join(performance.findings)}
    told["bandwidth"] = nbytes / told["solution_us"] / 1e3
    if item["baseline"] in performance.baselines:
        told["baseline_us"] = performance.baselines[item["baseline"]].latency_ms * US_PER_MS
        told["speedup"] = performance.speedup(item["baseline"])
    if least := least_time(nbytes, trace):
        told |= {
            "least_us": least.us, "least_share": least.us / told["solution_us"], "least_source": least.source,
        }  # fmt: skip
    return told


def finding(rows: Sequence[Row]) -> str:
    """Of each file that passed, on how many workloads it is at least as fast as the baseline, without any doubt."""
    said = []
    for (experiment, problem, file), own in groupby(rows, key=lambda row: (row.experiment, row.definition, row.file)):
        timed = [row for row in own if row.status == Status.PASSED and not math.isnan(row.speedup)]
        if timed:
            kept = sum(row.speedup >= 1 and not row.findings for row in timed)
            said.append(f"`{file}` of {experiment} loses nothing on {of(kept, len(timed), 'workloads')} of {problem}.")
    return " ".join(said)


TABLE = RunTable(
    name="own_workloads",
    title="Your own kernels on every workload",
    caption=(
        "Kernels out of a folder of your own (`method: files`) on each workload of their problem: time, speedup over "
        "the config's first baseline, and the least time that the GPU can need."
    ),
    category="Judge",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "file": "File",
        "workload": "Workload",
        "bytes": "Bytes",
        "baseline_us": "Baseline (us)",
        "solution_us": "Kernel (us)",
        "speedup": "Speedup",
        "least_share": "Share of the least time",
    },
)

"""astra_main: existing kernels, improved in rounds, and what their winners came to on all workloads."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from hone.analysis.astra import ALL, PAPER, US_PER_MS, Astra, Outcome
from hone.analysis.context import Cells
from hone.analysis.metrics import geometric_mean
from hone.analysis.render import number
from hone.analysis.source_lines import lines_of_code
from hone.config.experiments import UPSTREAM
from hone.records import Solution
from hone.sources.workloads import moved_bytes
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import estimate, is_known, of, span

CURRENT = "current"
"""Today's kernel, where the definition has one."""
LARGE_BYTES = 64 * 2**20
"""From here on a kernel that moves its bytes once should come near the copy bandwidth."""


class Row(TableRow):
    """One kernel of one experiment and model, or several together."""

    kernel: str
    """Title of its definition; `all`: every kernel of the experiment; `paper`: those that the paper has numbers for."""
    method: columns.Method
    rounds: columns.Rounds
    correct: columns.WinnerCorrect
    speedup: columns.WinnerSpeedup = EMPTY
    ci_low: columns.WorkloadsLow = EMPTY
    ci_high: columns.WorkloadsHigh = EMPTY
    loc_before: float = EMPTY
    """Lines, neither blank nor comment, of the stand-alone source of the existing kernel, headers resolved."""
    loc_after: float = EMPTY
    """The same of the winner's source."""
    experiment: columns.Experiment = ""
    model: columns.LanguageModel = ""
    kernels: int
    """Kernels behind the row."""
    workloads: int
    """Workloads of the kernels, held-out ones included; the winner must be right on all."""
    uncounted: int
    """Workloads on which the existing kernel itself has no valid time: not in any speedup."""
    unresolved: int
    """Versions without a verdict: not judged, machine broke, lost; or correct but not timed."""
    least_speedup: float = EMPTY
    """Speedup on the worst workload."""
    workloads_current: int
    """Workloads on which today's kernel has a valid time too."""
    speedup_current: float = EMPTY
    """Geometric mean of the speedup over today's kernel, where there is one."""
    least_speedup_current: float = EMPTY
    """Speedup over today's kernel on the worst workload."""
    least_large_share: float = EMPTY
    """The worst share of the copy bandwidth among the workloads that move 64 MiB or more."""
    paper_shapes: float = EMPTY
    """How many of the workloads are the paper's shapes in the paper's data type."""
    speedup_mean: float = EMPTY
    """Arithmetic mean of the speedup over the paper's shapes, as in its scripts."""
    baseline_us: float = EMPTY
    """Mean over the paper's shapes of the existing kernel's median time in us."""
    optimised_us: float = EMPTY
    """The same of the winner."""
    published: columns.PublishedSpeedup = EMPTY
    published_source: columns.PublishedSource = ""
    published_loc_before: float = EMPTY
    """The paper's loc_before."""
    published_loc_after: float = EMPTY
    """The paper's loc_after."""
    published_baseline_us: float = EMPTY
    """The paper's baseline_us."""
    published_optimised_us: float = EMPTY
    """The paper's optimised_us."""
    suite_speedup: columns.SuiteSpeedup = EMPTY
    winner: str = ""
    """Which version won: the fastest by the roles' own suite, chosen among what was written."""
    status: columns.Verdict = ""
    detail: str = ""
    """The reason of the verdict that decides."""
    findings: columns.Findings = ""
    prompt_differs: columns.PromptsDiffer
    solution: columns.SolutionDigest = ""


def rows(run: Run) -> list[Row]:
    """A row for each kernel, one for all together, one for those that the paper has numbers for."""
    return rows_of(run.astra)


def rows_of(astra: Astra) -> list[Row]:
    """As `rows`, of chosen outcomes."""
    found: list[Row] = []
    for (experiment, _), outcomes in astra.by_experiment().items():
        found += [_kernel_row(astra, outcome) for outcome in outcomes]
        found.append(_together(astra, ALL, outcomes))
        printed = astra.context.matcher.kernels(experiment)
        chosen = [outcome for outcome in outcomes if outcome.trajectory.kernel in printed]
        if chosen:
            complete = {outcome.trajectory.kernel for outcome in chosen} == printed
            found.append(_together(astra, PAPER, chosen, astra.published(experiment, ALL) if complete else {}))
    return found


def _kernel_row(astra: Astra, outcome: Outcome) -> Row:
    trajectory = outcome.trajectory
    winner, kernel = trajectory.winner, trajectory.kernel
    deciding = outcome.verdicts.deciding
    measured = (astra.mean([outcome]) if outcome.credited else {}) | _extremes(outcome) | _as_published(astra, outcome)
    published = astra.published(trajectory.experiment, kernel) | _published_lines(astra, outcome)
    return Row(
        **outcome.place,
        **astra.provenance(outcome.traces),
        kernel=kernel,
        kernels=1,
        correct=outcome.correct,
        workloads=len(trajectory.workloads),
        uncounted=_uncounted(outcome),
        unresolved=trajectory.unresolved,
        loc_before=_lines(trajectory.upstream.solution),
        loc_after=_lines(winner.solution if winner else None),
        winner=f"turn {winner.turn}, sample {winner.sample}" if winner else "",
        solution=winner.solution.id if winner and winner.solution else "",
        suite_speedup=winner.suite_speedup if winner else None,
        status=winner.status if winner else "",
        detail=deciding.detail if deciding is not None else "",
        findings=outcome.verdicts.findings,
        prompt_differs=_differing(astra, outcome),
        **measured,
        **published,
    )


def _uncounted(outcome: Outcome) -> int:
    return len(outcome.trajectory.workloads) - len(outcome.trajectory.upstream.evaluation.counted)


def _lines(solution: Solution | None) -> float:
    return float(lines_of_code(solution.source, solution.language)) if solution else math.nan


def _differing(astra: Astra, outcome: Outcome) -> int:
    """Recorded answers about this kernel whose prompt is no longer the one that they were given to."""
    wanted = (outcome.trajectory.experiment, outcome.trajectory.model, outcome.trajectory.problem)
    return sum(
        item.prompt_differs
        for item in astra.records.answers
        if (item.experiment, item.model, item.definition) == wanted
    )


def _extremes(outcome: Outcome) -> Cells:
    """The worst workload, and the same against today's kernel; hardly anything where nothing is credited."""
    if not outcome.credited:
        return {"workloads_current": 0}
    definition = outcome.trajectory.definition
    now = outcome.verdicts.credited(CURRENT)
    large = [
        outcome.share(workload, trace, performance)
        for workload, trace, performance in outcome.timed()
        if definition and moved_bytes(definition, workload) >= LARGE_BYTES
    ]
    return {
        "least_speedup": min(outcome.credited),
        "workloads_current": len(now),
        "speedup_current": geometric_mean(now),
        "least_speedup_current": min(now, default=math.nan),
        "least_large_share": min(large, default=math.nan),
    }


def _as_published(astra: Astra, outcome: Outcome) -> Cells:
    """The paper's own aggregate: arithmetic means over its shapes, of speedup and of times."""
    timed = [
        (performance.baselines[UPSTREAM].latency_ms, performance.solution.latency_ms)
        for workload, _, performance in outcome.timed()
        if UPSTREAM in performance.baselines and astra.is_published(outcome, workload)
    ]
    row: Cells = {"paper_shapes": len(timed)}
    if timed and outcome.credited:
        before, after = np.array(timed).T
        row |= {
            "speedup_mean": float((before / after).mean()),
            "baseline_us": float(before.mean()) * US_PER_MS,
            "optimised_us": float(after.mean()) * US_PER_MS,
        }
    return row


def _published_lines(astra: Astra, outcome: Outcome) -> Cells:
    names = ("loc_before", "loc_after", "baseline_us", "optimised_us")
    found = {name: astra.published(outcome.trajectory.experiment, outcome.trajectory.kernel, name) for name in names}
    return {f"published_{name}": row["published"] for name, row in found.items()}


def _together(astra: Astra, kernel: str, outcomes: Sequence[Outcome], published: Cells | None = None) -> Row:
    """One row over several kernels."""
    correct = {outcome.correct for outcome in outcomes}
    return Row(
        **outcomes[0].place,
        **astra.provenance(trace for outcome in outcomes for trace in outcome.traces),
        kernel=kernel,
        kernels=len(outcomes),
        correct=next((answer for answer in ("no", "unknown") if answer in correct), "yes"),
        workloads=sum(len(outcome.trajectory.workloads) for outcome in outcomes),
        uncounted=sum(map(_uncounted, outcomes)),
        unresolved=sum(outcome.trajectory.unresolved for outcome in outcomes),
        prompt_differs=sum(_differing(astra, outcome) for outcome in outcomes),
        **astra.mean(outcomes),
        **_worst(outcomes),
        **(published or {}),
    )


def _worst(outcomes: Sequence[Outcome]) -> Cells:
    """The worst workload of several kernels and the comparison with today's; empty where nothing is credited to one."""
    if not all(outcome.credited for outcome in outcomes):
        return {"workloads_current": 0}
    extremes = [_extremes(outcome) for outcome in outcomes]
    now = [found for found in extremes if found["workloads_current"]]
    large = [found["least_large_share"] for found in extremes]
    return {
        "least_speedup": min(found["least_speedup"] for found in extremes),
        "workloads_current": sum(found["workloads_current"] for found in now),
        "speedup_current": geometric_mean([found["speedup_current"] for found in now]),
        "least_speedup_current": min((found["least_speedup_current"] for found in now), default=math.nan),
        "least_large_share": min((share for share in large if not math.isnan(share)), default=math.nan),
    }


def finding(rows: Sequence[Row]) -> str:
    """Of each experiment and model how many kernels are right and what they gained together."""
    return " ".join(_sentence(row, rows) for row in rows if row.kernel == ALL)


def _sentence(together: Row, rows: Sequence[Row]) -> str:
    place = (together.experiment, together.model)
    own = [row for row in rows if (row.experiment, row.model) == place and row.kernel not in (ALL, PAPER)]
    right = of(sum(row.correct == "yes" for row in own), len(own), "kernels")
    said = f"`{together.experiment}` with {together.model}: {right} have a correct winner"
    if not is_known(together.speedup):
        return f"{said}; their speedup is not known."
    ends = span((together.ci_low, together.ci_high))
    return f"{said}, on average {number(together.speedup)} times as fast as the existing kernel (interval {ends})."


def layout(table: pd.DataFrame) -> pd.DataFrame:
    """The paper's shape: times and lines before and after."""
    measured = zip(table["speedup"], table["ci_low"], table["ci_high"], strict=True)
    lines = zip(table["loc_before"], table["loc_after"], strict=True)
    return table.assign(
        gained=[estimate(*each) for each in measured],
        lines=["" if math.isnan(after) else f"{before:.0f} → {after:.0f}" for before, after in lines],
    )


TABLE = RunTable(
    name="astra_main",
    title="Existing kernels, improved in rounds: speedup over the upstream kernel on all workloads",
    caption=(
        "Existing kernels, improved round by round by several roles or by one agent. The speedup is the winner's over "
        "the upstream kernel, on all workloads, held-out ones included. Beside it stand lines of code before and "
        "after, and the paper's numbers."
    ),
    category="Astra",
    row=Row,
    rows=rows,
    finding=finding,
    layout=layout,
    shown={
        "kernel": "Kernel",
        "experiment": "Experiment",
        "model": "Model",
        "rounds": "Rounds",
        "correct": "Correct",
        "gained": "Speedup",
        "lines": "Lines of code",
        "published": "Published speedup",
    },
)

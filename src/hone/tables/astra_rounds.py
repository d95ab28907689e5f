"""astra_rounds: every version of every kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hone.analysis.astra import Astra, Outcome
from hone.analysis.metrics import geometric_mean, geometric_mean_interval
from hone.analysis.trajectories import Version
from hone.config.experiments import UPSTREAM
from hone.methods.astra.strategy import ALL_ROUNDS
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn


class Row(TableRow):
    """One version of one kernel."""

    kernel: str
    """Title of its definition."""
    method: columns.Method
    model: columns.LanguageModel
    turn: int
    """0 is the existing kernel."""
    sample: columns.Sample
    status: str
    """Verdict on all workloads, or what there was instead of one."""
    speedup: float = EMPTY
    """Median time of the existing kernel over that of this version: geometric mean over all workloads."""
    kept: bool
    """A later round started from this version, or would have."""
    ci_low: columns.WorkloadsLow = EMPTY
    ci_high: columns.WorkloadsHigh = EMPTY
    suite_status: str = ""
    """Verdict on the roles' own suite."""
    suite_speedup: columns.SuiteSpeedup = EMPTY
    won: bool
    """This version is the winner."""
    ended: str = ""
    """Of the versions of the last round that was asked: why no further round was."""
    published: float = EMPTY
    """The paper's speedup of the winner."""
    published_source: columns.PublishedSource = ""
    experiment: columns.Experiment = ""
    detail: columns.Detail = ""
    findings: columns.Findings = ""
    solution: columns.SolutionDigest = ""


def rows(run: Run) -> list[Row]:
    """Every version of every trajectory, the existing kernel at turn 0 included."""
    found: list[Row] = []
    for outcome in run.astra.outcomes:
        trajectory = outcome.trajectory
        kept = trajectory.kept(run.context.settings.experiments[trajectory.experiment])
        found += [
            _row(run.astra, outcome, version, (version.turn, version.sample) in kept) for version in trajectory.versions
        ]
    return found


def _row(astra: Astra, outcome: Outcome, version: Version, kept: bool) -> Row:
    trajectory = outcome.trajectory
    deciding, credited = version.verdicts.deciding, version.evaluation.credited(UPSTREAM)
    low, high = geometric_mean_interval([credited], astra.context.confidence)
    return Row.pick(
        outcome.place
        | astra.published(trajectory.experiment, trajectory.kernel)
        | astra.provenance(trace for _, trace in version.verdicts.pairs if trace),
        kernel=trajectory.kernel,
        turn=version.turn,
        sample=version.sample,
        status=version.status,
        suite_status=version.suite_status,
        speedup=geometric_mean(credited),
        ci_low=low,
        ci_high=high,
        suite_speedup=version.suite_speedup,
        kept=kept,
        won=version is trajectory.winner,
        ended=trajectory.ending if trajectory.history and version.turn == trajectory.history.last_turn else "",
        detail=version.problem or (deciding.detail if deciding is not None else ""),
        findings=version.verdicts.findings,
        solution=version.solution.id if version.solution else "",
    )


def finding(rows: Sequence[Row]) -> str:
    """How many of the written versions passed, and how many were kept."""
    written = [row for row in rows if row.turn > 0]
    if not written:
        return ""
    passed = sum(row.suite_status == "passed" for row in written)
    kept = sum(row.kept for row in written)
    return f"{of(passed, len(written), 'answers of the rounds')} passed the roles' own suite; {kept} were built upon."


def figure(table: pd.DataFrame) -> Drawn:
    """Speedup by round."""
    from hone.analysis.astra_figures import trajectory_figure

    return trajectory_figure(table)


def layout(table: pd.DataFrame) -> pd.DataFrame:
    """With a remark on who won, and on why rounds ended before all were asked."""
    pairs = zip(table["won"], table["ended"], strict=True)
    remarks = [("winner" if won else "", ended if ended != ALL_ROUNDS else "") for won, ended in pairs]
    return table.assign(remark=["; ".join(filter(None, found)) for found in remarks])


TABLE = RunTable(
    name="astra_rounds",
    title="Every version of every kernel",
    caption=(
        "Every version of every kernel: what its suite said, which is what the agents saw, and what all workloads "
        "said, which they did not see. Turn 0 is the upstream kernel over itself: what separates its speedup from 1 is "
        "noise of the machine."
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
        "turn": "Turn",
        "suite_speedup": "Speedup on the suite",
        "status": "Status on all workloads",
        "speedup": "Speedup on all workloads",
        "remark": "Remarks",
    },
    figures=(
        Figure(
            "astra_trajectory",
            "Speedup over the upstream kernel, round by round",
            figure,
            "Speedup over the upstream kernel after each round, on the agents' own suite and on all workloads.",
        ),
    ),
)

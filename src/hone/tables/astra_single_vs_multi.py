"""astra_single_vs_multi: the same kernels improved by one agent and by several roles."""

from __future__ import annotations

from collections.abc import Sequence

from hone.analysis.astra import ALL, PAPER, Astra
from hone.analysis.render import number
from hone.tables import columns
from hone.tables.astra_main import rows_of
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import is_known, listed
from hone.teams import TEAMS


class Row(TableRow):
    """One kernel of one experiment and model, or several together."""

    kernel: str
    """Title of its definition; `all`: every kernel of the experiment; `paper`: those that the paper has numbers for."""
    method: columns.Method
    speedup: columns.WinnerSpeedup = EMPTY
    correct: columns.WinnerCorrect = ""
    ci_low: columns.WorkloadsLow = EMPTY
    ci_high: columns.WorkloadsHigh = EMPTY
    published: columns.PublishedSpeedup = EMPTY
    published_source: columns.PublishedSource = ""
    suite_speedup: columns.SuiteSpeedup = EMPTY
    rounds: columns.Rounds
    experiment: columns.Experiment = ""
    model: columns.LanguageModel = ""
    unresolved: int
    """Versions without a verdict: not judged, machine broke, lost; or correct but not timed."""


def rows(run: Run) -> list[Row]:
    """The rows of astra_main for kernels that both methods worked on, by kernel."""
    astra = run.astra
    methods: dict[str, set[str]] = {}
    for outcome in astra.outcomes:
        methods.setdefault(outcome.trajectory.kernel, set()).add(outcome.trajectory.method)
    both = {kernel for kernel, found in methods.items() if len(found) > 1}
    shared = Astra(astra.context, [item for item in astra.outcomes if item.trajectory.kernel in both], astra.records)
    found = [Row.pick(dict(row)) for row in rows_of(shared)]
    order = list(dict.fromkeys(row.kernel for row in found))
    order = [kernel for kernel in order if kernel not in (ALL, PAPER)] + [ALL, PAPER]
    return sorted(found, key=lambda row: (order.index(row.kernel), row.method))


def finding(rows: Sequence[Row]) -> str:
    """What either came to over the kernels that both worked on."""
    together = [row for row in rows if row.kernel == ALL and is_known(row.speedup)]
    said = [f"{number(row.speedup)} times by {TEAMS[row.method].title} (`{row.experiment}`)" for row in together]
    methods = {row.method for row in together}
    return f"Speed over the same existing kernels: {listed(said)}." if len(methods) > 1 else ""


TABLE = RunTable(
    name="astra_single_vs_multi",
    title="One agent or several: speedup over the upstream kernel",
    caption=(
        "The same kernels improved by one agent and by several roles: speedup over the upstream kernel, beside the "
        "paper's."
    ),
    category="Astra",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "kernel": "Kernel",
        "method": "Method",
        "model": "Model",
        "correct": "Correct",
        "speedup": "Speedup",
        "ci_low": "from",
        "ci_high": "to",
        "published": "Published speedup",
    },
)

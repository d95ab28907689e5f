"""search_budget: what each strategy gained for the evaluations and answers that it spent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hone.analysis.provenance import FROM_VERDICTS, of_trace
from hone.analysis.render import number
from hone.analysis.search import Search, State, mean_states, searches
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import plural, span

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

ALL = "all"
"""`repeat` of the rows over all repeats."""


class Row(TableRow):
    """One search, or all repeats of it, after it has spent so much."""

    operator: str
    """Title of the definition."""
    strategy: str
    """`linear`, `beam` and its width, `tuned`."""
    repeat: str
    """Number of the search, from 1; `all`: geometric means over the repeats of an experiment."""
    evaluations: int
    """Verdicts so far on kernels that were tried: a kernel that compiles, on one workload."""
    answers: int
    """Answers of models so far, of all roles; the one that asks for a suite included."""
    speedup: float = EMPTY
    """Of the best kernel so far over the baseline, as the search measured it: on its suite, or on the workloads that a
    prompt may show. A search of parameters has short timings before its end."""
    possible: float = EMPTY
    """Speedup of a kernel at the least time by the judge's own bound, where outputs may stay in a cache; empty where
    that is not known. own_workloads has a nearer bound."""
    share: float = EMPTY
    """Of that in the speedup, 0 to 1."""
    ci_low: float = EMPTY
    """Lower end of the interval of the mean over repeats, Student's of the logs; empty for one."""
    ci_high: float = EMPTY
    """Upper end of that interval."""
    judged_speedup: float = EMPTY
    """The same kernel's by the judge's own protocol, over the workloads that a prompt may show; it must pass all. Empty
    where it was not judged so."""
    experiment: columns.Experiment
    model: columns.LanguageModel
    file: str = ""
    """That declares the parameters."""
    baseline: columns.Baseline


def rows(run: Run) -> list[Row]:
    """The states of every search, then those of all repeats where there are several."""
    known = [outcome.trajectory for outcome in run.astra.outcomes]
    groups: dict[tuple[str, ...], list[Search]] = {}
    for item in searches(run.context.settings, run.records, known):
        groups.setdefault(item.group, []).append(item)
    return [row for repeats in groups.values() for row in _rows(run, repeats)]


def _rows(run: Run, repeats: Sequence[Search]) -> Iterator[Row]:
    for item in repeats:
        yield from (_row(run, item, str(item.repeat), state) for state in item.states)
    if len(repeats) > 1:
        for state, low, high in mean_states(repeats, run.context.confidence):
            yield _row(run, repeats[0], ALL, state, ci_low=low, ci_high=high)


def _row(run: Run, item: Search, repeat: str, state: State, **interval: float) -> Row:
    verdicts = [of_trace(trace) for trace in item.traces]
    known: dict[str, Any] = {name: [found[name] for found in verdicts] for name in FROM_VERDICTS}
    speedup, share = state.speedup, state.share
    return Row(
        operator=item.operator, strategy=item.strategy, repeat=repeat, evaluations=state.evaluations,
        answers=state.answers, speedup=EMPTY if speedup is None else speedup,
        possible=speedup / share if speedup and share else EMPTY, share=EMPTY if share is None else share,
        judged_speedup=EMPTY if state.judged is None else state.judged, experiment=item.experiment, model=item.model,
        file=item.file, baseline=item.baseline, **interval, **run.context.provenance.columns(known),
    )  # fmt: skip


def finding(rows: Sequence[Row]) -> str:
    """What the best search of each strategy came to, and for how much."""
    last: dict[tuple[str, ...], Row] = {}
    for row in rows:
        last[row.experiment, row.model, row.operator, row.file] = row  # the last one: over all repeats, where several
    best: dict[str, Row] = {}
    for row in last.values():
        known = best.get(row.strategy)
        if not math.isnan(row.speedup) and (known is None or row.speedup > known.speedup):
            best[row.strategy] = row
    return " ".join(map(_sentence, best.values()))


def _sentence(row: Row) -> str:
    cost = f"{plural(row.evaluations, 'evaluation')} and {plural(row.answers, 'answer')}"
    interval = "" if math.isnan(row.ci_low) else f" ({span((row.ci_low, row.ci_high))})"
    return f"`{row.strategy}` comes to {number(row.speedup)}{interval} on {row.operator} with {cost}."


def layout(table: pd.DataFrame) -> pd.DataFrame:
    """The last state of each search."""
    return table.drop_duplicates(["experiment", "model", "operator", "file", "repeat"], keep="last")


def figure(table: pd.DataFrame) -> Drawn:
    """Speedup by evaluations and by answers."""
    from hone.analysis.search_figure import budget_figure

    return budget_figure(table)


TABLE = RunTable(
    name="search_budget",
    title="Gain per evaluation and per answer",
    caption=(
        "The best kernel of each search after so many evaluations and answers, strategies side by side. A search of "
        "parameters is random, so it is repeated: rows `all` are means over them, with an interval. A page shows "
        "the end of each search. Where a longer timing corrects a shorter one, a line of the figure may fall. Its "
        "bands are intervals over repeats, its rings the judge's own verdicts at the end."
    ),
    category="Astra",
    row=Row,
    rows=rows,
    finding=finding,
    layout=layout,
    shown={
        "operator": "Operator",
        "experiment": "Experiment",
        "strategy": "Strategy",
        "repeat": "Search",
        "evaluations": "Evaluations",
        "answers": "Answers",
        "speedup": "Speedup",
        "judged_speedup": "Judged",
    },
    figures=(
        Figure(
            "search_budget",
            "Speedup by evaluations and answers",
            figure,
        ),
    ),
)

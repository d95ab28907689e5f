"""kernelbench_errors: what became of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from hone.analysis.context import Context
from hone.analysis.frames import CATEGORIES
from hone.analysis.groups import prompted
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

CORRECT, UNRESOLVED, TOGETHER = "correct", "unresolved", "all"
KINDS = {
    "correct": ("correct",),
    "wrong": ("value", "shape"),
    "not_built": ("compiler", "python"),
    "crashed": ("runtime", "memory", "timeout"),
    "without": ("no_code", "unanswered", "unresolved"),
}
"""Column of the page -> the categories that it adds up."""


class Row(TableRow):
    """One outcome of one experiment, model, level and turn."""

    experiment: columns.Experiment
    model: columns.LanguageModel
    level: columns.Level
    category: str
    """Outcome, as in the paper's Figure 2, with no_code, unanswered, timeout and unresolved kept apart."""
    count: int
    """Number of answers."""
    turn: columns.Turn
    answers: int
    """All answers of the row's experiment, model, level and turn."""
    share: float = EMPTY
    """`count` over `answers`."""
    published: columns.PublishedShare = EMPTY
    published_source: columns.PublishedSource = ""


def rows(run: Run) -> list[Row]:
    """Every category, also those without an answer; level `all` is the levels together."""
    frame = prompted(run.frame)
    keys = ["experiment", "model", "level", "turn"]
    return [
        row
        for part in (frame, frame.assign(level=TOGETHER))
        for (experiment, model, level, turn), answers in part.groupby(keys, sort=False)
        for row in _rows(str(experiment), str(model), str(level), int(str(turn)), answers, run.context)
    ]


def _rows(experiment: str, model: str, level: str, turn: int, answers: pd.DataFrame, context: Context) -> list[Row]:
    counts = answers["category"].value_counts()
    single = context.settings.experiments[experiment].turns == 1
    provenance = context.provenance.columns(answers)
    found = []
    for category in CATEGORIES:
        count = int(counts.get(category, 0))
        published = context.matcher.find(experiment, model, level, f"category:{category}") if single else {}
        found.append(
            Row(
                experiment=experiment,
                model=model,
                level=level,
                category=category,
                count=count,
                turn=turn,
                answers=len(answers),
                share=count / len(answers),
                **published,
                **provenance,
            )
        )
    return found


def finding(rows: Sequence[Row]) -> str:
    """How many answers were right, and what most others failed at."""
    together = [row for row in rows if row.level == TOGETHER]
    counts = {category: sum(row.count for row in together if row.category == category) for category in CATEGORIES}
    total = sum(counts.values())
    said = f"{of(counts[CORRECT], total, 'answers')} are correct"
    wrong = {name: count for name, count in counts.items() if name not in (CORRECT, UNRESOLVED) and count}
    if wrong:
        most = max(wrong, key=lambda name: wrong[name])
        said += f"; the most frequent other outcome is `{most}` ({wrong[most]})"
    if counts[UNRESOLVED]:
        said += f"; {counts[UNRESOLVED]} have no verdict"
    return f"{said}."


def layout(table: pd.DataFrame) -> pd.DataFrame:
    """The paper's shape: a row for each experiment, model and turn, all levels together, a column for each outcome."""
    found = []
    keys = ["experiment", "model", "turn"]
    for (experiment, model, turn), part in table[table["level"] == TOGETHER].groupby(keys, sort=False):
        counts = dict(zip(part["category"], part["count"], strict=True))
        several = table[table["experiment"] == experiment]["turn"].max() > 0
        sums = {column: sum(counts[name] for name in names) for column, names in KINDS.items()}
        named = {"experiment": f"{experiment}, turn {turn}" if several else experiment, "model": model}
        found.append(named | {"answers": part["answers"].iloc[0]} | sums)
    return pd.DataFrame(found, columns=["experiment", "model", "answers", *KINDS])


def figure(table: pd.DataFrame) -> Drawn:
    """A bar of outcomes for each level."""
    from hone.analysis.kernelbench_figures import errors_figure

    return errors_figure(table)


TABLE = RunTable(
    name="kernelbench_errors",
    title="What became of the answers",
    caption=(
        "What became of every answer: correct, or the first thing that was wrong with it, by experiment, model, level "
        "and turn. Answers without a verdict are a category of their own; a machine that broke never counts as a wrong "
        "kernel."
    ),
    category="KernelBench",
    row=Row,
    rows=rows,
    finding=finding,
    layout=layout,
    shown={
        "experiment": "Experiment",
        "model": "Model",
        "answers": "Answers",
        "correct": "Correct",
        "wrong": "Wrong values or shape",
        "not_built": "Not built or loaded",
        "crashed": "Crashed or too slow",
        "without": "No answer, code or verdict",
    },
    figures=(Figure("kernelbench_errors", "Outcomes of the answers", figure),),
)

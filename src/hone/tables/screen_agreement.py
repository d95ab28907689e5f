"""screen_agreement: how much of the verdicts the text of the answers alone would have told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hone.analysis.metrics import wilson_interval
from hone.records import Solution
from hone.screen.screening import Screening, screen
from hone.screen.show import NOTES
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import of, percent

NO_PASS = (
    "cannot be parsed", "empty, or the word None", "no class ModelNew", "constructor does not fit",
    "forward does not fit", "cannot be built",
)  # fmt: skip
"""Checks that foretell a solution that does not pass."""
NO_CREDIT = (
    "the reference's own text", "no kernel of its own", "hides a failed build", "kernels that nothing reaches",
    "returns kept memory", "autocast", "16 bits", "TF32",
)  # fmt: skip
"""Checks that foretell one that passes at best with a finding, so that its time counts for nothing."""
ANY = "any of these"
FORETOLD: dict[str, Callable[[Mapping[Any, Any]], bool]] = {
    "no pass": lambda row: row["status"] != "passed",
    "no credit": lambda row: row["status"] != "passed" or row["findings"] != "",
}


class Row(TableRow):
    """One check of `hone screen`, over the judged answers of one experiment and model."""

    experiment: columns.Experiment
    model: columns.LanguageModel
    check: str
    """What the text shows, as `hone screen` names it; `any of these`: at least one of the checks."""
    foretells: str
    """`no pass`: the solution does not pass. `no credit`: it does not, or it has a finding."""
    answers: int
    """Answers with code and a verdict."""
    flagged: int
    """Those of which the check holds."""
    borne_out: int
    """Flagged answers whose verdict is what the check foretells."""
    precision: float = EMPTY
    """Share of the flagged answers that are borne out; empty where none is flagged."""
    precision_low: float = EMPTY
    """Lower end of its confidence interval."""
    precision_high: float = EMPTY
    """Upper end of its confidence interval."""
    outcomes: int
    """Answers with the foretold verdict, flagged or not."""
    recall: float = EMPTY
    """Share of these that the check flags; empty where there is none."""


def rows(run: Run) -> list[Row]:
    """Of experiments whose answers somebody wrote, each solution once an answer; references are left out."""
    frame = run.frame
    judged = frame[(frame["method"] != "gold") & frame["resolved"].astype(bool)]
    screened = _screened(run, set(judged["solution"]))
    judged = judged[judged["solution"].isin(screened.keys())]
    found: list[Row] = []
    for (experiment, model), group in judged.groupby(["experiment", "model"], sort=True):
        provenance = run.context.provenance.columns(group)
        records = group.to_dict("records")
        for foretells, checks in (("no pass", NO_PASS), ("no credit", (*NO_PASS, *NO_CREDIT))):
            shown = checks if foretells == "no pass" else NO_CREDIT
            for check, names in [*((name, (name,)) for name in shown), (ANY, checks)]:
                counts = _counts(records, screened, names, FORETOLD[foretells], run.context.confidence)
                place = {"experiment": experiment, "model": model, "check": check, "foretells": foretells}
                found.append(Row.pick(place | counts | provenance))
    return found


def _screened(run: Run, wanted: set[str]) -> dict[str, Screening]:
    references = {item.name: item.reference for item in run.records.definitions}
    solutions: dict[str, Solution] = {item.id: item for item in run.records.solutions if item.id in wanted}
    return {
        key: screen(item.source, reference=references.get(item.definition), language=item.language)
        for key, item in solutions.items()
    }


def _counts(
    records: Sequence[Mapping[Any, Any]],
    screened: Mapping[str, Screening],
    checks: Sequence[str],
    foretold: Callable[[Mapping[Any, Any]], bool],
    confidence: float,
) -> dict[str, float]:
    flagged = [row for row in records if any(NOTES[name](screened[row["solution"]]) for name in checks)]
    right, outcomes = sum(map(foretold, flagged)), sum(map(foretold, records))
    counts: dict[str, float] = {
        "answers": len(records), "flagged": len(flagged), "borne_out": right, "outcomes": outcomes,
    }  # fmt: skip
    if flagged:
        low, high = wilson_interval(right, len(flagged), confidence)
        counts |= {"precision": right / len(flagged), "precision_low": low, "precision_high": high}
    if outcomes:
        counts["recall"] = right / outcomes
    return counts


def finding(rows: Sequence[Row]) -> str:
    """What the text alone would have told of all answers."""
    (known, caught, flagged) = (
        sum(getattr(row, name) for row in rows if row.check == ANY and row.foretells == "no credit")
        for name in ("outcomes", "borne_out", "flagged")
    )
    if not known:
        return ""
    kept = f"; {of(caught, flagged, 'flagged answers')} are rightly flagged" if flagged else ""
    return f"Text alone tells {percent(caught / known)} of the {known} answers that earn no credit{kept}."


def layout(table: Any) -> Any:
    """Checks that hold of some answer, and all checks together, with shares in percent beside what they are of."""
    shown = table[(table["flagged"] > 0) | (table["check"] == ANY)]
    rows = [Row.pick(cells) for cells in shown.to_dict("records")]
    return shown.assign(precision=[_precision(row) for row in rows], recall=[_recall(row) for row in rows])


def _precision(row: Row) -> str:
    if not row.flagged:
        return "none flagged"
    interval = f"{100 * row.precision_low:.0f}–{100 * row.precision_high:.0f}"
    return f"{percent(row.precision)} ({interval}): {of(row.borne_out, row.flagged)}"


def _recall(row: Row) -> str:
    return f"{percent(row.recall)}: {of(row.borne_out, row.outcomes)}" if row.outcomes else "no such answer"


TABLE = RunTable(
    name="screen_agreement",
    title="What the answers' text alone tells of their verdicts",
    caption=(
        "The checks of `hone screen`, which runs nothing, beside the verdicts. Precision is the share of a check's "
        "flagged answers with the verdict that it predicts, recall the share of all answers with that verdict that it "
        "flags. `no pass`: the answer does not pass. `no credit`: it does not pass, or its time is "
        "doubtful and earns nothing. Brackets hold an interval. Checks that flag no answer are left to the CSV file."
    ),
    category="Judge",
    row=Row,
    rows=rows,
    finding=finding,
    layout=layout,
    shown={
        "experiment": "Experiment",
        "model": "Model",
        "check": "The text shows",
        "foretells": "Foretells",
        "answers": "Answers",
        "precision": "Precision: rightly flagged, of those flagged",
        "recall": "Recall: flagged, of all that end so",
    },
)

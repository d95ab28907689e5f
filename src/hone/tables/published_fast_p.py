"""published_fast_p: KernelBench's metric for models whose answers archives hold, by both rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from hone.analysis.archives import RULES, UNRESOLVED, Rule
from hone.analysis.metrics import mean_estimate
from hone.config.settings import Analysis
from hone.records import Status
from hone.tables import columns, judge_agreement
from hone.tables.judge_agreement import Row as Answer
from hone.tables.row import EMPTY, TableRow, behind
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import estimate, of, share_of

Published = Callable[[str, str, str, float], Mapping[str, float | str]]
"""(experiment, model, level, p) -> the columns `published` and `published_source`."""


class Row(TableRow):
    """One model's answers of one archive to one level, under one rule, at one threshold."""

    archive: columns.Archive
    model: columns.LanguageModel
    level: columns.Level
    rule: str
    """kernelbench: its tolerance, and the speedup by its own loop. hone: our rule, and the speedup by the device's
    clock, which must have no finding."""
    p: columns.Threshold
    n: columns.Problems
    """Problems of the level that the experiment asks for. One without an answer counts as failed."""
    answered: int
    """Those of them that the archive has an answer to."""
    fast_p: columns.FastP = EMPTY
    ci_low: columns.ShareLow = EMPTY
    ci_high: columns.ShareHigh = EMPTY
    unresolved: columns.Unresolved
    published: columns.PublishedShare = EMPTY
    published_source: columns.PublishedSource = ""
    experiment: columns.Experiment = ""
    judged_by: columns.JudgedBy = ""


def rows(run: Run) -> list[Row]:
    """Of all answers of a run; the printed numbers are those over the first baseline."""
    find, baseline = run.context.matcher.find, next(iter(run.context.settings.baselines), "")

    def published(experiment: str, model: str, level: str, p: float) -> Mapping[str, float | str]:
        return find(experiment, model, level, "fast_p", p, None, baseline)

    return counted(judge_agreement.rows(run), published, run.context.settings.analysis)


def counted(answers: Sequence[Answer], published: Published, analysis: Analysis) -> list[Row]:
    """By archive, model, level, rule and threshold; of several answers to a problem the first counts."""
    groups: dict[tuple[str, str, str, Rule, str], dict[str, Answer]] = {}
    for answer in sorted(answers, key=lambda answer: answer.sample):
        for rule in RULES:
            if experiment := answer.experiment(rule):
                key = (answer.archive, answer.model, _level(answer), rule, experiment)
                groups.setdefault(key, {}).setdefault(answer.definition, answer)
    found: list[Row] = []
    for place, own in sorted(groups.items()):
        for p in analysis.thresholds:
            shares = _shares(place, list(own.values()), p, analysis.confidence)
            found.append(shares.model_copy(update=published(shares.experiment, shares.model, shares.level, p)))
    return found


def _level(answer: Answer) -> str:
    return answer.definition.split("/")[1].removeprefix("level")


def _shares(place: tuple[str, str, str, Rule, str], answers: Sequence[Answer], p: float, confidence: float) -> Row:
    archive, model, level, rule, experiment = place
    problems = max(len(answers), *(answer.level_problems for answer in answers))
    outcomes = np.zeros((problems, 1))
    outcomes[: len(answers), 0] = [outcome(answer, rule, p) for answer in answers]
    found = mean_estimate(outcomes, confidence)
    return Row(
        archive=archive, model=model, level=level, rule=rule, p=p, n=problems, answered=len(answers),
        fast_p=found.value, ci_low=found.low, ci_high=found.high, unresolved=found.unresolved,
        experiment=experiment, **behind(answers, "judged_by"),
    )  # fmt: skip


def outcome(answer: Answer, rule: Rule, p: float) -> float:
    """1: correct and more than p times as fast; 0: not; NaN: nobody knows."""
    status = answer.status(rule)
    if status in UNRESOLVED:
        return math.nan
    if status != Status.PASSED:
        return 0.0
    speedup = answer.credited_speedup if rule == "hone" else answer.as_published_speedup
    return 1.0 if p == 0 else math.nan if math.isnan(speedup) else float(speedup > p)


def finding(rows: Sequence[Row]) -> str:
    """Of whom all is known, who is right and fast most often, by our rule."""
    known = [row for row in rows if row.rule == "hone" and row.p == 1 and not math.isnan(row.fast_p)]
    if not known:
        return "No model has all its verdicts on a level, so that fast_p has bounds alone."
    best = max(known, key=lambda row: row.fast_p)
    quick = share_of(best.fast_p, best.n, "problems")
    others = f"; the best of {len(known)} models and levels that are judged whole" if len(known) > 1 else ""
    return f"{best.model}, level {best.level}: {quick} faster than PyTorch, by our rule{others}."


def layout(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each model and level: correct and faster, by both rules, beside the paper's fast_1."""
    found: dict[tuple[str, str, str], dict[str, object]] = {}
    for row in table[table["p"].isin((0.0, 1.0))].to_dict("records"):
        key = (row["model"], row["experiment"], row["level"])
        answered = of(row["answered"], row["n"])
        place = {"model": row["model"], "level": row["level"], "answered": answered, "published": EMPTY}
        shown = found.setdefault(key, place)
        shown[f"{row['rule']}_{row['p']:g}"] = estimate(row["fast_p"], row["ci_low"], row["ci_high"])
        if row["p"] == 1 and not math.isnan(row["published"]):
            shown["published"] = row["published"]
    shares = ["kernelbench_0", "kernelbench_1", "hone_0", "hone_1"]
    order = ["model", "level", "answered", *shares, "published"]
    return pd.DataFrame(list(found.values()), columns=order).fillna(dict.fromkeys(shares, ""))


TABLE = RunTable(
    name="published_fast_p",
    title="fast_p of models whose answers archives hold",
    caption=(
        "Of each model in an archive: the share of a level's problems that it answers correctly (fast_0), and more "
        "than *p* times as fast as PyTorch (fast_p), by KernelBench's rule and clock and by ours. Every problem of the "
        "level is in the denominator, those with a known defect, too; of several answers the first counts. Where "
        "answers have no verdict or no time, the share is open and the interval says what it can be. `published` is "
        "the KernelBench paper's number. It is of another GPU. An archive that was chosen from the best answers, such "
        "as a leaderboard, is no random sample of its models."
    ),
    category="Judge",
    row=Row,
    rows=rows,
    finding=finding,
    layout=layout,
    shown={
        "model": "Model",
        "level": "Level",
        "answered": "Answered problems",
        "kernelbench_0": "Correct, KernelBench's rule",
        "kernelbench_1": "Faster, KernelBench's rule",
        "hone_0": "Correct, our rule",
        "hone_1": "Faster, our rule",
        "published": "Published fast_1",
    },
)

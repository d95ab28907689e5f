"""judge_agreement and published_claims: what archives say of their answers, beside our verdicts and times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

import pandas as pd

from hone.analysis.frames import MISSING, NO_CODE
from hone.analysis.provenance import FROM_VERDICTS, joined
from hone.analysis.tables import Context, Row
from hone.config import Settings
from hone.records import Claim, ClaimedVerdict, Status

Rule = Literal["kernelbench", "hone"]
RULES: tuple[Rule, ...] = ("kernelbench", "hone")
Place = tuple[str, str, str, int]
"""Experiment, model, definition, sample."""
Outcomes = Mapping[Place, Mapping[Any, Any]]
"""Place -> row of the frame."""
UNRESOLVED = frozenset({"", MISSING, str(Status.NOT_JUDGED), str(Status.MACHINE_ERROR)})

CAUSES: dict[str, str] = {
    Status.COMPILE_ERROR: "compile",
    Status.LOAD_ERROR: "load",
    Status.RUNTIME_ERROR: "runtime",
    Status.OUT_OF_MEMORY: "memory",
    Status.TIMEOUT: "timeout",
    Status.WRONG_SHAPE: "shape",
    Status.WRONG_VALUE: "value",
    Status.INPUT_CHANGED: "input",
    Status.IMPRECISE: "precision",
    NO_CODE: "no_code",
    ClaimedVerdict.WRONG: "unknown",
}
"""Verdict, ours or an archive's, that is against a kernel -> what it is about; verdicts of one name mean the same."""


@dataclass(frozen=True)
class Pair:
    """Two experiments on one archive and source, one under each rule; an empty name where there is none.

    Where there is none under KernelBench's rule, ours stands in its place: its traces have that verdict too.
    """

    kernelbench: str
    hone: str


def pairs(settings: Settings) -> dict[tuple[str, str], list[Pair]]:
    """(archive, source) -> its experiments, the first under one rule with the first under the other, and so on."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for name, item in settings.experiments.items():
        if item.archive is not None:
            by_rule = found.setdefault((item.archive, item.source), {rule: [] for rule in RULES})
            by_rule[settings.protocol(name).rule].append(name)
    return {
        key: [
            Pair(published or own, own)
            for published, own in zip_longest(by_rule["kernelbench"], by_rule["hone"], fillvalue="")
        ]
        for key, by_rule in found.items()
    }


def outcomes_of(frame: pd.DataFrame) -> Outcomes:
    """The rows of the `archive` experiments."""
    rows = frame[frame["method"] == "archive"].to_dict("records")
    return {(row["experiment"], row["model"], row["definition"], row["sample"]): row for row in rows}


def distinct_claims(claims: Iterable[Claim]) -> list[Claim]:
    """Each once, by archive, model, definition and sample: experiments on one archive have the same claims."""
    return list({(item.archive, item.model, item.definition, item.sample): item for item in claims}.values())


def agreement_rows(frame: pd.DataFrame, claims: Iterable[Claim], context: Context) -> list[Row]:
    """judge_agreement: one row for each answer and pair of experiments that have it."""
    outcomes, compared = outcomes_of(frame), pairs(context.settings)
    rows: list[Row] = []
    for claim in distinct_claims(claims):
        source = claim.definition.partition("/")[0]
        for pair in compared.get((claim.archive, source), ()):
            found = {rule: _outcome(outcomes, claim, getattr(pair, rule)) for rule in RULES}
            if any(found.values()):
                rows.append(_agreement(claim, pair, found, context))
    return sorted(rows, key=_order)


def _outcome(outcomes: Outcomes, claim: Claim, experiment: str) -> Mapping[Any, Any]:
    return outcomes.get((experiment, claim.model, claim.definition, claim.sample), {})


def _agreement(claim: Claim, pair: Pair, found: Mapping[Rule, Mapping[Any, Any]], context: Context) -> Row:
    own = pair.kernelbench == pair.hone
    statuses = {rule: str(found[rule].get("status", "")) for rule in RULES}
    if own and found["kernelbench"]:  # what KernelBench's rule says of an answer without a verdict of ours: nothing
        statuses["kernelbench"] = str(found["kernelbench"]["status_as_published"]) or statuses["hone"]
    present = [row for row in found.values() if row]
    verdicts = {name: joined(row[name] for row in present) for name in FROM_VERDICTS}
    return {
        "archive": claim.archive,
        "model": claim.model,
        "definition": claim.definition,
        "sample": claim.sample,
        "archive_verdict": str(claim.verdict),
        **{f"status_{rule}": statuses[rule] for rule in RULES},
        "agrees": agrees(claim.verdict, statuses["kernelbench"]),
        "cause": cause(claim.verdict, statuses["kernelbench"], statuses["hone"]),
        "detail": next((row["detail"] for row in present if row["detail"]), ""),
        "archive_error": claim.error,
        "experiment_kernelbench": pair.kernelbench,
        "experiment_hone": pair.hone,
        "solution": claim.solution,
        **context.provenance.columns(verdicts),
    }


def agrees(verdict: ClaimedVerdict, status: str) -> str:
    """`yes` or `no`: both say that the answer is correct, or both that it is not; empty where one says nothing."""
    if not verdict.resolved or status in UNRESOLVED:
        return ""
    return "yes" if (verdict is ClaimedVerdict.CORRECT) == (status == Status.PASSED) else "no"


def cause(verdict: ClaimedVerdict, kernelbench: str, hone: str) -> str:
    """What a difference is about, as the side that objects says; empty where all agree.

    `ours`: this machine gave no verdict. `machine`: the archive's gave none.
    """
    asked = [status for status in (kernelbench, hone) if status]
    if any(status in UNRESOLVED for status in asked):
        return "ours"
    if not verdict.resolved:
        return "machine"
    said = [str(verdict), *asked]
    passed = {ClaimedVerdict.CORRECT.value, Status.PASSED.value}
    against = [word for word in said if word not in passed]
    return CAUSES[against[0]] if against and len(against) < len(said) else ""


def _order(row: Row) -> tuple[str, str, int, int, int, str]:
    _, level, title = row["definition"].split("/")
    number = int(title.partition("_")[0])
    place = (int(level.removeprefix("level")), number, row["sample"])
    return row["archive"], row["model"], *place, row["experiment_hone"]


def summary_rows(agreement: Sequence[Row], context: Context) -> list[Row]:
    """judge_agreement_summary: of each archive and model, and each rule, how many verdicts there are and agree."""
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in agreement:
        for rule in RULES:
            if experiment := row[f"experiment_{rule}"]:
                groups.setdefault((row["archive"], row["model"], rule, experiment), []).append(row)
    return [_summary(key, rows, context) for key, rows in sorted(groups.items())]


def _summary(key: tuple[str, str, str, str], rows: Sequence[Row], context: Context) -> Row:
    archive, model, rule, experiment = key
    told = [(ClaimedVerdict(row["archive_verdict"]), row[f"status_{rule}"]) for row in rows]
    verdicts = sum(status not in UNRESOLVED for _, status in told)
    both = [(verdict is ClaimedVerdict.CORRECT, agrees(verdict, status) == "yes") for verdict, status in told
            if agrees(verdict, status)]  # fmt: skip
    counts = {"answers": len(rows), "verdicts": verdicts, "verdict_share": verdicts / len(rows)}
    for name, is_correct in (("correct", True), ("wrong", False)):
        same = [agreed for claimed, agreed in both if claimed is is_correct]
        counts |= {f"claimed_{name}": len(same), f"agree_{name}": sum(same)}
        counts[f"agree_{name}_share"] = sum(same) / len(same) if same else math.nan
    named = {"archive": archive, "model": model, "rule": rule, "experiment": experiment}
    verdict_columns = {name: joined(part for row in rows for part in row[name].split("; ")) for name in FROM_VERDICTS}
    return named | counts | context.provenance.columns(verdict_columns)


def claim_rows(frame: pd.DataFrame, claims: Iterable[Claim], context: Context) -> list[Row]:
    """published_claims: one row for each answer with a published time or speedup, experiment and baseline."""
    outcomes = outcomes_of(frame)
    by_place = {(item.archive, item.model, item.definition, item.sample): item for item in claims}
    rows: list[Row] = []
    for (experiment, *place), item in outcomes.items():
        archive = context.settings.experiments[experiment].archive or ""
        claim = by_place.get((archive, *place))  # type: ignore[arg-type]
        if claim is not None and (claim.speedup or claim.runtime_ms):
            rows += _claims(claim, item, context)
    return rows


def _claims(claim: Claim, item: Mapping[Any, Any], context: Context) -> Iterator[Row]:
    for baseline in context.baselines_of([claim.definition]):
        yield {
            **item,
            "archive": claim.archive,
            "claimed_speedup": claim.speedup,
            "claimed_ms": claim.runtime_ms,
            "as_published_speedup": item[f"as_published_{baseline}"],
            "device_speedup": item[f"speedup_{baseline}"],
            "archive_verdict": str(claim.verdict),
            "hardware": claim.hardware,
            "rule": context.settings.protocol(item["experiment"]).rule,
            "baseline": baseline,
            "baseline_ms": item[f"baseline_ms_{baseline}"],
            **context.provenance.columns(dict(item)),
        }

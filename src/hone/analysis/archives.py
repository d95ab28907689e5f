"""What archives say of their answers, paired with our verdicts: what the tables about them share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal
from urllib.parse import quote

import pandas as pd

from hone.analysis.frames import MISSING, NO_CODE
from hone.config.archives import Archive, ScoredLinesArchive
from hone.config.settings import Settings
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


def source_link(archive: Archive, path: str) -> str:
    """Address of an answer's text at the archive's commit; empty for a repository that is not on GitHub.

    `path` as in `Origin.path`.
    """
    repository = archive.url.rstrip("/").removesuffix(".git")
    if not repository.startswith("https://github.com/"):
        return ""
    file, _, index = path.partition("#")
    # The index of a JSON line is that of its line; a list's entries have no address of their own.
    line = f"#L{int(index) + 1}" if index and isinstance(archive, ScoredLinesArchive) else ""
    return f"{repository}/blob/{archive.commit}/{quote(file)}{line}"

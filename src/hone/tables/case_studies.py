"""case_studies: ten answers of a run that are worth reading, chosen by a rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hone.analysis.archives import source_link
from hone.analysis.context import Context
from hone.analysis.render import number
from hone.analysis.standing import standing
from hone.records import Claim, Status
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import is_known

Reason = Literal["fastest", "claimed", "two_rules"]
CASES = 10
QUOTA: dict[Reason, int] = {"claimed": 3, "two_rules": 3}
"""How many there are of a reason at most; the fastest fill the rest."""
NOT_ANSWERS = ("gold", "files")


class Row(TableRow):
    """One answer."""

    place: int
    """Counted from 1."""
    chosen_for: str
    """`fastest`: the highest credited speedups, one a problem. `claimed`: the highest speedups that an archive claims
    and the answer does not earn here, one a problem. `two_rules`: passes by KernelBench's rule and earns nothing by
    ours, one of each `standing`, the highest speedups first."""
    model: columns.LanguageModel
    definition: columns.Problem
    claimed_speedup: float = EMPTY
    """The archive's speedup over PyTorch in eager mode, on its own machine."""
    as_published_speedup: float = EMPTY
    """Speedup here by KernelBench's own loop, host work included; no credit."""
    device_speedup: float = EMPTY
    """Speedup here by the judge's clock, credited or not (see standing)."""
    status: columns.Verdict
    status_kernelbench: str = ""
    """The verdict by KernelBench's rule, from the same judging."""
    standing: str
    """As in published_claims: `credited`, or the gravest thing against the answer."""
    findings: columns.Findings
    detail: columns.Detail = ""
    source: str = ""
    """Address of an archive's text at its commit."""
    experiment: columns.Experiment
    turn: columns.Turn
    sample: columns.Sample
    baseline: columns.Baseline = ""
    solution: columns.SolutionDigest = ""


@dataclass(frozen=True)
class Case:
    """An answer with a verdict, as the choice sees it."""

    item: Mapping[Any, Any]
    """Row of the frame."""
    standing: str
    claimed: float
    public: float
    """Speedup by KernelBench's loop."""
    device: float
    source: str = ""
    reason: Reason = "fastest"

    @property
    def problem(self) -> str:
        """Name of the problem."""
        return str(self.item["definition"])

    @property
    def earns(self) -> bool:
        """Whether it is faster than the baseline and gets credit for it."""
        return self.standing == "credited" and self.device > 1


def rows(run: Run) -> list[Row]:
    """The cases, in the order of their reasons; nothing is random, and equal ones go by their place in the run."""
    baseline = run.context.settings.baselines[0]
    return [
        Row.pick(
            {**case.item, **run.context.provenance.columns(dict(case.item))},
            place=place,
            chosen_for=case.reason,
            claimed_speedup=case.claimed,
            as_published_speedup=case.public,
            device_speedup=case.device,
            status_kernelbench=case.item["status_as_published"],
            standing=case.standing,
            source=case.source,
            baseline=baseline,
        )
        for place, case in enumerate(choose(list(_cases(run, baseline))), start=1)
    ]


def _cases(run: Run, baseline: str) -> Iterator[Case]:
    """All answers of models that have a verdict by our rule."""
    settings = run.context.settings
    claims = {(item.archive, item.model, item.definition, item.sample): item for item in run.records.claims}
    for item in run.frame.to_dict("records"):
        experiment = item["experiment"]
        if item["method"] in NOT_ANSWERS or not item["resolved"] or settings.protocol(experiment).rule != "hone":
            continue
        archive = settings.experiments[experiment].archive or ""
        claim = claims.get((archive, item["model"], item["definition"], item["sample"]))
        yield Case(
            item,
            standing(item["status"], item["findings"], item["sound"]),
            (claim.speedup if claim else None) or math.nan,
            item[f"as_published_{baseline}"],
            item[f"speedup_{baseline}"],
            _source(claim, run.context),
        )


def _source(claim: Claim | None, context: Context) -> str:
    return source_link(context.settings.archives[claim.archive], claim.path) if claim else ""


def choose(cases: Sequence[Case], wanted: int = CASES) -> list[Case]:
    """At most so many cases, the fastest first; no solution is chosen twice."""
    beyond = (case for case in cases if case.claimed > 1 and not case.earns)
    disputed = (
        case for case in cases if case.item["status_as_published"] == Status.PASSED and case.standing != "credited"
    )
    chosen = _first("claimed", beyond, lambda case: case.claimed, lambda case: case.problem, [])
    chosen += _first("two_rules", disputed, _seeming, lambda case: case.standing, chosen)
    credited = (case for case in cases if case.standing == "credited" and is_known(case.device))
    fastest = _first("fastest", credited, lambda case: case.device, lambda case: case.problem, chosen, wanted)
    return fastest[: wanted - len(chosen)] + chosen


def _seeming(case: Case) -> float:
    """How fast it seems: by KernelBench's loop, by the judge's clock, or as its archive claims."""
    return next((value for value in (case.public, case.device, case.claimed) if is_known(value)), 0.0)


def _first(
    reason: Reason, cases: Iterable[Case], worth: Callable[[Case], float], kind: Callable[[Case], str],
    taken: Sequence[Case], most: int | None = None,
) -> list[Case]:  # fmt: skip
    """The cases of most worth, one of each kind, without the solutions that are taken."""
    known = {case.item["solution"] for case in taken}
    kept: dict[str, Case] = {}
    for case in sorted(cases, key=worth, reverse=True):
        if case.item["solution"] not in known:
            kept.setdefault(kind(case), replace(case, reason=reason))
    return list(kept.values())[: QUOTA.get(reason, most)]


def finding(rows: Sequence[Row]) -> str:
    """The fastest, and the highest claim that is not earned."""
    said = []
    if fastest := next((row for row in rows if row.chosen_for == "fastest"), None):
        said.append(f"The fastest with credit is {_named(fastest)}: {number(fastest.device_speedup)} times as fast.")
    if claimed := next((row for row in rows if row.chosen_for == "claimed"), None):
        said.append(f"The highest claim that is not earned is {number(claimed.claimed_speedup)}, of {_named(claimed)}.")
    return " ".join(said)


def _named(row: Row) -> str:
    return f"{row.model} on {row.definition.partition('/')[2]}"


TABLE = RunTable(
    name="case_studies",
    title="Answers to read",
    caption=(
        "Answers of this run that are worth reading, chosen by a rule: the fastest with credit, the highest published "
        "speedups that are not earned here, and answers on which KernelBench's rule and ours differ. The explorer has "
        "a page for each."
    ),
    category="Judge",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "chosen_for": "Chosen for",
        "model": "Model",
        "definition": "Problem",
        "claimed_speedup": "Published speedup",
        "as_published_speedup": "KernelBench's loop",
        "device_speedup": "Judge's clock",
        "status": "Status",
        "standing": "What is left",
    },
)

"""published_claims_summary: of each archive, how many claims there are and what is left of them."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from hone.analysis.standing import MEANINGS
from hone.records import Status
from hone.tables import columns, published_claims
from hone.tables.published_claims import Row as Claim
from hone.tables.row import EMPTY, TableRow, behind
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import is_known, of


class Row(TableRow):
    """All claims of one archive, judged in one experiment, against one baseline."""

    archive: columns.Archive
    models: int
    """Models that wrote the answers."""
    claims: int
    """Answers with a published time or speedup."""
    verdicts: int
    """Those with a verdict here."""
    passed: int
    """Those of them that pass here."""
    passed_share: float = EMPTY
    """`passed` over `verdicts`."""
    credited: int
    """Those that pass with no finding, on a problem without a known defect."""
    credited_share: float = EMPTY
    """`credited` over `verdicts`."""
    timed: int
    """Answers behind the medians: timed here by both clocks and, where the archive has speedups, with a claimed one."""
    median_claimed: float = EMPTY
    """Median of the claimed speedups; empty where the archive has times alone."""
    median_as_published: float = EMPTY
    """Median speedup here by KernelBench's own loop, host work included."""
    median_device: float = EMPTY
    """Median speedup here by the device's clock."""
    median_host_factor: float = EMPTY
    """Median of the first over the second: above 1, so much of a speedup is work of the host, such as launches."""
    claimed_faster: int
    """Answers with a verdict here that claim a speedup above 1."""
    still_faster: int
    """Those of them that are `credited` and above 1 by the device's clock."""
    standings: str = ""
    """How many answers there are of each `standing` of published_claims."""
    experiment: columns.Experiment = ""
    rule: str = ""
    """Rule of the verdicts: kernelbench or hone."""
    baseline: columns.Baseline = ""
    judged_by: columns.JudgedBy = ""


def rows(run: Run) -> list[Row]:
    """Of all claims of a run."""
    return summed(published_claims.rows(run))


def summed(claims: Sequence[Claim]) -> list[Row]:
    """By archive, experiment and baseline, in the order of the claims."""
    groups: dict[tuple[str, str, str], list[Claim]] = {}
    for claim in claims:
        groups.setdefault((claim.archive, claim.experiment, claim.baseline), []).append(claim)
    return [_row(own) for own in groups.values()]


def _row(claims: Sequence[Claim]) -> Row:
    judged = [item for item in claims if item.standing != "no_verdict"]
    passed = sum(item.status == Status.PASSED for item in judged)
    credited = sum(item.standing == "credited" for item in judged)
    timed = _timed(judged)
    faster = [item for item in judged if item.claimed_speedup > 1]
    first, counts = claims[0], Counter(item.standing for item in claims)
    return Row(
        archive=first.archive,
        models=len({item.model for item in claims}),
        claims=len(claims),
        verdicts=len(judged),
        passed=passed,
        passed_share=passed / len(judged) if judged else EMPTY,
        credited=credited,
        credited_share=credited / len(judged) if judged else EMPTY,
        timed=len(timed),
        median_claimed=_median(item.claimed_speedup for item in timed),
        median_as_published=_median(item.as_published_speedup for item in timed),
        median_device=_median(item.device_speedup for item in timed),
        median_host_factor=_median(item.host_factor for item in timed),
        claimed_faster=len(faster),
        still_faster=sum(item.still_faster for item in faster),
        standings=", ".join(f"{counts[word]} {word}" for word in MEANINGS if counts[word]),
        experiment=first.experiment,
        rule=first.rule,
        baseline=first.baseline,
        **behind(claims, "judged_by"),
    )


def _timed(claims: Sequence[Claim]) -> list[Claim]:
    """One set for all medians: a median of other answers would be compared with nothing."""
    found = [item for item in claims if is_known(item.as_published_speedup) and is_known(item.device_speedup)]
    claimed = [item for item in found if is_known(item.claimed_speedup)]
    return claimed or found


def _median(values: Iterable[float]) -> float:
    """NaN where there is none, or one of them is missing."""
    found = list(values)
    return statistics.median(found) if found and all(map(is_known, found)) else EMPTY


def finding(rows: Sequence[Row]) -> str:
    """How many claims pass here, and how many claims to be faster hold."""
    # Under one rule and over one baseline each answer counts once.
    own = [row for row in rows if row.rule == "hone"] or rows
    own = [row for row in own if row.baseline == own[0].baseline]
    passed, verdicts = sum(row.passed for row in own), sum(row.verdicts for row in own)
    faster, left = sum(row.claimed_faster for row in own), sum(row.still_faster for row in own)
    said = f"{of(passed, verdicts, 'published claims')} with a verdict pass here."
    if not faster:
        return said
    return f"{said} {of(left, faster, 'that claim to be faster')} are so here and earn it."


TABLE = RunTable(
    name="published_claims_summary",
    title="What is left of published speedups, by archive",
    caption=(
        "Of each archive: how many answers have a published time or speedup, how many pass here, and the median "
        "speedup as claimed, by KernelBench's own loop here, and by the device's clock. The medians are of the same "
        "answers."
    ),
    category="Judge",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "archive": "Archive",
        "claims": "Claims",
        "passed_share": "Pass here",
        "credited_share": "Credited",
        "median_claimed": "Median claimed",
        "median_as_published": "KernelBench's loop",
        "median_device": "Device's clock",
        "still_faster": "Still faster",
    },
)

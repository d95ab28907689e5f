"""published_claims: times and speedups that archives published, beside ours."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hone.analysis.archives import outcomes_of
from hone.analysis.context import Context
from hone.analysis.render import number
from hone.analysis.standing import standing
from hone.records import Claim
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import known, of, plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn


class Row(TableRow):
    """One published answer against one baseline."""

    archive: columns.Archive
    model: columns.LanguageModel
    definition: columns.Problem
    claimed_speedup: float = EMPTY
    """The archive's speedup over PyTorch in eager mode, on its own machine."""
    claimed_ms: float = EMPTY
    """The archive's time of the answer in milliseconds, on its own machine."""
    as_published_speedup: float = EMPTY
    """Speedup here by KernelBench's own loop, host work included; no credit."""
    device_speedup: float = EMPTY
    """Speedup here by the device's clock, credited or not (see findings)."""
    host_factor: float = EMPTY
    """as_published_speedup over device_speedup: above 1, the first owes so much to the host, such as to launches."""
    standing: str = ""
    """What is left of the answer: `credited`; or the gravest thing against it: `doubtful` (a finding), `degenerate`
    (the problem can be passed without its work), `no_custom_kernel`, `fallback`, `too_fast` (below the device's floor),
    `imprecise`, `fails`; `no_verdict`."""
    status: columns.Verdict
    findings: columns.Findings
    sample: columns.Sample
    archive_verdict: str = ""
    """What the archive says: correct, wrong_value, wrong_shape, wrong (it does not say why), compile_error,
    runtime_error; not_run: no verdict, or its machine or harness failed."""
    hardware: str = ""
    """Machine that the archive names."""
    experiment: columns.Experiment = ""
    rule: str = ""
    """Rule of the verdicts: kernelbench or hone."""
    baseline: columns.Baseline = ""
    mode: str = ""
    """How the answer was timed here: graph, queued or replay without the host's work, stream with it. A baseline whose
    launches are left out stands beside any of them."""
    charged_ms: float = EMPTY
    """What of latency_ms the answer's process did not claim and the judge's clock saw."""
    latency_ms: columns.LatencyMs = EMPTY
    baseline_ms: columns.BaselineMs = EMPTY
    detail: columns.Detail = ""
    solution: columns.SolutionDigest = ""
    judged_by: columns.JudgedBy = ""

    @property
    def still_faster(self) -> bool:
        """Whether the device's clock says so, too, and nothing speaks against it."""
        return self.standing == "credited" and self.device_speedup > 1


def rows(run: Run) -> list[Row]:
    """A row for each answer with a published time or speedup, experiment and baseline."""
    claims = {(item.archive, item.model, item.definition, item.sample): item for item in run.records.claims}
    found: list[Row] = []
    for (experiment, *place), item in outcomes_of(run.frame).items():
        archive = run.context.settings.experiments[experiment].archive or ""
        claim = claims.get((archive, *place))  # type: ignore[arg-type]
        if claim is not None and (claim.speedup or claim.runtime_ms):
            found += _rows(claim, item, run.context)
    return found


def _rows(claim: Claim, item: Mapping[Any, Any], context: Context) -> Iterator[Row]:
    for baseline in context.baselines_of([claim.definition]):
        public, device = item[f"as_published_{baseline}"], item[f"speedup_{baseline}"]
        yield Row.pick(
            {**item, **context.provenance.columns(dict(item))},
            archive=claim.archive,
            claimed_speedup=claim.speedup,
            claimed_ms=claim.runtime_ms,
            as_published_speedup=public,
            device_speedup=device,
            host_factor=public / device,
            standing=standing(item["status"], item["findings"], item["sound"]),
            archive_verdict=str(claim.verdict),
            hardware=claim.hardware,
            rule=context.settings.protocol(item["experiment"]).rule,
            baseline=baseline,
            baseline_ms=item[f"baseline_ms_{baseline}"],
        )


def finding(rows: Sequence[Row]) -> str:
    """The middle of ours over theirs, and what is left of claims to be faster."""
    ratios = known(row.as_published_speedup / row.claimed_speedup for row in rows if row.claimed_speedup)
    if not ratios:
        return ""
    middle = number(statistics.median(ratios))
    said = (
        f"By KernelBench's own loop our speedup is {middle} times the published one (median of "
        f"{plural(len(ratios), 'answer')})."
    )
    faster = [row for row in rows if row.claimed_speedup > 1 and row.standing != "no_verdict"]
    left = sum(row.still_faster for row in faster)
    return (
        f"{said} {of(left, len(faster), 'answers that claim to be faster')} are so here and earn it."
        if faster
        else said
    )


def figure(table: pd.DataFrame) -> Drawn:
    """Claimed against measured speedups, and both clocks."""
    from hone.analysis.claim_figures import published_claims_figure

    return published_claims_figure(table)


TABLE = RunTable(
    name="published_claims",
    title="Published times beside ours",
    caption=(
        "Speedups and times that archives published, beside ours: by KernelBench's own loop, which counts host work, "
        "and by the device's clock. Their machines differ from ours, so speedups can be compared and times can not."
    ),
    category="Judge",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "model": "Model",
        "definition": "Problem",
        "claimed_speedup": "Published speedup",
        "as_published_speedup": "KernelBench's loop",
        "device_speedup": "Device's clock",
        "standing": "What is left",
        "findings": "Findings",
    },
    figures=(
        Figure(
            "published_speedups",
            "Published speedups beside ours",
            figure,
            "Left: speedups as archives claim them, on their machines, beside KernelBench's own loop on ours. Answers "
            "without a time here stand in the grey band. Right: that loop beside the device's clock; a mark below the "
            "dotted diagonal owes that much of its speedup to work of the host, such as launches. Only answers with a "
            "claimed speedup and a verdict here are drawn.",
        ),
    ),
)

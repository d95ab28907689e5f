"""judge_agreement: of each published answer, what its archive says and what we say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hone.analysis.archives import RULES, Outcomes, Pair, Rule, agrees, cause, distinct_claims, outcomes_of, pairs
from hone.analysis.context import Context
from hone.analysis.provenance import FROM_VERDICTS, joined
from hone.records import Claim
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import of


class Row(TableRow):
    """One published answer, judged here under one or two rules."""

    archive: columns.Archive
    model: columns.LanguageModel
    definition: columns.Problem
    sample: columns.Sample
    archive_verdict: str
    """What the archive says: correct, wrong_value, wrong_shape, wrong (it does not say why), compile_error,
    runtime_error; not_run: no verdict, or its machine or harness failed."""
    status_kernelbench: str
    """Our verdict under KernelBench's rule; empty where no experiment asks for it."""
    status_hone: str
    """Our verdict under our own rule; empty where no experiment asks for it."""
    agrees: str
    """Yes or no: whether the archive and status_kernelbench both say correct or both not; empty without one of them."""
    cause: str
    """What a difference among the three verdicts is about, as the first of them that objects says: value, shape,
    precision, compile, load, runtime, memory, timeout, input, unknown. `ours`: no verdict here. `machine`: none in
    the archive. Empty where all agree."""
    detail: columns.Detail = ""
    archive_error: str = ""
    """What the archive's harness said, cut."""
    level_problems: int = 0
    """Problems of its level that the experiment asks for."""
    credited_speedup: float = EMPTY
    """By the device's clock, over the first baseline of the config; 0 with a finding."""
    as_published_speedup: float = EMPTY
    """The same by KernelBench's own loop, host work included; no credit. Of answers that pass by either rule."""
    experiment_kernelbench: str = ""
    """The experiment under KernelBench's rule."""
    experiment_hone: str = ""
    """The experiment under our rule."""
    solution: columns.SolutionDigest = ""
    judged_by: columns.JudgedBy = ""

    def status(self, rule: Rule) -> str:
        """Our verdict under a rule."""
        return self.status_kernelbench if rule == "kernelbench" else self.status_hone

    def experiment(self, rule: Rule) -> str:
        """The experiment under a rule; empty where there is none."""
        return self.experiment_kernelbench if rule == "kernelbench" else self.experiment_hone


def rows(run: Run) -> list[Row]:
    """A row for each answer and pair of experiments that have it."""
    outcomes, compared = outcomes_of(run.frame), pairs(run.context.settings)
    found: list[Row] = []
    for claim in distinct_claims(run.records.claims):
        source = claim.definition.partition("/")[0]
        for pair in compared.get((claim.archive, source), ()):
            ours = {rule: _outcome(outcomes, claim, getattr(pair, rule)) for rule in RULES}
            if any(ours.values()):
                found.append(_row(claim, pair, ours, run.context))
    return sorted(found, key=order)


def _outcome(outcomes: Outcomes, claim: Claim, experiment: str) -> Mapping[Any, Any]:
    return outcomes.get((experiment, claim.model, claim.definition, claim.sample), {})


def _row(claim: Claim, pair: Pair, ours: Mapping[Rule, Mapping[Any, Any]], context: Context) -> Row:
    own = pair.kernelbench == pair.hone
    statuses = {rule: str(ours[rule].get("status", "")) for rule in RULES}
    if own and ours["kernelbench"]:  # what KernelBench's rule says of an answer without a verdict of ours: nothing
        statuses["kernelbench"] = str(ours["kernelbench"]["status_as_published"]) or statuses["hone"]
    present = [item for item in ours.values() if item]
    baseline = next(iter(context.settings.baselines), "")
    return Row(
        archive=claim.archive,
        model=claim.model,
        definition=claim.definition,
        sample=claim.sample,
        archive_verdict=str(claim.verdict),
        status_kernelbench=statuses["kernelbench"],
        status_hone=statuses["hone"],
        agrees=agrees(claim.verdict, statuses["kernelbench"]),
        cause=cause(claim.verdict, statuses["kernelbench"], statuses["hone"]),
        detail=next((item["detail"] for item in present if item["detail"]), ""),
        archive_error=claim.error,
        level_problems=_level_problems(claim, pair.hone or pair.kernelbench, context),
        credited_speedup=ours["hone"].get(f"credited_{baseline}", EMPTY),
        as_published_speedup=ours["kernelbench"].get(f"as_published_{baseline}", EMPTY),
        experiment_kernelbench=pair.kernelbench,
        experiment_hone=pair.hone,
        solution=claim.solution,
        judged_by=joined(item["judged_by"] for item in present),
        **context.provenance.columns({name: joined(item[name] for item in present) for name in FROM_VERDICTS}),
    )


def _level_problems(claim: Claim, experiment: str, context: Context) -> int:
    source, name, _ = claim.definition.split("/")
    level = int(name.removeprefix("level"))
    numbers = range(1, context.settings.sources[source].levels.get(level, 0) + 1)
    return sum(context.settings.experiments[experiment].selects(level, number) for number in numbers)


def order(row: Row) -> tuple[str, str, int, int, int, str]:
    """Sorts answers by archive, model and number of the problem."""
    _, level, title = row.definition.split("/")
    number = int(title.partition("_")[0])
    return row.archive, row.model, int(level.removeprefix("level")), number, row.sample, row.experiment_hone


def finding(rows: Sequence[Row]) -> str:
    """How many verdicts agree."""
    compared = [row for row in rows if row.agrees]
    if not compared:
        return f"None of {len(rows)} published answers has a verdict on both sides."
    same = sum(row.agrees == "yes" for row in compared)
    return f"{of(same, len(compared), 'published verdicts')} agree with ours under KernelBench's rule."


TABLE = RunTable(
    name="judge_agreement",
    title="Published answers: the archive's verdict beside ours",
    caption=(
        "Answers of models out of public archives: the verdict that the archive published, and ours under "
        "KernelBench's rule and under our own. `cause` says what a difference is about. Where the archive's machine "
        "failed, or ours, nothing is compared."
    ),
    category="Judge",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "model": "Model",
        "definition": "Problem",
        "archive_verdict": "Archive",
        "status_kernelbench": "KernelBench's rule",
        "status_hone": "Our rule",
        "agrees": "Agrees",
        "cause": "Cause",
    },
)

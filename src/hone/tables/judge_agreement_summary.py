"""judge_agreement_summary: of each archive, model and rule, how many verdicts there are and how many agree."""

from __future__ import annotations

from collections.abc import Sequence

from hone.analysis.archives import RULES, UNRESOLVED, Rule, agrees
from hone.records import ClaimedVerdict
from hone.tables import columns, judge_agreement
from hone.tables.judge_agreement import Row as Agreement
from hone.tables.row import EMPTY, TableRow, behind
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import of


class Row(TableRow):
    """All answers of one model in one archive under one rule."""

    archive: columns.Archive
    model: columns.LanguageModel
    rule: str
    """Rule of the verdicts: kernelbench or hone."""
    answers: int
    """Answers of the model in the archive."""
    verdicts: int
    """Answers with a verdict of ours that is about the kernel."""
    verdict_share: float = EMPTY
    """Verdicts over answers."""
    claimed_correct: int
    """Answers that the archive calls correct, with a verdict of ours."""
    agree_correct: int
    """Those of them that pass here."""
    agree_correct_share: float = EMPTY
    """`agree_correct` over `claimed_correct`."""
    claimed_wrong: int
    """Answers that the archive calls wrong, with a verdict of ours."""
    agree_wrong: int
    """Those of them that do not pass here."""
    agree_wrong_share: float = EMPTY
    """`agree_wrong` over `claimed_wrong`."""
    experiment: columns.Experiment = ""
    judged_by: columns.JudgedBy = ""


def rows(run: Run) -> list[Row]:
    """Of all answers of a run."""
    return summed(judge_agreement.rows(run))


def summed(answers: Sequence[Agreement]) -> list[Row]:
    """By archive, model, rule and experiment."""
    groups: dict[tuple[str, str, Rule, str], list[Agreement]] = {}
    for answer in answers:
        for rule in RULES:
            if experiment := answer.experiment(rule):
                groups.setdefault((answer.archive, answer.model, rule, experiment), []).append(answer)
    return [_row(*key, own) for key, own in sorted(groups.items())]


def _row(archive: str, model: str, rule: Rule, experiment: str, answers: Sequence[Agreement]) -> Row:
    told = [(ClaimedVerdict(item.archive_verdict), item.status(rule)) for item in answers]
    verdicts = sum(status not in UNRESOLVED for _, status in told)
    pairs = [(verdict is ClaimedVerdict.CORRECT, agrees(verdict, status)) for verdict, status in told]
    correct, wrong = ([word == "yes" for right, word in pairs if word and right is side] for side in (True, False))
    return Row(
        archive=archive,
        model=model,
        rule=rule,
        experiment=experiment,
        answers=len(answers),
        verdicts=verdicts,
        verdict_share=verdicts / len(answers),
        claimed_correct=len(correct),
        agree_correct=sum(correct),
        agree_correct_share=_share(correct),
        claimed_wrong=len(wrong),
        agree_wrong=sum(wrong),
        agree_wrong_share=_share(wrong),
        **behind(answers, "judged_by"),
    )


def _share(agreed: Sequence[bool]) -> float:
    return sum(agreed) / len(agreed) if agreed else EMPTY


def finding(rows: Sequence[Row]) -> str:
    """What becomes here of answers that archives call correct and wrong, by rule."""
    said = []
    for rule, name in (("kernelbench", "KernelBench's rule"), ("hone", "our rule")):
        own = [row for row in rows if row.rule == rule]
        correct = of(sum(row.agree_correct for row in own), sum(row.claimed_correct for row in own))
        wrong = of(sum(row.agree_wrong for row in own), sum(row.claimed_wrong for row in own))
        if own:
            said.append(f"Under {name} {correct} answers called correct pass here, and {wrong} called wrong fail.")
    return " ".join(said)


TABLE = RunTable(
    name="judge_agreement_summary",
    title="Published answers: how many verdicts there are, and how many agree",
    caption=(
        "Of each archive, model and rule: how many answers have a verdict about the kernel here, how many of the "
        "archive's correct ones pass here, and how many of its wrong ones fail here."
    ),
    category="Judge",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "model": "Model",
        "rule": "Rule",
        "answers": "Answers",
        "verdicts": "Verdicts here",
        "claimed_correct": "Archive: correct",
        "agree_correct": "of these pass here",
        "claimed_wrong": "Archive: wrong",
        "agree_wrong": "of these fail here",
    },
)

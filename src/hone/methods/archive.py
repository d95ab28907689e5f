"""Answers that somebody has published, instead of a model's: the method `archive`.

An answer is to one text of a problem. It is taken where the definition has that text, to the byte, and left out
otherwise: a kernel for other sizes would be called wrong without being it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from hone.config.experiments import Experiment
from hone.launcher import ENTRY_POINTS
from hone.records import Candidate, Claim, Definition, Language, Solution
from hone.sources.archives.answer import ArchivedAnswer, SkippedAnswer, SkipReason

TRITON = re.compile(r"^\s*@triton\.(jit|autotune|heuristics)\b", re.MULTILINE)


@dataclass
class Published:
    """What the answers of an archive become in one batch; claims and candidates go in pairs."""

    candidates: list[Candidate] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    skipped: list[SkippedAnswer] = field(default_factory=list)
    by_id: dict[str, Solution] = field(default_factory=dict)

    @property
    def solutions(self) -> list[Solution]:
        """The distinct ones, sorted by id."""
        return [self.by_id[key] for key in sorted(self.by_id)]


def language_of(source: str) -> Language:
    """Triton where the module has a kernel of it, else Python, which may build CUDA."""
    return Language.TRITON if TRITON.search(source) else Language.PYTHON


def published(
    name: str,
    experiment: Experiment,
    batch: Collection[tuple[int, int]],
    definitions: Iterable[Definition],
    answers: Iterable[ArchivedAnswer],
) -> Published:
    """Candidates, claims and solutions of the batch's answers; those to other texts, or without definition, skipped.

    Samples count an experiment's answers of one model to one problem, in the order of the archive's file.
    """
    known = {(item.level, item.number): item for item in definitions}
    made = Published()
    samples: Counter[tuple[str, str]] = Counter()
    for answer in answers:
        place = (answer.level, answer.number)
        if place not in batch or not experiment.selects(*place):
            continue
        definition = known.get(place)
        if definition is None or definition.upstream.sha256 != answer.problem_sha256:
            made.skipped.append(_skipped(answer, definition))
            continue
        key = (answer.origin.model, definition.name)
        _add(made, name, answer, definition.name, samples[key])
        samples[key] += 1
    return made


def _skipped(answer: ArchivedAnswer, definition: Definition | None) -> SkippedAnswer:
    """An answer to another text, or to a problem without a definition."""
    if definition is None:
        reason, detail = SkipReason.NO_DEFINITION, "see *.unsupported.jsonl of the source"
    else:
        asked, there = answer.problem_sha256[:12], definition.upstream.sha256[:12]
        reason, detail = SkipReason.OTHER_PROBLEM_TEXT, f"answers the text {asked}, the source has {there}"
    origin = answer.origin
    return SkippedAnswer(
        archive=origin.archive, run=origin.run, path=origin.path, level=answer.level, number=answer.number,
        reason=reason, detail=detail,
    )  # fmt: skip


def _add(made: Published, name: str, answer: ArchivedAnswer, definition: str, sample: int) -> None:
    language = language_of(answer.source)
    solution = Solution(
        definition=definition, language=language, entry_point=ENTRY_POINTS[language], source=answer.source
    )
    made.by_id[solution.id] = solution
    made.candidates.append(
        Candidate(
            experiment=name, method="archive", model=answer.origin.model, definition=definition, turn=0, sample=sample,
            prompt_digest="", completion_key="", solution=solution.id, label=answer.origin.path,
        )
    )  # fmt: skip
    # Both parts are checked records: a claim has their fields and its place.
    parts = {**dict(answer.origin), **dict(answer.claimed)}
    made.claims.append(Claim(**parts, definition=definition, sample=sample, solution=solution.id))

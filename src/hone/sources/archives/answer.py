"""One answer of an archive, and one that is left out; what both are made from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from hone.records import Claimed, Origin, Versioned

LIMIT_BYTES = 1_000_000
"""A kernel of a megabyte is not an answer."""
DETAIL_CHARACTERS = 300


class ArchivedAnswer(Versioned):
    """A model's answer to one problem, with what the archive says of it."""

    origin: Origin
    level: int
    number: int
    """KernelBench's: counted from 1."""
    problem_sha256: str
    """Digest of the text of the problem that was asked."""
    sample: int
    """As the archive counts."""
    source: str
    claimed: Claimed


class SkipReason(StrEnum):
    """Why an answer is left out."""

    LINK = "link"
    """A symbolic link: the answer belongs to another run."""
    NO_SOURCE = "no_source"
    """There is a result and no kernel."""
    NOT_TEXT = "not_text"
    """Not UTF-8, or larger than an answer can be."""
    SAME_AS_REFERENCE = "same_as_reference"
    """The problem's own text."""
    BROKEN_ROW = "broken_row"
    """Not JSON, or without a field that is needed."""
    BROKEN_RESULTS = "broken_results"
    """A run's results or settings cannot be read: its answers go on without them."""
    NO_MODEL = "no_model"
    """Nobody says who answered."""
    NO_PROBLEM_TEXT = "no_problem_text"
    """The archive has no text of the problem."""
    OTHER_PROBLEM_TEXT = "other_problem_text"
    """The answer is to another text than the source's problem has."""
    NO_DEFINITION = "no_definition"
    """The source's problem did not become a definition."""


class SkippedAnswer(Versioned):
    """An answer of an archive that is left out."""

    archive: str
    run: str
    path: str
    level: int | None = None
    number: int | None = None
    reason: SkipReason
    detail: str = ""


@dataclass(frozen=True)
class Found:
    """An answer as a layout gives it, not yet looked at."""

    origin: Origin
    level: int
    number: int
    sample: int
    source: bytes | None
    problem: bytes | None
    """Text of the problem."""
    claimed: Claimed
    detail: str = ""
    """Of an answer without source: what the archive says about it."""


@dataclass
class Gathered:
    """What reading an archive gave so far."""

    found: list[Found] = field(default_factory=list)
    skipped: list[SkippedAnswer] = field(default_factory=list)

    def skip(self, origin: Origin, reason: SkipReason, detail: str = "", place: tuple[int, int] | None = None) -> None:
        """Leave out what stands at an origin; `place`: level and number of the problem, where they are known."""
        level, number = place or (None, None)
        self.skipped.append(
            SkippedAnswer(
                archive=origin.archive, run=origin.run, path=origin.path, level=level, number=number, reason=reason,
                detail=one_line(detail),
            )
        )  # fmt: skip


def admit(gathered: Gathered) -> tuple[list[ArchivedAnswer], list[SkippedAnswer]]:
    """Answers by level, number, model and place, and all that is left out."""
    answers: list[ArchivedAnswer] = []
    for item in gathered.found:
        if (complaint := _complaint(item)) is not None:
            gathered.skip(item.origin, *complaint, place=(item.level, item.number))
        else:
            answers.append(_answer(item))
    answers.sort(key=lambda item: (item.level, item.number, item.origin.model, item.origin.path, item.sample))
    return answers, gathered.skipped


def _complaint(item: Found) -> tuple[SkipReason, str] | None:
    """What keeps an answer from being judged at all."""
    text = (item.source or b"").strip()
    if text in (b"", b"None"):
        return SkipReason.NO_SOURCE, item.detail or "the archive has no source"
    if len(text) > LIMIT_BYTES or not _is_text(text):
        return SkipReason.NOT_TEXT, f"{len(text)} bytes"
    if not item.origin.model:
        return SkipReason.NO_MODEL, "write model: <name> in the entry of archives"
    if item.problem is None:
        return SkipReason.NO_PROBLEM_TEXT, "write problems_commit: <commit> in the entry of archives"
    if text == item.problem.strip():
        return SkipReason.SAME_AS_REFERENCE, ""
    return None


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _answer(item: Found) -> ArchivedAnswer:
    assert item.source is not None
    assert item.problem is not None
    return ArchivedAnswer(
        origin=item.origin,
        level=item.level,
        number=item.number,
        problem_sha256=hashlib.sha256(item.problem).hexdigest(),
        sample=item.sample,
        source=item.source.decode("utf-8"),
        claimed=item.claimed,
    )


def one_line(text: str) -> str:
    """A text's printable part without line breaks, cut."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:DETAIL_CHARACTERS]


def counts(skipped: Iterable[SkippedAnswer]) -> str:
    """`3 link, 1 no_source`, or `none`."""
    found: dict[str, int] = {}
    for item in skipped:
        found[item.reason] = found.get(item.reason, 0) + 1
    return ", ".join(f"{number} {reason}" for reason, number in sorted(found.items())) or "none"

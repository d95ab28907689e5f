"""Committed transcripts: answers that are replayed by their place in an experiment, without key or network."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from hone.core.errors import ProviderError, RecordError, closest
from hone.core.files import read_records
from hone.llm.names import Target
from hone.records import Answer, Completion, Prompt, Sampling, Usage, Versioned

PRICE_SOURCE = "recorded"
PROBLEM = re.compile(r"([^/]+)/level(\d+)/(\d+)")
"""Start of a definition's name: source, level, number."""


class RecordedAnswer(Versioned):
    """One row of `resources/recorded/<transcript>.jsonl`; it holds no prompt, which may quote upstream source."""

    definition: str
    role: str
    turn: int
    sample: int
    prompt_digest: str
    """Of the prompt that it answered; another digest on replay marks the answer, and does not stop it."""
    response: str
    finish_reason: str = "stop"
    refusal: str = Field("", exclude_if=lambda value: not value)
    """The server's words where it refused the prompt."""
    model_label: str
    """Who wrote it, in words."""
    planted: str = ""
    """The flaw that was put in on purpose, empty where there is none."""
    usage: Usage | None = Usage()
    """Absent where the server did not count; all 0 where nobody did."""
    recorded_at: str = "1970-01-01T00:00:00Z"
    """UTC, ISO 8601; the epoch where it is not known. Fixed, so that a replay gives the same bytes each time."""

    @property
    def place(self) -> tuple[str, str, int, int]:
        """(definition, role, turn, sample): unique within a transcript."""
        return self.definition, self.role, self.turn, self.sample


class Transcript:
    """The rows of one transcript by their place."""

    def __init__(self, path: Path, rows: Iterable[RecordedAnswer]) -> None:
        """Raises RecordError where two rows have one place."""
        self.path = path
        self._rows: dict[tuple[str, str, int, int], RecordedAnswer] = {}
        for row in rows:
            if row.place in self._rows:
                raise RecordError(
                    f"two rows for {place_in_words(*row.place)}", where=str(path), remedy="delete one of them"
                )
            self._rows[row.place] = row

    def find(self, prompt: Prompt, sample: int) -> RecordedAnswer:
        """The row for a prompt's sample; raises ProviderError that lists what the transcript has instead."""
        row = self._rows.get((prompt.definition, prompt.role, prompt.turn, sample))
        if row is None:
            place = place_in_words(prompt.definition, prompt.role, prompt.turn, sample)
            raise ProviderError(
                f"the transcript has no answer for {place}",
                where=str(self.path),
                remedy=self._has(prompt.definition),
            )
        return row

    def last_turn(self, source: str, level: int, number: int) -> int | None:
        """The last turn that it answers of a problem; None: it has nothing of the problem."""
        start = f"{source}/level{level}/{number}_"
        return max((turn for definition, _, turn, _ in self._rows if definition.startswith(start)), default=None)

    def _has(self, definition: str) -> str:
        near = [place for place in self._rows if place[0] == definition]
        if not near:
            return self.problems_of(definition.partition("/")[0])
        groups: dict[tuple[str, int], list[int]] = {}
        for _, role, turn, sample in sorted(near):
            groups.setdefault((role, turn), []).append(sample)
        lines = [f"{role} turn {turn} samples {samples}" for (role, turn), samples in groups.items()]
        return f"set the experiment's samples and turns to what it has for this problem: {'; '.join(lines)}"

    def problems_of(self, source: str) -> str:
        """What to do where the transcript lacks a problem of the source: the rest may be here, or nothing of it."""
        found = {match.groups() for place in self._rows if (match := PROBLEM.match(place[0]))}
        if there := sorted((int(level), int(number)) for of, level, number in found if of == source):
            listed = ", ".join(f"level{level}/{number}" for level, number in there)
            return f"write problems: [{listed}] in the experiment: those are the ones that it answers"
        others = ", ".join(sorted({of for of, _, _ in found})) or "no source"
        return (
            f"it answers problems of {others}: name a model that can be asked, or use method: files with your kernels"
        )


def place_in_words(definition: str, role: str, turn: int, sample: int) -> str:
    """A place in words."""
    return f"{definition}, role {role}, turn {turn}, sample {sample}"


def transcript_path(name: str, folder: Path) -> Path:
    """`<folder>/<name>.jsonl`; raises ProviderError where there is none."""
    path = folder / f"{name}.jsonl"
    if not path.is_file():
        known = [file.stem for file in sorted(folder.glob("*.jsonl"))]
        raise ProviderError(
            f"no transcript '{name}'{closest(name, iter(known))}",
            where=f"recorded/{name}",
            remedy=f"name a file of {folder} without .jsonl",
        )
    return path


def read_transcript(name: str, folder: Path) -> Transcript:
    """Read a transcript; raises ProviderError where there is none, RecordError with file and line where damaged."""
    path = transcript_path(name, folder)
    try:
        rows = read_records(path, RecordedAnswer)
    except RecordError as error:
        remedy = "restore the file, for instance with `git checkout`, or correct that line"
        raise RecordError(error.problem, where=error.where, remedy=remedy) from None
    return Transcript(path, rows)


def replay(prompt: Prompt, sample: int, transcript: Transcript, target: Target, sampling: Sampling) -> Answer:
    """The recorded answer in its place, free of charge; raises ProviderError as Transcript.find does."""
    row = transcript.find(prompt, sample)
    request = target.request(prompt, sample, sampling)
    completion = Completion(
        key=request.key,
        request=request,
        response=row.response,
        finish_reason=row.finish_reason,
        model_returned=row.model_label,
        usage=row.usage,
        cost_usd=0.0,
        price_source=PRICE_SOURCE,
        latency_s=0.0,
        refusal=row.refusal,
        created_at=row.recorded_at,
    )
    return Answer(
        experiment=prompt.experiment,
        model=target.name,
        definition=prompt.definition,
        role=prompt.role,
        turn=prompt.turn,
        sample=sample,
        prompt_digest=prompt.digest,
        prompt_differs=row.prompt_digest != prompt.digest,
        completion=completion,
    )

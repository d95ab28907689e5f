"""Answers of a model turned into a transcript that can be committed and replayed."""

from __future__ import annotations

from collections.abc import Iterable

from hone.llm.recorded import RecordedAnswer
from hone.records import Answer


def record(answers: Iterable[Answer]) -> list[RecordedAnswer]:
    """One row an answer, sorted by place, without the prompts; replaying the rows gives the same responses."""
    rows = [
        RecordedAnswer(
            definition=answer.definition,
            role=answer.role,
            turn=answer.turn,
            sample=answer.sample,
            prompt_digest=answer.prompt_digest,
            response=answer.completion.response,
            finish_reason=answer.completion.finish_reason,
            refusal=answer.completion.refusal,
            model_label=answer.completion.model_returned,
            usage=answer.completion.usage,
            recorded_at=answer.completion.created_at,
        )
        for answer in answers
    ]
    return sorted(rows, key=lambda row: row.place)

"""The chat-completions wire format: requests to bodies, bodies to replies; used live and for batch files alike."""

from __future__ import annotations

import json
import re
from typing import Any

from hone.llm.provider import Reply, TransientError
from hone.records import LLMRequest, Usage

NEW_LIMIT = re.compile(r"(.*/)?(o\d|gpt-[5-9])")
"""Reasoning models, whoever serves them: they refuse `max_tokens`."""


def body_of(request: LLMRequest) -> dict[str, Any]:
    """The JSON body of a request; a parameter that is not set is not sent.

    `max_tokens` goes out as `max_completion_tokens` to OpenAI itself, which deprecated the old name, and to o-series
    and GPT-5 models elsewhere; other compatible servers know only `max_tokens`.
    """
    body: dict[str, Any] = {"model": request.model, "messages": [message.model_dump() for message in request.messages]}
    body.update(request.sampling.model_dump(exclude_none=True))
    if "max_tokens" in body and (request.provider == "openai" or NEW_LIMIT.match(request.model)):
        body["max_completion_tokens"] = body.pop("max_tokens")
    return body


def parse_body(content: bytes, latency_s: float) -> Reply:
    """Bytes of a response to a Reply; raises TransientError where they are not a complete answer."""
    try:
        body = json.loads(content)
    except ValueError as error:
        raise TransientError(f"malformed body: {error}") from None
    return reply_of(body, latency_s)


def reply_of(body: Any, latency_s: float) -> Reply:
    """A decoded `chat.completion` object to a Reply; raises TransientError as `parse_body` does."""
    if not isinstance(body, dict):
        raise TransientError("malformed body: not a JSON object")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        detail = f": {error_text(body)}" if "error" in body else ""
        raise TransientError(f"malformed body: no choices{detail}")
    message, reason = choices[0].get("message"), choices[0].get("finish_reason")
    if not isinstance(message, dict) or not isinstance(reason, str):
        raise TransientError("malformed body: choice without message or finish_reason")
    text = message.get("content") or message.get("refusal") or ""
    if not isinstance(text, str):
        raise TransientError("malformed body: content is not text")
    model = body.get("model")
    return Reply(_encodable(text), reason, model if isinstance(model, str) else "", _usage(body), latency_s)


def _usage(body: dict[str, Any]) -> Usage | None:
    """The server's counts; None where it sent none that can be read: the answer may be paid for all the same.

    No prompt has 0 tokens: LiteLLM writes zeros where the server behind it counts nothing.
    """
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return None
    read, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if not read or written is None:
        return None
    return Usage(
        input_tokens=read,
        cached_input_tokens=_count(usage.get("prompt_tokens_details"), "cached_tokens") or 0,
        output_tokens=written,
        reasoning_tokens=_count(usage.get("completion_tokens_details"), "reasoning_tokens") or 0,
    )


def _count(counts: Any, name: str) -> int | None:
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _encodable(text: str) -> str:
    """JSON may hold half a surrogate pair, UTF-8 may not: such a half becomes the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def error_text(body: Any) -> str:
    """The server's own words in an error body, cut to 500 characters."""
    error = body.get("error", body) if isinstance(body, dict) else body
    message = error.get("message") if isinstance(error, dict) else error
    return str(message if message else error)[:500]

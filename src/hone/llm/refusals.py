"""What a server's error says: that it refuses one prompt, or what helps where it refuses every one.

Servers and proxies agree neither on status nor on code: LiteLLM, for one, says 400 of a wrong key. So the words decide
before the status does.
"""

from __future__ import annotations

import re
from typing import Any

from hone.llm.wire import error_text

PROMPT_STATUSES = (400, 403, 413, 422)
FILTERED = re.compile(
    r"content.?(filter|policy|management)|responsible.?ai|invalid_prompt|moderation|flagged", re.IGNORECASE
)
TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum context|(prompt|input|message)s? (is|are) too long|"
    r"reduce the length|too many (input |prompt )?tokens|exceeds? the maximum number of (input )?tokens",
    re.IGNORECASE,
)
OUTPUT_LIMIT = re.compile(r"max_(completion_|new_|output_)?tokens\W+(is|are) too large", re.IGNORECASE)
"""The sampling asks for more output than there is room for: that is so for every prompt."""
SHARES = re.compile(r"(\d+) in the messages, (\d+) in the completion")

REMEDIES = (
    (r"insufficient_quota", "the account has no credit left: top it up, then run the same command again"),
    (r"api.?key|virtual key|no connected db|no_db_connection|authenticat|unauthorized|credential", "check the key"),
    (
        r"(invalid|unknown|no such) model|model_not_found|model\b.{0,200}\b(not found|not exist|not a valid)",
        "check the model's name: GET <base URL>/models lists those that the server has",
    ),
    (r"max_tokens|temperature|top_p|reasoning_effort|\bseed\b|unsupported (parameter|value)|extra_forbidden",
     "check the experiment's sampling parameters: this model does not take one of them"),
)  # fmt: skip
"""Words of the server, in this order -> what helps."""
LESS_OUTPUT = "set a smaller sampling.max_tokens: prompt and answer share the model's context"
BY_STATUS = {
    401: "check the key",
    403: "this key may not use this model or service",
    404: "no such model or address: check the model's name and the base URL",
}
ELSE = "the server's words say why; often it is a sampling parameter that this model does not take"


def refusal(status: int, body: Any) -> str:
    """Why the server refuses just this prompt, in its words; empty where the error is about something else."""
    said = _words(body)
    about_it = FILTERED.search(said) or (TOO_LONG.search(said) and not _asks_too_much(said))
    return f"HTTP {status}: {error_text(body)}" if status in PROMPT_STATUSES and about_it else ""


def remedy(status: int, body: Any) -> str:
    """What helps against an error that no further try can help."""
    said = _words(body)
    if _asks_too_much(said):
        return LESS_OUTPUT
    known = (text for pattern, text in REMEDIES if re.search(pattern, said, re.IGNORECASE))
    return next(known, BY_STATUS.get(status, ELSE))


def _asks_too_much(said: str) -> bool:
    """Whether it is the answer, as long as it may be, that leaves no room."""
    if shares := SHARES.search(said):
        return int(shares[2]) > int(shares[1])
    return bool(OUTPUT_LIMIT.search(said))


def _words(body: Any) -> str:
    """Message, code and type of an error body."""
    error = body.get("error", body) if isinstance(body, dict) else body
    marks = [str(error.get(name) or "") for name in ("code", "type")] if isinstance(error, dict) else []
    return " ".join([error_text(body), *marks])

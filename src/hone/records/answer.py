"""What models are asked and what they answer: prompts, requests, completions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hone.records.base import Record, Versioned, digest


class Message(Record):
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


class Prompt(Versioned):
    """What one role of a method is asked at one turn about one definition."""

    experiment: str
    definition: str
    role: str
    turn: int
    samples: tuple[int, ...]
    """The sample indices that are asked with exactly these messages."""
    messages: tuple[Message, ...]
    repeat: int = Field(0, exclude_if=lambda value: value == 0)
    """How many earlier turns of the sample had the same messages: each is asked anew."""

    @property
    def digest(self) -> str:
        """Digest of the messages alone."""
        return digest([message.model_dump() for message in self.messages])


class Sampling(Record):
    """Sampling parameters as the chat-completions interface names them; an absent one is not sent."""

    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int | None = Field(None, ge=1)
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None
    seed: int | None = None


ADDRESSED = ("openai", "recorded")
"""Providers whose address is part of the ledger's key: they are no service that the user has named."""


class LLMRequest(Record):
    """One request to a model; its digest is the ledger's key."""

    provider: str
    """`openai`, `recorded`, or the service of `openai-api/<service>/<model>`."""
    base_url: str
    model: str
    messages: tuple[Message, ...]
    sampling: Sampling
    sample: int
    """Index among repeated samples of the same prompt."""
    repeat: int = Field(0, exclude_if=lambda value: value == 0)
    """How many earlier turns of the sample had the same messages."""

    @property
    def key(self) -> str:
        """Digest of the request. Of a service the name counts and not the address, which may change."""
        return digest(self.model_dump(mode="json", exclude=None if self.provider in ADDRESSED else {"base_url"}))

    @property
    def keys(self) -> tuple[str, ...]:
        """The key, and the one that the ledger had before: with the address of a service."""
        return tuple(dict.fromkeys((self.key, digest(self.model_dump(mode="json")))))


class Usage(Record):
    """Tokens of one completion; the cached and reasoning ones are contained in input and output."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0


class FailedAttempt(Record):
    """A try at a request that gave no usable answer; listed because retries shift a distribution."""

    reason: str
    seconds: float


class Completion(Versioned):
    """One answered LLM call, as the ledger keeps it."""

    key: str
    """The request's key."""
    request: LLMRequest
    response: str
    finish_reason: str
    model_returned: str
    usage: Usage | None
    """Absent where the server did not count the tokens."""
    cost_usd: float
    """Where the tokens are not counted, the most that the answer can have cost: the spending limit counts that."""
    price_source: str
    """What the cost was computed with, such as `genai-prices 0.2.3` or the config's own price."""
    latency_s: float
    failed_attempts: tuple[FailedAttempt, ...] = ()
    refusal: str = Field("", exclude_if=lambda value: not value)
    """The server's words where it refused this prompt, filtered or too long: there is no answer."""
    created_at: str
    """UTC, ISO 8601."""

    @property
    def known_cost_usd(self) -> float | None:
        """What it cost; None where nobody knows. What can cost nothing at most costs nothing."""
        return self.cost_usd if self.usage is not None or self.cost_usd == 0 else None


class Answer(Versioned):
    """A completion in its place in an experiment."""

    experiment: str
    model: str
    """As in the config: `openai/o4-mini`, `recorded/<transcript>`."""
    definition: str
    role: str
    turn: int
    sample: int
    prompt_digest: str
    prompt_differs: bool = False
    """A recorded answer whose prompt is no longer the one that it was given to."""
    completion: Completion

"""The one thing that a provider of language models does, and the ways in which a try can fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from hone.records import LLMRequest, Usage


@dataclass(frozen=True)
class Reply:
    """What came back for one request.

    An empty `response` with finish_reason `length` is an answer: the model spent its tokens on reasoning. One with a
    `refusal` is none.
    """

    response: str
    finish_reason: str
    model_returned: str
    usage: Usage | None
    """None where the server did not count the tokens."""
    latency_s: float
    refusal: str = ""
    """The server's words where it refused the prompt: there is no answer."""


def refused(said: str, latency_s: float) -> Reply:
    """What stands for the answer to a prompt that the server refused."""
    return Reply("", "refused", "", None, latency_s, said)


class Provider(Protocol):
    """Anything that answers requests: a server, or a stand-in of a test."""

    def ask(self, request: LLMRequest) -> Reply:
        """One try, no retries. Raises TransientError where another try may help, ProviderError where none will."""
        ...


class TransientError(Exception):
    """One failed try that may be repeated."""

    def __init__(
        self, reason: str, *, kind: Literal["rate_limit", "server", "other"] = "other", wait_s: float | None = None
    ) -> None:
        """`wait_s` is how long the server asked to be left alone, None where it did not say."""
        super().__init__(reason)
        self.reason = reason
        self.kind = kind
        self.wait_s = wait_s


class StoppedError(Exception):
    """The run is ending (Ctrl-C, or another request failed for good): no new try is made."""

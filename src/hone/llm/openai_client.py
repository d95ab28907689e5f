"""Any OpenAI-compatible server through the `openai` package; one try a call, retries are `retry.py`'s."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hone.core.errors import ProviderError
from hone.llm.provider import Reply, TransientError, refused
from hone.llm.refusals import refusal, remedy
from hone.llm.retry import server_wait_s
from hone.llm.wire import body_of, error_text, parse_body
from hone.records import LLMRequest

if TYPE_CHECKING:
    import openai

RETRIED = (408, 409, 429)
"""Beside 5xx, as the openai package itself retries."""

CONNECT_S = 10.0
"""A server that takes no connection for so long is taken for down, however long its answers may take."""


class OpenAIProvider:
    """Chat completions of one server."""

    def __init__(self, base_url: str, api_key: str, timeout_s: float) -> None:
        """`timeout_s` is the longest silence of the server that a try waits through."""
        from openai import OpenAI, Timeout

        self._key = api_key
        patience = Timeout(timeout_s, connect=min(timeout_s, CONNECT_S))
        self._client = OpenAI(api_key=api_key, base_url=base_url, max_retries=0, timeout=patience)

    def ask(self, request: LLMRequest) -> Reply:
        """Send `request` once, with its ledger key as `Idempotency-Key`; raises as Provider.ask says."""
        import openai

        started_s = time.monotonic()
        try:
            raw = self._client.chat.completions.with_raw_response.create(
                **body_of(request), extra_headers={"Idempotency-Key": request.key}
            )
        except openai.APITimeoutError as error:
            slow = type(error.__cause__).__name__ == "ConnectTimeout"
            raise TransientError("connection: nobody answers at this address" if slow else "timeout") from None
        except openai.APIStatusError as error:
            if said := refusal(error.status_code, error.body):
                return refused(said.replace(self._key, "<key>"), time.monotonic() - started_s)
            raise self._status_error(error, request) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__
            raise TransientError(f"connection: {type(cause).__name__}: {cause}" if cause else "connection") from None
        return parse_body(raw.http_response.content, time.monotonic() - started_s)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _status_error(self, error: openai.APIStatusError, request: LLMRequest) -> Exception:
        status = error.status_code
        body = error.body if error.body is not None else error.message
        text = error_text(body).replace(self._key, "<key>")
        if (status in RETRIED or status >= 500) and error.code != "insufficient_quota":
            return TransientError(
                f"HTTP {status}: {text}",
                kind="rate_limit" if status == 429 else "server" if status >= 500 else "other",
                wait_s=server_wait_s(error.response.headers, time.time()),
            )
        where = f"{request.model} at {self._client.base_url}"
        return ProviderError(f"HTTP {status}: {text}", where=where, remedy=remedy(status, body))

"""Retries that honour the server: backoff with jitter, and one gate that all requests of the process go through."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from hone.core.errors import ProviderError
from hone.llm.provider import Provider, Reply, StoppedError, TransientError
from hone.records import FailedAttempt, LLMRequest


@dataclass(frozen=True)
class Waits:
    """How long to wait after a failed try."""

    first_s: float = 1.0
    """Upper end of the first random wait; it doubles with every try."""
    longest_s: float = 60.0
    pause_s: float = 1.0
    """After a 429 or 5xx without Retry-After no request of the process goes out for so long."""
    longest_server_s: float = 900.0
    """A server that asks for more ends the run: the same command goes on later."""


def server_wait_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Seconds that the server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date.

    `now_s` is seconds since the epoch. None where neither header can be read.
    """
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            wait_s = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        if math.isfinite(wait_s):
            return max(wait_s, 0.0)
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now_s, 0.0)


class Gate:
    """How many requests are in flight, and until when none may start.

    Additive increase, multiplicative decrease: the first 429 of a burst halves the width, as many successes as it is
    wide add one again.
    """

    def __init__(self, width: int, stop: threading.Event) -> None:
        self.width = width
        self._full = width
        self._active = 0
        self._streak = 0
        self._open_at_s = 0.0
        self._stop = stop
        self._changed = threading.Condition()

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Wait for a place; raises StoppedError when the run ends."""
        with self._changed:
            while True:
                if self._stop.is_set():
                    raise StoppedError
                closed_s = self._open_at_s - time.monotonic()
                if closed_s <= 0 and self._active < self.width:
                    break
                self._changed.wait(min(closed_s, 0.5) if closed_s > 0 else 0.5)
            self._active += 1
        try:
            yield
        finally:
            with self._changed:
                self._active -= 1
                self._changed.notify_all()

    def failed(self, error: TransientError, waits: Waits) -> None:
        """Close the gate as the failure asks: for 429 and 5xx until the server's time, or briefly; for 429 narrower."""
        if error.kind == "other":
            return
        pause_s = waits.pause_s if error.wait_s is None else error.wait_s
        with self._changed:
            now_s = time.monotonic()
            self._streak = 0
            if error.kind == "rate_limit" and now_s >= self._open_at_s:
                self.width = max(1, self.width // 2)
            self._open_at_s = max(self._open_at_s, now_s + pause_s)

    def succeeded(self) -> None:
        """Count one success towards a wider gate."""
        with self._changed:
            self._streak += 1
            if self._streak >= self.width and self.width < self._full:
                self._streak = 0
                self.width += 1
                self._changed.notify_all()


def ask_with_retries(
    provider: Provider, request: LLMRequest, *, max_attempts: int, waits: Waits, gate: Gate, stop: threading.Event
) -> tuple[Reply, tuple[FailedAttempt, ...]]:
    """Ask until answered; the failed tries come back with the reply, because retries shift a distribution.

    Raises ProviderError after `max_attempts` tries or at once where no retry can help, StoppedError when `stop` is
    set between tries.
    """
    import tenacity

    failed: list[FailedAttempt] = []
    backoff = tenacity.wait_random_exponential(multiplier=waits.first_s, max=waits.longest_s)

    def wait_s(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_s = error.wait_s if isinstance(error, TransientError) else None
        return max(asked_s or 0.0, backoff(state))

    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(max_attempts) | tenacity.stop_when_event_set(stop),
        wait=wait_s,
        retry=tenacity.retry_if_exception_type(TransientError),
        sleep=tenacity.sleep_using_event(stop),
    )
    try:
        return retrying(_try, provider, request, gate, waits, failed), tuple(failed)
    except tenacity.RetryError:
        if stop.is_set():
            raise StoppedError from None
        reasons = "; ".join(attempt.reason for attempt in failed[-3:])
        raise ProviderError(
            f"no answer after {len(failed)} tries, the last ones: {reasons}",
            where=f"{request.model} at {request.base_url}",
            remedy="what was answered is kept; run the same command again later, or raise llm.max_attempts",
        ) from None


def _try(provider: Provider, request: LLMRequest, gate: Gate, waits: Waits, failed: list[FailedAttempt]) -> Reply:
    with gate.enter():
        started_s = time.monotonic()
        try:
            reply = provider.ask(request)
        except TransientError as error:
            failed.append(FailedAttempt(reason=error.reason, seconds=time.monotonic() - started_s))
            gate.failed(error, waits)
            if error.wait_s is not None and error.wait_s > waits.longest_server_s:
                raise ProviderError(
                    f"the server asks to wait {error.wait_s:.0f} s ({error.reason})",
                    where=f"{request.model} at {request.base_url}",
                    remedy="what was answered is kept; run the same command again after that time",
                ) from None
            raise
        gate.succeeded()
        return reply

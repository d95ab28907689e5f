"""Retries that honour the server: backoff with jitter, and one gate that all requests of the process go through."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime

from hone.core.errors import ProviderError
from hone.llm.provider import Provider, Reply, StoppedError, TransientError
from hone.records import Completion, FailedAttempt, LLMRequest


@dataclass(frozen=True)
class Waits:
    """How long to wait after a failed try."""

    first_s: float = 1.0
    """Upper end of the first random wait; it doubles with every try."""
    longest_s: float = 60.0
    pause_s: float = 1.0
    """After a 429 or 5xx without Retry-After no request of the process goes out for so long. It doubles with every 429
    that follows without an answer between them, up to `longest_s`: a limit may be one per minute."""
    limited_s: float = 900.0
    """A server that answers nothing but 429 for so long ends the run."""
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
        self._bursts = 0
        self._limited_since_s: float | None = None
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
        with self._changed:
            now_s = time.monotonic()
            self._streak = 0
            growing_s = min(waits.pause_s * 2.0**self._bursts, waits.longest_s)
            pause_s = growing_s if error.wait_s is None else error.wait_s
            if error.kind == "rate_limit":
                if self._limited_since_s is None:
                    self._limited_since_s = now_s
                if now_s >= self._open_at_s:
                    self.width = max(1, self.width // 2)
                    self._bursts += 1
            self._open_at_s = max(self._open_at_s, now_s + pause_s)

    def succeeded(self) -> None:
        """Count one success towards a wider gate."""
        with self._changed:
            self._streak += 1
            self._bursts = 0
            self._limited_since_s = None
            if self._streak >= self.width and self.width < self._full:
                self._streak = 0
                self.width += 1
                self._changed.notify_all()

    def limited_s(self) -> float:
        """Seconds since the first 429 that no answer has followed; 0 without one."""
        with self._changed:
            return 0.0 if self._limited_since_s is None else time.monotonic() - self._limited_since_s


class Notes:
    """Says the first failure of each kind at once, because tries go on for minutes."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def failed(self, error: TransientError, request: LLMRequest, going_on: str) -> None:
        """A line on stderr, unless one of its kind was said: `connection`, `timeout`, `HTTP 429` …"""
        kind = error.reason.partition(":")[0]
        with self._lock:
            if kind in self._said:
                return
            self._said.add(kind)
        hint = "; is the server running there?" if kind == "connection" else ""
        sys.stderr.write(f"note: {_where(request)}: {error.reason}{hint}; it is tried {going_on}\n")
        sys.stderr.flush()

    def refused(self, completion: Completion, entry: str) -> None:
        """A line for each prompt that the server refused; `entry` is its place in the ledger."""
        sys.stderr.write(
            f"note: {_where(completion.request)}: refused a prompt, which counts as unanswered: {completion.refusal}\n"
            f"  to have it asked again, delete {entry}\n"
        )


@dataclass(frozen=True)
class Asking:
    """What all requests of a process share when they are tried again."""

    max_attempts: int
    waits: Waits
    gate: Gate
    stop: threading.Event
    notes: Notes = field(default_factory=Notes)


def ask_with_retries(
    provider: Provider, request: LLMRequest, asking: Asking
) -> tuple[Reply, tuple[FailedAttempt, ...]]:
    """Ask until answered; the failed tries come back with the reply, because retries shift a distribution.

    Raises ProviderError after `max_attempts` tries, those not counted that ended with 429, after `waits.limited_s`
    of nothing but 429, or at once where no retry can help; StoppedError when `stop` is set between tries.
    """
    import tenacity

    waits, stop = asking.waits, asking.stop
    failed: list[tuple[TransientError, float]] = []
    backoff = tenacity.wait_random_exponential(multiplier=waits.first_s, max=waits.longest_s)

    def wait_s(state: tenacity.RetryCallState) -> float:
        return max(failed[-1][0].wait_s or 0.0, backoff(state))

    def enough(_state: tenacity.RetryCallState) -> bool:
        return stop.is_set() or sum(error.kind != "rate_limit" for error, _ in failed) >= asking.max_attempts

    retrying = tenacity.Retrying(
        stop=enough,
        wait=wait_s,
        retry=tenacity.retry_if_exception_type(TransientError),
        sleep=tenacity.sleep_using_event(stop),
    )
    try:
        reply = retrying(_try, provider, request, asking, failed)
    except tenacity.RetryError:
        if stop.is_set():
            raise StoppedError from None
        raise _unanswered([error.reason for error, _ in failed], request) from None
    return reply, tuple(FailedAttempt(reason=error.reason, seconds=seconds) for error, seconds in failed)


def _unanswered(reasons: Sequence[str], request: LLMRequest) -> ProviderError:
    """After the last try; each of the last reasons is told once."""
    told = "; ".join(dict.fromkeys(reasons[-3:]))
    tries = "1 try" if len(reasons) == 1 else f"{len(reasons)} tries"
    remedy = "run the same command again later, or raise llm.max_attempts"
    if all(reason.startswith("connection") for reason in reasons):
        remedy = "start the server, or correct its address, then run the same command again"
    problem = f"no answer after {tries}: {told}"
    return ProviderError(problem, where=_where(request), remedy=f"what was answered is kept; {remedy}")


def _try(provider: Provider, request: LLMRequest, asking: Asking, failed: list[tuple[TransientError, float]]) -> Reply:
    with asking.gate.enter():
        started_s = time.monotonic()
        try:
            reply = provider.ask(request)
        except TransientError as error:
            failed.append((error, time.monotonic() - started_s))
            asking.gate.failed(error, asking.waits)
            _raise_lasting(error, request, asking)
            if error.kind == "rate_limit":
                asking.notes.failed(error, request, f"for up to {asking.waits.limited_s / 60:.0f} minutes")
            elif asking.max_attempts > 1:
                asking.notes.failed(error, request, f"up to {asking.max_attempts} times in all")
            raise
        asking.gate.succeeded()
        return reply


def _raise_lasting(error: TransientError, request: LLMRequest, asking: Asking) -> None:
    """Raise ProviderError where the server wants more time than a run waits."""
    waits, limited_s = asking.waits, asking.gate.limited_s()
    if error.wait_s is not None and error.wait_s > waits.longest_server_s:
        raise ProviderError(
            f"the server asks to wait {error.wait_s:.0f} s ({error.reason})",
            where=_where(request),
            remedy="what was answered is kept; run the same command again after that time",
        ) from None
    if error.kind == "rate_limit" and limited_s > waits.limited_s:
        raise ProviderError(
            f"the server has answered nothing but 429 for {limited_s:.0f} s: {error.reason}",
            where=_where(request),
            remedy="what was answered is kept; run the same command again later, or with fewer --max-connections",
        ) from None


def _where(request: LLMRequest) -> str:
    return f"{request.model} at {request.base_url}"

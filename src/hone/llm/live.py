"""Asking a server for many answers at once, each exactly once, with everything that was answered kept."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hone.config.llm import LLM
from hone.core.errors import on_failure
from hone.llm.cost import Tariff, find_tariff, most_usd
from hone.llm.ledger import Ledger
from hone.llm.provider import Provider, Reply, StoppedError
from hone.llm.retry import Asking, Gate, Waits, ask_with_retries
from hone.llm.spending import Budget
from hone.records import Completion, FailedAttempt, LLMRequest

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Session:
    """What all requests of one run share."""

    provider: Provider
    ledger: Ledger
    budget: Budget
    llm: LLM
    asking: Asking

    def answer(self, request: LLMRequest, *, wait: bool) -> Completion | None:
        """The ledger's answer to `request`, asked for where there is none yet.

        None where another process is asking it and `wait` is not set. The order is what keeps the promises: claim,
        look again, price, disk space, budget, and only then send.
        """
        tariff, stop = find_tariff(request, self.llm.prices), self.asking.stop
        with self.ledger.claim(request.key, stop, wait=wait) as held:
            found = self.ledger.get(request.key)
            if found is not None or not held:
                return found
            with self.ledger.slot(request) as slot:
                self.budget.reserve(request.key, most_usd(request, tariff), stop)
                with on_failure(lambda: self.budget.release(request.key)):
                    reply, failed = ask_with_retries(self.provider, request, self.asking)
                completion = completed(request, reply, tariff, failed)
                self.budget.keep(completion, slot)
        if completion.refusal:
            self.asking.notes.refused(completion, str(self.ledger.path(completion.key)))
        return completion


def completed(
    request: LLMRequest,
    reply: Reply,
    tariff: Tariff,
    failed: tuple[FailedAttempt, ...] = (),
    *,
    batch: bool = False,
) -> Completion:
    """The record of an answered request, with its cost: the most that it can be where tokens are not counted."""
    source = tariff.source(batch=batch)
    return Completion(
        key=request.key,
        request=request,
        response=reply.response,
        finish_reason=reply.finish_reason,
        model_returned=reply.model_returned,
        usage=reply.usage,
        cost_usd=tariff.cost_usd(reply.usage, batch=batch) if reply.usage else most_usd(request, tariff, reply),
        price_source=source if reply.usage else f"{source}, at most: tokens not counted",
        latency_s=reply.latency_s,
        failed_attempts=failed,
        refusal=reply.refusal,
        created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
    )


def ask_all(
    requests: Mapping[str, LLMRequest],
    provider: Provider,
    ledger: Ledger,
    llm: LLM,
    *,
    waits: Waits | None = None,
    progress: bool = False,
) -> dict[str, Completion]:
    """Answers to `requests` (ledger key -> request), `llm.concurrency` at a time.

    When one request fails for good, or on Ctrl-C, no further request and no further try is started, the tries in
    flight are finished and kept, and then the first error is raised.
    """
    for request in requests.values():
        find_tariff(request, llm.prices)
    stop = threading.Event()
    session = Session(
        provider=provider,
        ledger=ledger,
        budget=Budget(ledger, llm.spending_limit_usd),
        llm=llm,
        asking=Asking(llm.max_attempts, waits or Waits(), Gate(llm.concurrency, stop), stop),
    )
    answers: dict[str, Completion] = {}
    with _progress(len(requests), progress) as tick:
        # What another process is asking is left to it and looked at last, so that two processes share the work.
        for wait in (False, True):
            rest = [request for key, request in requests.items() if key not in answers]
            for completion in _run(session, rest, wait=wait):
                if completion is not None:
                    answers[completion.key] = completion
                    tick(1)
    return answers


def _run(session: Session, requests: Sequence[LLMRequest], *, wait: bool) -> Iterator[Completion | None]:
    """Results as they come; raises the first error once all that is in flight has ended."""
    with ThreadPoolExecutor(session.llm.concurrency, thread_name_prefix="llm") as pool:
        futures = [pool.submit(session.answer, request, wait=wait) for request in requests]
        with on_failure(lambda: pool.shutdown(wait=False, cancel_futures=True)), on_failure(session.asking.stop.set):
            try:
                for future in as_completed(futures):
                    # A thread that only stopped is not an error of its own: the one that it stopped for follows.
                    if not isinstance(future.exception(), StoppedError):
                        yield future.result()
            except KeyboardInterrupt:
                sys.stderr.write("finishing the requests in flight; what they answer is kept\n")
                raise


@contextmanager
def _progress(total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar on stderr where that is a terminal, else nothing."""
    if not (shown and sys.stderr.isatty()):
        yield lambda _count: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("asking", total=total)
        yield lambda count: bar.advance(task, count)

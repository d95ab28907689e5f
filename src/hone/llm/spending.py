"""The spending limit: no request is sent that could bring what the ledger's answers cost above it.

`<ledger>/spending.json` holds the sum so far and what the requests in flight may cost at most. It is changed only
under a lock, by all processes that share the ledger. A reservation lives as long as the claim on its key is held, so
that a killed process blocks nobody. What a provider may charge for a try that timed out is not known here and not
counted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel, ConfigDict, Field

from hone.core.errors import RecordError, SpendingLimitError
from hone.core.files import read_record, write_text
from hone.llm.ledger import Ledger, Slot, acquire, new_lock
from hone.llm.provider import StoppedError
from hone.records import Completion

ROUNDING_USD = 1e-9


class Tally(BaseModel):
    """The state of `spending.json`: derived from the ledger's entries, so it carries no version."""

    model_config = ConfigDict(extra="forbid")

    entries: int = 0
    """Ledger entries that are in `spent_usd`; another number of files means that the sum must be taken again."""
    spent_usd: float = 0.0
    reserved_usd: dict[str, float] = Field(default_factory=dict)
    """Ledger key of a request in flight -> the most that it may cost."""


class Budget:
    """What may still be spent on one ledger."""

    def __init__(self, ledger: Ledger, limit_usd: float, *, poll_s: float = 0.2) -> None:
        self._ledger = ledger
        self._limit_usd = limit_usd
        self._poll_s = poll_s
        self._path = ledger.folder / "spending.json"
        self._counted = False

    def reserve(self, key: str, usd: float, stop: threading.Event) -> None:
        """Set `usd` aside for the request `key`, whose claim the caller holds.

        Waits while only what others have set aside stands in the way. Raises SpendingLimitError where what is spent
        already does, StoppedError when `stop` is set while waiting, RecordError where an entry's cost cannot be read.
        """
        while True:
            if stop.is_set():
                raise StoppedError
            with self._changing() as tally:
                others_usd = sum(amount for other, amount in tally.reserved_usd.items() if other != key)
                if others_usd and tally.spent_usd + others_usd + usd > self._limit_usd:
                    others_usd = self._drop_abandoned(tally, key)
                if tally.spent_usd + usd > self._limit_usd + ROUNDING_USD:
                    raise self._error(tally.spent_usd, usd)
                if tally.spent_usd + others_usd + usd <= self._limit_usd + ROUNDING_USD:
                    tally.reserved_usd[key] = usd
                    return
            stop.wait(self._poll_s)

    def keep(self, completion: Completion, slot: Slot) -> bool:
        """Make the answer an entry and count its cost, in one step for all who look at the tally.

        False where there was an entry already. Raises MachineError as Slot.commit does.
        """
        with self._changing() as tally:
            new = slot.commit(completion)
            if new:
                _count(tally, completion)
            tally.reserved_usd.pop(completion.key, None)
            return new

    def release(self, key: str) -> None:
        """Give back what was set aside for a request that got no answer."""
        with self._changing() as tally:
            tally.reserved_usd.pop(key, None)

    @contextmanager
    def _changing(self) -> Iterator[Tally]:
        """The tally under its lock; written back when the block ends, unless it raises."""
        lock = new_lock(self._path.with_suffix(".lock"))
        acquire(lock)
        try:
            tally = self._read()
            yield tally
            write_text(self._path, tally.model_dump_json() + "\n")
        finally:
            lock.release()

    def _read(self) -> Tally:
        try:
            tally = read_record(self._path, Tally) if self._path.exists() else Tally()
        except RecordError as error:
            remedy = "delete the file when nothing is running: it is computed again from the ledger's entries"
            raise RecordError(error.problem, where=error.where, remedy=remedy) from None
        if not self._counted:
            if tally.entries != self._ledger.count():
                tally = self._sum_again(tally)
            self._counted = True
        return tally

    def _sum_again(self, tally: Tally) -> Tally:
        costs = {entry.key: entry.cost_usd for entry in self._ledger.entries()}
        reserved = {key: usd for key, usd in tally.reserved_usd.items() if key not in costs}
        return Tally(entries=len(costs), spent_usd=sum(costs.values()), reserved_usd=reserved)

    def _drop_abandoned(self, tally: Tally, mine: str) -> float:
        """Forget what dead processes had set aside; returns what the others, still alive, have."""
        for key in [key for key in tally.reserved_usd if key != mine]:
            if not self._ledger.claimed(key):
                entry = self._ledger.get(key)
                if entry is not None:
                    _count(tally, entry)
                del tally.reserved_usd[key]
        return sum(usd for key, usd in tally.reserved_usd.items() if key != mine)

    def _error(self, spent_usd: float, usd: float) -> SpendingLimitError:
        zero = " (its default: nothing that costs money may be asked)" if self._limit_usd == 0 else ""
        return SpendingLimitError(
            f"the next request could cost ${usd:.4f}, the ledger's answers cost ${spent_usd:.4f}, and the limit is "
            f"${self._limit_usd:.2f}{zero}; it was not sent, and earlier answers are kept",
            where="llm.spending_limit_usd",
            remedy="raise the limit (`hone run --spending-limit-usd`), or set the experiment's sampling.max_tokens "
            "(`--max-tokens`): without it, 131,072 tokens count",
        )


def _count(tally: Tally, completion: Completion) -> None:
    tally.entries += 1
    tally.spent_usd += completion.cost_usd

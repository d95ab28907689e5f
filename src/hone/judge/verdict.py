"""How judging one solution ends early."""

from __future__ import annotations

from hone.records import Status

DETAIL_CHARACTERS = 4_000


class Verdict(Exception):
    """The status is known: raised wherever that is noticed, caught where the trace is written."""

    def __init__(self, status: Status, detail: str) -> None:
        self.status = status
        self.detail = "".join(c for c in detail if c.isprintable() or c in "\n\t")[:DETAIL_CHARACTERS].strip()
        super().__init__(f"{status.value}: {self.detail}")


class UnsuitedVerdict(Verdict):
    """NOT_JUDGED for what this solution needs; others of the same definition may do without."""

    def __init__(self, detail: str) -> None:
        super().__init__(Status.NOT_JUDGED, detail)

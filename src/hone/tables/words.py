"""Numbers as the sentences of findings say them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

from hone.analysis.render import number
from hone.tables.row import TableRow

R = TypeVar("R", bound=TableRow)


def of(part: int, whole: int, what: str = "") -> str:
    """`3 of 8 kernels`."""
    return f"{part} of {whole} {what}".rstrip()


def plural(count: int, what: str) -> str:
    """`1 kernel`, `2 kernels`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def percent(share: float) -> str:
    """A share between 0 and 1, such as `38 %`."""
    return f"{100 * share:.0f} %"


def span(values: Iterable[float]) -> str:
    """`1.2 to 3.4`, or one number where they are the same; NaN are left out, and without any it is `unknown`."""
    found = sorted(known(values))
    ends = list(dict.fromkeys(number(value) for value in (found[0], found[-1]))) if found else ["unknown"]
    return " to ".join(ends)


def is_known(value: float) -> bool:
    """Whether a cell holds a number: it is not NaN."""
    return not math.isnan(value)


def known(values: Iterable[float]) -> list[float]:
    """Those that are not NaN."""
    return [value for value in values if is_known(value)]


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part) if names else ""


def estimate(value: float, low: float, high: float) -> str:
    """`0.38 (0.14 to 0.69)`; `?` where only bounds are known, empty where nothing is."""
    if math.isnan(low):
        return number(value) if not math.isnan(value) else ""
    return f"{'?' if math.isnan(value) else number(value)} ({number(low)} to {number(high)})"


def share_of(share: float, whole: int, what: str) -> str:
    """`3 of 8 problems`, or `38 % of 8 problems` where the share is a mean that is no whole number of them."""
    count = share * whole
    return of(round(count), whole, what) if abs(count - round(count)) < 1e-6 else f"{percent(share)} of {whole} {what}"


def widest(rows: Sequence[R], first: str, *others: str) -> dict[str, list[R]]:
    """Value of the column `first` -> the rows of its largest group that agrees in the `others`; the first of equals."""
    groups: dict[tuple[object, ...], list[R]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in (first, *others)), []).append(row)
    found: dict[str, list[R]] = {}
    for key, group in groups.items():
        if len(group) > len(found.get(str(key[0]), ())):
            found[str(key[0])] = group
    return found

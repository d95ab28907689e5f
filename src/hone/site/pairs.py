"""Two sides on the same problems: who solves which, and the ratio of their best speedups with its interval."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hone.site.entries import Entry, has_number
from hone.site.run import page_id
from hone.tables.run_comparison import paired


@dataclass(frozen=True)
class Side:
    """One run's experiment and model on one level of a source, over one baseline."""

    run: str
    experiment: str
    model: str
    level: str
    baseline: str
    asked: frozenset[str]
    """Problems that it was asked."""
    best: Mapping[str, float]
    """Problem -> speedup of its fastest correct answer; NaN where its time is doubtful or was not taken."""

    @property
    def key(self) -> str:
        """The same in every address of this side."""
        return page_id(self.run, self.experiment, self.model, self.level, self.baseline)

    def shown(self) -> dict[str, Any]:
        """As data of the page."""
        names = ("run", "experiment", "model", "level", "baseline")
        return {**{name: getattr(self, name) for name in names}, "key": self.key, "asked": len(self.asked)}


def sides(found: Iterable[Entry], run: str, baselines: Sequence[str]) -> list[Side]:
    """All sides of a run: of each experiment, model, level and baseline that anything was timed against."""
    groups: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in found:
        key = (entry.place.experiment, entry.place.model, str(entry.cells["level"]))
        groups.setdefault(key, []).append(entry)
    return [
        Side(run, *key, baseline, frozenset(item.place.definition for item in group), _best(group, baseline))
        for key, group in groups.items()
        for baseline in baselines
        if any(has_number(item.cells.get(f"speedup_{baseline}")) for item in group)
    ]


def _best(group: Sequence[Entry], baseline: str) -> dict[str, float]:
    best: dict[str, float] = {}
    for entry in group:
        if entry.cells["category"] != "correct":
            continue
        speedup = entry.cells.get(f"credited_{baseline}")
        value = float(speedup) if has_number(speedup) and speedup else math.nan
        known = best.get(entry.place.definition, math.nan)
        best[entry.place.definition] = value if math.isnan(known) else max(known, value)
    return best


def comparisons(found: Sequence[Side], confidence: float) -> list[dict[str, Any]]:
    """A row for each two sides that share a baseline and problems: what they share, and the paired differences."""
    return [
        _compared(one, two, confidence)
        for one, two in itertools.combinations(found, 2)
        if one.baseline == two.baseline and one.asked & two.asked
    ]


def _compared(one: Side, two: Side, confidence: float) -> dict[str, Any]:
    shared = one.asked & two.asked
    best = [{name: value for name, value in side.best.items() if name in shared} for side in (one, two)]
    result = paired((), len(shared), best[0], best[1], confidence)
    problems = [
        {"name": name, "id": page_id(name), "best": [_shown(side, name) for side in best]}
        for name in sorted(shared, key=_in_order)
    ]
    return {
        "sides": [one.key, two.key],
        "problems": problems,
        "solved": result.solved,
        "only": result.only,
        "p_value": result.p_value,
        "ratio": result.ratio,
        "interval": list(result.interval),
    }


def _in_order(name: str) -> list[tuple[int, str]]:
    """2 before 10."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", name)]


def _shown(best: Mapping[str, float], name: str) -> float | str:
    """`failed` without a correct answer, `untimed` where its time counts for nothing."""
    if name not in best:
        return "failed"
    return "untimed" if math.isnan(best[name]) else best[name]

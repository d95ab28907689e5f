"""Trajectories: the turns and rounds of one problem as a tree, with the best that was reached so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hone.config.experiments import UPSTREAM
from hone.site.entries import Entry, has_number
from hone.site.run import page_id


def trees(found: Sequence[Entry], baselines: Sequence[str]) -> list[dict[str, Any]]:
    """A tree for each experiment, model and problem with more than one turn."""
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in found:
        groups.setdefault(entry.place[:3], []).append(entry)
    return [_tree(key, group, baselines) for key, group in groups.items() if any(item.place.turn for item in group)]


def _tree(key: tuple[str, ...], group: Sequence[Entry], baselines: Sequence[str]) -> dict[str, Any]:
    # Rounds improve an existing kernel: it is what they are measured against.
    order = sorted(baselines, key=lambda name: name != UPSTREAM)
    baseline = next((name for name in order if any(has_number(_credited(item, name)) for item in group)), baselines[0])
    index = {entry.place: number for number, entry in enumerate(group)}
    nodes = [_node(entry, index.get(entry.parent) if entry.parent else None, baseline) for entry in group]
    return {
        **dict(zip(("experiment", "model", "definition"), key, strict=True)),
        "id": page_id(*key),
        "method": group[0].cells["method"],
        "problem_id": page_id(key[2]),
        "baseline": baseline,
        "nodes": nodes,
        "best": best_by_turn([(node["turn"], node["credited"]) for node in nodes]),
    }


def _node(entry: Entry, parent: int | None, baseline: str) -> dict[str, Any]:
    return {
        "id": entry.id,
        "turn": entry.place.turn,
        "sample": entry.place.sample,
        "parent": parent,
        "status": entry.cells["status"],
        "category": entry.cells["category"],
        "findings": entry.cells.get("findings") or "",
        "speedup": _number(entry.cells.get(f"speedup_{baseline}")),
        "credited": _number(_credited(entry, baseline)),
        "measured_on": entry.cells["measured_on"],
        "winner": entry.winner,
        "kept": entry.kept,
    }


def best_by_turn(credited: Sequence[tuple[int, float | None]]) -> list[float | None]:
    """For each turn from 0 the highest credited speedup up to it; None before the first one. Doubtful times are 0."""
    found: list[float | None] = []
    best: float | None = None
    for turn in range(max(turn for turn, _ in credited) + 1):
        values = [value for at, value in credited if at == turn and value]
        best = max([*values, *([best] if best is not None else [])], default=None)
        found.append(best)
    return found


def _credited(entry: Entry, baseline: str) -> float | None:
    return entry.cells.get(f"credited_{baseline}")


def _number(value: float | None) -> float | None:
    return value if has_number(value) else None

"""One row an answer, of all methods: what lists, problems and comparisons are made of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hone.analysis.frames import CATEGORY, SPEED_COLUMNS, Place, verdict_of
from hone.analysis.metrics import geometric_mean
from hone.analysis.trajectories import NOT_ASKED, Trajectory, Version
from hone.config.experiments import UPSTREAM
from hone.site.run import SiteRun, page_id

TEXTS = (
    *("id", "experiment", "method", "model", "definition", "status", "status_as_published", "category", "findings"),
    *("mode", "label", "measured_on", "solution"),
)
NUMBERS = ("level", "number", "turn", "sample", "latency_ms")
FLAGS = ("sound", "prompt_differs")


@dataclass(frozen=True)
class Entry:
    """One answer and what became of it."""

    place: Place
    cells: Mapping[str, Any]
    """As in `analysis.frames`; `measured_on` says `all workloads`, or `suite` where no others were judged."""
    parent: Place | None = None
    """The answer that it improves on."""
    winner: bool = False
    kept: bool = False
    """Of rounds: a later round started from it."""

    @property
    def id(self) -> str:
        """The name of its page: the same in every run that asks the same."""
        return page_id(*self.place)


def entries(site: SiteRun) -> list[Entry]:
    """All answers that the config asks for, in its order; what is missing is there as `missing`."""
    return [*_single(site), *(entry for item in site.trajectories for entry in _rounds(site, item))]


def _single(site: SiteRun) -> Iterator[Entry]:
    """Of the experiments without rounds."""
    for row in site.frame.to_dict("records"):
        place = Place(*(row[name] for name in Place._fields))
        parent = place._replace(turn=place.turn - 1) if place.turn else None
        yield Entry(place, {str(key): value for key, value in row.items()} | {"measured_on": "all workloads"}, parent)


def _rounds(site: SiteRun, trajectory: Trajectory) -> Iterator[Entry]:
    """Every version of an existing kernel; version 0 is that kernel itself."""
    experiment = site.settings.experiments[trajectory.experiment]
    kept = trajectory.kept(experiment)
    definition = trajectory.definition
    for version in trajectory.versions:
        if version.missing == NOT_ASKED and version.solution is None:
            continue
        place = _place(trajectory, version.turn, version.sample)
        made = version.entry is not None
        parent = trajectory.parent(version.turn, version.sample, experiment) if made else None
        level = int(trajectory.problem.split("/")[1].removeprefix("level"))
        fixed = {
            "method": trajectory.method,
            "level": level,
            "number": definition.number if definition else 0,
            "sound": definition.sound if definition else True,
        }
        yield Entry(
            place,
            {**place._asdict(), **fixed, **_outcome(site, version), "prompt_differs": _differs(site, place)},
            _place(trajectory, parent.turn, parent.sample) if parent else None,
            winner=version is trajectory.winner,
            kept=(version.turn, version.sample) in kept,
        )


def _place(trajectory: Trajectory, turn: int, sample: int) -> Place:
    return Place(trajectory.experiment, trajectory.model, trajectory.problem, turn, sample)


def _outcome(site: SiteRun, version: Version) -> dict[str, Any]:
    """As the frame has it; speedups over the existing kernel count the workloads that this kernel itself passes."""
    verdicts = version.verdicts
    status = verdicts.status if version.solution else version.missing
    traces = [trace for _, trace in verdicts.pairs if trace is not None]
    found = verdict_of(traces, site.settings) if traces else {"detail": version.problem}
    speedup = geometric_mean(verdicts.speedups(UPSTREAM))
    if not math.isnan(speedup):
        found |= {f"speedup_{UPSTREAM}": speedup}
        found |= {f"credited_{UPSTREAM}": 0.0 if verdicts.findings else speedup}
    return found | {
        "status": status,
        "category": CATEGORY[status],
        "solution": version.solution.id if version.solution else "",
        "measured_on": "all workloads" if version.evaluated else "suite",
    }


def _differs(site: SiteRun, place: Place) -> bool:
    return any(item.record.prompt_differs for item in site.answers.get(place[:4], ()))


def as_columns(found: Sequence[Entry], baselines: Sequence[str]) -> dict[str, Any]:
    """All entries as columns: names of few different values as codes, and numbers as they are.

    `{"rows": 2, "texts": {"model": {"values": ["a"], "codes": [0, 0]}}, "numbers": {"turn": [0, 1]}, …}`
    """
    speeds = [f"{name}_{baseline}" for baseline in baselines for name in SPEED_COLUMNS]
    cells = [{**entry.cells, "id": entry.id} for entry in found]
    return {
        "rows": len(found),
        "baselines": list(baselines),
        "texts": {name: _coded([str(row.get(name, "")) for row in cells]) for name in TEXTS},
        "numbers": {name: [_number(row.get(name)) for row in cells] for name in (*NUMBERS, *speeds)},
        "flags": {name: [int(bool(row.get(name))) for row in cells] for name in FLAGS},
    }


def has_number(value: Any) -> bool:
    """Whether a cell holds a number: it is there and not NaN."""
    return value is not None and not math.isnan(value)


def _coded(texts: list[str]) -> dict[str, Any]:
    codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    return {"values": list(codes), "codes": [codes[text] for text in texts]}


def _number(value: Any) -> float | None:
    """Six digits, which a list can show; pages of answers have all."""
    if value is None or not math.isfinite(value):
        return None
    return value if isinstance(value, int) else float(f"{value:.6g}")

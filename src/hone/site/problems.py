"""Problems: statement, workloads, floor, and what is known to be wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hone.records import Language, Trace
from hone.site.run import SiteRun, page_id
from hone.site.sources import lines_of
from hone.sources.workloads import moved_bytes

Put = Callable[[str, Any], None]


def write_problems(site: SiteRun, put: Put) -> list[dict[str, Any]]:
    """Write the data of each problem; returns a row for each, those without a definition included."""
    floors = _floors(site)
    rows = []
    for name, item in site.definitions.items():
        workloads = [
            {
                **workload.model_dump(mode="json"),
                "moved_bytes": moved_bytes(item, workload),
                "floors": floors.get(workload.id, {}),
            }
            for workload in site.workloads_of.get(name, ())
        ]
        kernels = {
            key: lines_of(text, item.kernel_language or Language.CPP) for key, text in sorted(item.kernels.items())
        }
        put(
            f"problems/{page_id(name)}",
            {
                **item.model_dump(mode="json", exclude={"reference", "kernels"}),
                "id": page_id(name),
                "reference": lines_of(item.reference, Language.PYTHON),
                "kernels": kernels,
                "workloads": workloads,
            },
        )
        rows.append(
            {
                "id": page_id(name),
                "name": name,
                "source": item.source,
                "level": item.level,
                "number": item.number,
                "title": item.title,
                "workloads": len(workloads),
                "sound": item.sound,
                "reason": "",
            }
        )
    return [*rows, *(_unsupported(item.name, item.reason) for item in site.run.records.unsupported)]


def _unsupported(name: str, reason: str) -> dict[str, Any]:
    return {
        **{"id": "", "name": name, "source": name.split("/", maxsplit=1)[0], "level": None, "number": None},
        **{"title": name.rsplit("/", 1)[-1], "workloads": 0, "sound": True, "reason": reason},
    }


def _floors(site: SiteRun) -> dict[str, dict[str, float]]:
    """Workload -> device -> the least time that it can need, in milliseconds, where a judge has said so."""
    records, found = site.run.records, dict[str, dict[str, float]]()
    for trace in (*records.traces, *records.suite_traces, *records.evaluations):
        _note(trace, found)
    return found


def _note(trace: Trace, found: dict[str, dict[str, float]]) -> None:
    if trace.performance is not None and trace.performance.floor_ms > 0:
        found.setdefault(trace.workload, {})[trace.environment.device] = trace.performance.floor_ms

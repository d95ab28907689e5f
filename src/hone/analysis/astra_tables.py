"""The Astra tables: functions from outcomes to rows; the ablation has a module of its own (astra_options.py)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from hone.analysis.astra import US_PER_MS, Astra, Outcome, paper_shape
from hone.analysis.metrics import geometric_mean, geometric_mean_interval
from hone.analysis.paper_numbers import ALL_KERNELS
from hone.analysis.source_lines import lines_of_code
from hone.analysis.tables import Row
from hone.config import UPSTREAM
from hone.records import Solution, Trace, Workload
from hone.sources.workloads import moved_bytes

CURRENT = "current"
"""Today's kernel, where the definition has one."""
ALL, PAPER = ALL_KERNELS, "paper"
"""`kernel` of the rows over all kernels of an experiment, and over those that the paper has numbers for."""
LARGE_BYTES = 64 * 2**20
"""From here on a kernel that moves its bytes once should come near the copy bandwidth."""


def main_rows(astra: Astra) -> list[Row]:
    """astra_main: a row for each kernel, one for all together, one for those that the paper has numbers for."""
    rows: list[Row] = []
    for (experiment, _), outcomes in astra.by_experiment().items():
        rows += [_kernel_row(astra, outcome) for outcome in outcomes]
        rows.append(_together(astra, ALL, outcomes))
        printed = astra.context.matcher.kernels(experiment)
        chosen = [outcome for outcome in outcomes if outcome.trajectory.kernel in printed]
        if chosen:
            complete = {outcome.trajectory.kernel for outcome in chosen} == printed
            published = astra.published(experiment, ALL) if complete else {}
            rows.append(_together(astra, PAPER, chosen) | published)
    return rows


def _place(outcome: Outcome) -> Row:
    trajectory = outcome.trajectory
    return {
        "experiment": trajectory.experiment,
        "model": trajectory.model,
        "method": trajectory.method,
        "rounds": trajectory.rounds,
    }


def _kernel_row(astra: Astra, outcome: Outcome) -> Row:
    trajectory = outcome.trajectory
    winner, kernel = trajectory.winner, trajectory.kernel
    deciding = outcome.verdicts.deciding
    row = _place(outcome) | astra.provenance(outcome.traces)
    row |= {
        "kernel": kernel,
        "kernels": 1,
        "correct": outcome.correct,
        "workloads": len(trajectory.workloads),
        "uncounted": len(trajectory.workloads) - len(trajectory.upstream.evaluation.counted),
        "unresolved": trajectory.unresolved,
        "loc_before": _lines(trajectory.upstream.solution),
        "loc_after": _lines(winner.solution if winner else None),
        "winner": f"turn {winner.turn}, sample {winner.sample}" if winner else "",
        "solution": winner.solution.id if winner and winner.solution else "",
        "suite_speedup": winner.suite_speedup if winner else None,
        "status": winner.status if winner else "",
        "detail": deciding.detail if deciding is not None else "",
        "findings": outcome.verdicts.findings,
        "prompt_differs": _differing(astra, outcome),
    }
    row |= {"workloads_current": 0}
    row |= (astra.mean([outcome]) if outcome.credited else {}) | _extremes(outcome) | _as_published(astra, outcome)
    return row | astra.published(trajectory.experiment, kernel) | _published_lines(astra, outcome)


def _lines(solution: Solution | None) -> float:
    return float(lines_of_code(solution.source, solution.language)) if solution else math.nan


def _differing(astra: Astra, outcome: Outcome) -> int:
    """Recorded answers about this kernel whose prompt is no longer the one that they were given to."""
    wanted = (outcome.trajectory.experiment, outcome.trajectory.model, outcome.trajectory.problem)
    return sum(
        item.prompt_differs
        for item in astra.records.answers
        if (item.experiment, item.model, item.definition) == wanted
    )


def _extremes(outcome: Outcome) -> Row:
    """The worst workload, and the same against today's kernel; nothing where nothing is credited."""
    if not outcome.credited:
        return {}
    definition = outcome.trajectory.definition
    now = outcome.verdicts.credited(CURRENT)
    large = [
        outcome.share(workload, trace, performance)
        for workload, trace, performance in outcome.timed()
        if definition and moved_bytes(definition, workload) >= LARGE_BYTES
    ]
    return {
        "least_speedup": min(outcome.credited),
        "workloads_current": len(now),
        "speedup_current": geometric_mean(now),
        "least_speedup_current": min(now, default=math.nan),
        "least_large_share": min(large, default=math.nan),
    }


def _as_published(astra: Astra, outcome: Outcome) -> Row:
    """The paper's own aggregate: arithmetic means over its shapes, of speedup and of times."""
    timed = [
        (performance.baselines[UPSTREAM].latency_ms, performance.solution.latency_ms)
        for workload, _, performance in outcome.timed()
        if UPSTREAM in performance.baselines and astra.is_published(outcome, workload)
    ]
    row: Row = {"paper_shapes": len(timed)}
    if timed and outcome.credited:
        before, after = np.array(timed).T
        row |= {
            "speedup_mean": float((before / after).mean()),
            "baseline_us": float(before.mean()) * US_PER_MS,
            "optimised_us": float(after.mean()) * US_PER_MS,
        }
    return row


def _published_lines(astra: Astra, outcome: Outcome) -> Row:
    names = ("loc_before", "loc_after", "baseline_us", "optimised_us")
    found = {name: astra.published(outcome.trajectory.experiment, outcome.trajectory.kernel, name) for name in names}
    return {f"published_{name}": row["published"] for name, row in found.items()}


def _together(astra: Astra, kernel: str, outcomes: Sequence[Outcome]) -> Row:
    """One row over several kernels."""
    correct = {outcome.correct for outcome in outcomes}
    row = _place(outcomes[0]) | astra.provenance(trace for outcome in outcomes for trace in outcome.traces)
    row |= {
        "kernel": kernel,
        "kernels": len(outcomes),
        "correct": next((answer for answer in ("no", "unknown") if answer in correct), "yes"),
        "workloads": sum(len(outcome.trajectory.workloads) for outcome in outcomes),
        "uncounted": sum(
            len(outcome.trajectory.workloads) - len(outcome.trajectory.upstream.evaluation.counted)
            for outcome in outcomes
        ),
        "unresolved": sum(outcome.trajectory.unresolved for outcome in outcomes),
        "prompt_differs": sum(_differing(astra, outcome) for outcome in outcomes),
    }
    return row | astra.mean(outcomes) | _worst(outcomes)


def _worst(outcomes: Sequence[Outcome]) -> Row:
    """The worst workload of several kernels and the comparison with today's; empty where nothing is credited to one."""
    extremes = [_extremes(outcome) for outcome in outcomes]
    if not all(extremes):
        return {"workloads_current": 0}
    now = [found for found in extremes if found["workloads_current"]]
    large = [found["least_large_share"] for found in extremes]
    return {
        "least_speedup": min(found["least_speedup"] for found in extremes),
        "workloads_current": sum(found["workloads_current"] for found in now),
        "speedup_current": geometric_mean([found["speedup_current"] for found in now]),
        "least_speedup_current": min((found["least_speedup_current"] for found in now), default=math.nan),
        "least_large_share": min((share for share in large if not math.isnan(share)), default=math.nan),
    }


def single_vs_multi_rows(astra: Astra) -> list[Row]:
    """astra_single_vs_multi: the rows of astra_main for kernels that both methods worked on, by kernel."""
    methods: dict[str, set[str]] = {}
    for outcome in astra.outcomes:
        methods.setdefault(outcome.trajectory.kernel, set()).add(outcome.trajectory.method)
    both = {kernel for kernel, found in methods.items() if len(found) > 1}
    shared = Astra(astra.context, [item for item in astra.outcomes if item.trajectory.kernel in both], astra.records)
    rows = main_rows(shared)
    order = list(dict.fromkeys(row["kernel"] for row in rows))
    order = [kernel for kernel in order if kernel not in (ALL, PAPER)] + [ALL, PAPER]
    return sorted(rows, key=lambda row: (order.index(row["kernel"]), row["method"]))


def shape_rows(astra: Astra) -> list[Row]:
    """astra_shapes: every winner on every workload, once for each baseline; failed workloads have no times."""
    return [row for outcome in astra.outcomes for row in _shapes(astra, outcome)]


def _shapes(astra: Astra, outcome: Outcome) -> Iterator[Row]:
    trajectory = outcome.trajectory
    if trajectory.winner is None or trajectory.winner.solution is None or trajectory.definition is None:
        return
    for workload, trace in outcome.verdicts.pairs:
        nbytes = moved_bytes(trajectory.definition, workload)
        fixed = _place(outcome) | astra.provenance([trace] if trace else [])
        fixed |= {
            "kernel": trajectory.kernel,
            "workload": workload.name,
            "sizes": ", ".join(f"{axis}={size}" for axis, size in workload.axes.items()),
            "dtype": workload.dtype,
            "held_out": workload.held_out,
            "paper_shape": astra.is_published(outcome, workload),
            "bytes": nbytes,
            "correct": outcome.correct,
            "status": str(trace.status) if trace else "missing",
            "findings": "; ".join(trace.performance.findings) if trace and trace.performance else "",
            "solution": trajectory.winner.solution.id,
        }
        yield from _against_baselines(astra, outcome, workload, trace, fixed)


def _against_baselines(
    astra: Astra, outcome: Outcome, workload: Workload, trace: Trace | None, fixed: Row
) -> Iterator[Row]:
    performance = trace.performance if trace else None
    known = outcome.trajectory.definition.kernels if outcome.trajectory.definition else {}
    for baseline in astra.context.settings.baselines:
        shown = baseline in known or (performance is not None and baseline in performance.baselines)
        if not shown:
            continue
        row = fixed | {"baseline": baseline}
        if trace is not None and performance is not None and baseline in performance.baselines:
            floor = outcome.bandwidths.floor(int(fixed["bytes"]), trace)
            row |= {
                "baseline_us": performance.baselines[baseline].latency_ms * US_PER_MS,
                "optimised_us": performance.solution.latency_ms * US_PER_MS,
                "speedup": performance.speedup(baseline),
                "bandwidth_share": outcome.share(workload, trace, performance),
                "floor_us": floor.us,
                "floor_source": floor.source,
            }
        if baseline == UPSTREAM:
            shape = paper_shape(workload)
            place = (outcome.trajectory.experiment, outcome.trajectory.kernel)
            row |= astra.published(*place, workload=shape) if shape else {}
        yield row


def round_rows(astra: Astra) -> list[Row]:
    """astra_rounds: every version of every trajectory, the existing kernel at turn 0 included."""
    rows: list[Row] = []
    for outcome in astra.outcomes:
        trajectory = outcome.trajectory
        kept = trajectory.kept(astra.context.settings.experiments[trajectory.experiment].astra)
        published = astra.published(trajectory.experiment, trajectory.kernel)
        for version in trajectory.versions:
            deciding, credited = version.verdicts.deciding, version.evaluation.credited(UPSTREAM)
            low, high = geometric_mean_interval([credited], astra.context.confidence)
            row = _place(outcome) | published | astra.provenance(t for _, t in version.verdicts.pairs if t)
            row |= {
                "kernel": trajectory.kernel,
                "turn": version.turn,
                "sample": version.sample,
                "status": version.status,
                "suite_status": version.suite_status,
                "speedup": geometric_mean(credited),
                "ci_low": low,
                "ci_high": high,
                "suite_speedup": version.suite_speedup,
                "kept": (version.turn, version.sample) in kept,
                "won": version is trajectory.winner,
                "detail": version.problem or (deciding.detail if deciding is not None else ""),
                "findings": version.verdicts.findings,
                "solution": version.solution.id if version.solution else "",
            }
            rows.append(row)
    return rows

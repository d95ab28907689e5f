"""astra_ablation: which options of the loop pay; experiments on the same kernels that differ in them, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from hone.analysis.astra import Astra, Outcome
from hone.analysis.astra_tables import ALL
from hone.analysis.metrics import geometric_mean, geometric_mean_interval
from hone.analysis.tables import Row
from hone.config import Experiment, Rounds

METHOD = "astra"


class Run(NamedTuple):
    """One experiment with one model."""

    experiment: str
    model: str


def options_of(experiment: Experiment) -> dict[str, Any]:
    """All options that the ablation compares, by name."""
    return _of_loop(experiment.astra) | {"samples": experiment.samples, "rounds": experiment.turns - 1}


def ablation_rows(astra: Astra) -> list[Row]:
    """astra_ablation: for each source with several `astra` experiments, a row for each kernel and run, and for all.

    What the others are compared with is the first experiment whose loop is the paper's, else the first.
    """
    runs = astra.by_experiment()
    experiments = astra.context.settings.experiments
    sources: dict[str, list[Run]] = {}
    for name, model in runs:
        if experiments[name].method == METHOD:
            sources.setdefault(experiments[name].source, []).append(Run(name, model))
    return [
        row
        for found in sources.values()
        if len({run.experiment for run in found}) > 1
        for run in found
        for row in _rows(astra, run, _reference(astra, run, found))
    ]


def _reference(astra: Astra, run: Run, runs: Sequence[Run]) -> Run:
    """The run to compare with: of the paper's loop, and of the same model where that experiment has it."""
    experiments = astra.context.settings.experiments
    plain = [item for item in runs if _is_plain(experiments[item.experiment])] or runs
    first = [item for item in plain if item.experiment == plain[0].experiment]
    return next((item for item in first if item.model == run.model), first[0])


def _is_plain(experiment: Experiment) -> bool:
    return _of_loop(experiment.astra) == _of_loop(Rounds()) and experiment.samples == 1


def _of_loop(options: Rounds) -> dict[str, Any]:
    """Those that kernels depend on: which of them are evaluated is none."""
    return options.model_dump(exclude={"evaluate"})


def _rows(astra: Astra, run: Run, reference: Run) -> list[Row]:
    runs = astra.by_experiment()
    base = {outcome.trajectory.problem: outcome for outcome in runs[reference]}
    pairs = [(outcome, base[outcome.trajectory.problem]) for outcome in runs[run] if outcome.trajectory.problem in base]
    rows = [_row(astra, run, reference, [pair], pair[0].trajectory.kernel) for pair in pairs]
    return [*rows, _row(astra, run, reference, pairs, ALL)] if pairs else []


def _row(astra: Astra, run: Run, reference: Run, pairs: Sequence[tuple[Outcome, Outcome]], kernel: str) -> Row:
    experiments = astra.context.settings.experiments
    options, plain = (options_of(experiments[item.experiment]) for item in (run, reference))
    own = [outcome for outcome, _ in pairs]
    problems = {outcome.trajectory.problem for outcome in own}
    answers = [
        item
        for item in astra.records.answers
        if (item.experiment, item.model) == tuple(run) and item.definition in problems
    ]
    answers_by_kinds = {"calls": len(answers), "cost_usd": sum(item.completion.cost_usd for item in answers)}
    return {
        "kernel": kernel,
        **run._asdict(),
        "reference": reference.experiment,
        "changed": ", ".join(f"{name}={value}" for name, value in options.items() if value != plain[name]),
        "kernels": len(own),
        "correct": next((word for word in ("no", "unknown") if any(item.correct == word for item in own)), "yes"),
        "written": sum(version.solution is not None for item in own for version in item.trajectory.versions[1:]),
        **options,
        **answers_by_kinds,
        **astra.mean(own),
        **_gain(astra, pairs),
        **astra.provenance(trace for outcome in own for trace in outcome.traces),
    }


def _gain(astra: Astra, pairs: Sequence[tuple[Outcome, Outcome]]) -> Row:
    """Speedup over the reference's, workload by workload; empty where either is not known."""
    if not all(outcome.known for pair in pairs for outcome in pair):
        return {}
    ratios = [[one / other for one, other in zip(own.counted, base.counted, strict=True)] for own, base in pairs]
    low, high = geometric_mean_interval(ratios, astra.context.confidence)
    gain = geometric_mean([geometric_mean(item) for item in ratios]) if all(ratios) else math.nan
    return {"gain": gain, "gain_low": low, "gain_high": high}

"""astra_ablation: which options of the loop pay; experiments on the same kernels that differ in them, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from hone.analysis.astra import ALL, Astra, Outcome
from hone.analysis.context import Cells
from hone.analysis.metrics import geometric_mean, geometric_mean_interval
from hone.analysis.render import number
from hone.analysis.search import strategy_name
from hone.config.experiments import Experiment, Rounds
from hone.config.strategy import Linear
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import RunTable
from hone.tables.words import plural, span

METHOD = "astra"


class Row(TableRow):
    """One kernel of one experiment and model beside the reference, or all of them."""

    kernel: str
    """Title of its definition; `all`: every kernel of the experiment."""
    experiment: columns.Experiment
    model: columns.LanguageModel
    changed: str
    """Options of the loop that differ from the reference's."""
    speedup: columns.WinnerSpeedup = EMPTY
    gain: float = EMPTY
    """Speedup over the reference's winner: geometric mean over workloads, then over kernels."""
    gain_low: float = EMPTY
    """Lower end of the gain's interval, workloads resampled."""
    gain_high: float = EMPTY
    """Upper end of that interval."""
    correct: columns.WinnerCorrect
    ci_low: columns.WorkloadsLow = EMPTY
    ci_high: columns.WorkloadsHigh = EMPTY
    reference: str = ""
    """The first experiment with the paper's loop: what the row is compared with."""
    kernels: int
    """Kernels behind the row."""
    start_from: str = ""
    """What a round starts from: the `last` version, or the `best` so far."""
    strategy: str
    """How rounds branch: `linear`, or `beam` and its width."""
    samples: int
    """Answers per problem; of a beam, to each branch."""
    stop_at_floor_share: float = EMPTY
    """A kernel is done when the floor is this share of its best time."""
    roofline: bool
    """Whether prompts name the gain that is left, by the bytes at the speed of a copy."""
    notes: bool
    """Whether plans carry notes of the kernels before."""
    rounds: columns.Rounds
    written: int
    """Kernels that were written."""
    calls: int
    """All answers of the experiment and model about these kernels."""
    cost_usd: float = EMPTY
    """US dollars of these answers."""


class Pair(NamedTuple):
    """One experiment with one model."""

    experiment: str
    model: str


def options_of(experiment: Experiment) -> dict[str, Any]:
    """All options that the ablation compares, by name."""
    fixed = {"samples": experiment.samples, "rounds": experiment.turns - 1}
    return {"strategy": strategy_name(experiment), **_of_loop(experiment.astra), **fixed}


def rows(run: Run) -> list[Row]:
    """For each source with several `astra` experiments, a row for each kernel and run, and for all.

    What the others are compared with is the first experiment whose loop is the paper's, else the first.
    """
    astra = run.astra
    runs = astra.by_experiment()
    experiments = astra.context.settings.experiments
    sources: dict[str, list[Pair]] = {}
    for name, model in runs:
        if experiments[name].method == METHOD:
            sources.setdefault(experiments[name].source, []).append(Pair(name, model))
    return [
        row
        for found in sources.values()
        if len({pair.experiment for pair in found}) > 1
        for pair in found
        for row in _rows(astra, pair, _reference(astra, pair, found))
    ]


def _reference(astra: Astra, run: Pair, runs: Sequence[Pair]) -> Pair:
    """The run to compare with: of the paper's loop, and of the same model where that experiment has it."""
    experiments = astra.context.settings.experiments
    plain = [item for item in runs if _is_plain(experiments[item.experiment])] or runs
    first = [item for item in plain if item.experiment == plain[0].experiment]
    return next((item for item in first if item.model == run.model), first[0])


def _is_plain(experiment: Experiment) -> bool:
    plain = _of_loop(experiment.astra) == _of_loop(Rounds()) and experiment.samples == 1
    return plain and experiment.strategy == Linear()


def _of_loop(options: Rounds) -> dict[str, Any]:
    """Those that kernels depend on: which of them are evaluated is none."""
    return options.model_dump(exclude={"evaluate"}) | {"roofline": options.roofline}


def _rows(astra: Astra, run: Pair, reference: Pair) -> list[Row]:
    runs = astra.by_experiment()
    base = {outcome.trajectory.problem: outcome for outcome in runs[reference]}
    pairs = [(outcome, base[outcome.trajectory.problem]) for outcome in runs[run] if outcome.trajectory.problem in base]
    rows = [_row(astra, run, reference, [pair], pair[0].trajectory.kernel) for pair in pairs]
    return [*rows, _row(astra, run, reference, pairs, ALL)] if pairs else []


def _row(astra: Astra, run: Pair, reference: Pair, pairs: Sequence[tuple[Outcome, Outcome]], kernel: str) -> Row:
    experiments = astra.context.settings.experiments
    options, plain = (options_of(experiments[item.experiment]) for item in (run, reference))
    own = [outcome for outcome, _ in pairs]
    problems = {outcome.trajectory.problem for outcome in own}
    answers = [
        item
        for item in astra.records.answers
        if (item.experiment, item.model) == tuple(run) and item.definition in problems
    ]
    return Row(
        kernel=kernel,
        **run._asdict(),
        reference=reference.experiment,
        changed=", ".join(f"{name}={value}" for name, value in options.items() if value != plain[name]),
        kernels=len(own),
        correct=next((word for word in ("no", "unknown") if any(item.correct == word for item in own)), "yes"),
        written=sum(version.solution is not None for item in own for version in item.trajectory.versions[1:]),
        **options,
        calls=len(answers),
        cost_usd=sum(EMPTY if (cost := item.completion.known_cost_usd) is None else cost for item in answers),
        **astra.mean(own),
        **_gain(astra, pairs),
        **astra.provenance(trace for outcome in own for trace in outcome.traces),
    )


def _gain(astra: Astra, pairs: Sequence[tuple[Outcome, Outcome]]) -> Cells:
    """Speedup over the reference's, workload by workload; empty where either is not known."""
    if not all(outcome.known for pair in pairs for outcome in pair):
        return {}
    ratios = [[one / other for one, other in zip(own.counted, base.counted, strict=True)] for own, base in pairs]
    low, high = geometric_mean_interval(ratios, astra.context.confidence)
    gain = geometric_mean([geometric_mean(item) for item in ratios]) if all(ratios) else math.nan
    return {"gain": gain, "gain_low": low, "gain_high": high}


def finding(rows: Sequence[Row]) -> str:
    """The changed options that gained most over the reference, all kernels together."""
    changed = [row for row in rows if row.kernel == ALL and row.changed and not math.isnan(row.gain)]
    if not changed:
        return ""
    best = max(changed, key=lambda row: row.gain)
    gain = f"{number(best.gain)} times as fast as `{best.reference}`"
    changes = plural(len(changed), "change")
    return f"Of {changes} of the loop `{best.changed}` gains most: {gain} ({span((best.gain_low, best.gain_high))})."


TABLE = RunTable(
    name="astra_ablation",
    title="Which options of the loop pay",
    caption=(
        "Experiments that differ from a reference in options of the loop, and what each option gained or lost, with an "
        "interval."
    ),
    category="Astra",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "kernel": "Kernel",
        "experiment": "Experiment",
        "changed": "Changed",
        "correct": "Correct",
        "speedup": "Speedup",
        "gain": "Gain over the reference",
        "gain_low": "from",
        "gain_high": "to",
    },
)

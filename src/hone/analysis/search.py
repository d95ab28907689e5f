"""What searches gained for what they spent: the best kernel after each evaluation and answer, strategy by strategy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hone.analysis.metrics import geometric_mean, log_mean_interval
from hone.analysis.run import RunRecords
from hone.analysis.trajectories import Trajectory
from hone.config.experiments import UPSTREAM, Experiment
from hone.config.settings import Settings
from hone.methods.astra.strategy import spent
from hone.records import SearchStep, Trace, Workload
from hone.selection.rank import latest, mean_speedup
from hone.sources.workloads import group

JUDGED = math.inf
"""The rung of the judge's own protocol: above all others."""


@dataclass(frozen=True)
class State:
    """A search after it has spent so much."""

    evaluations: int
    answers: int
    speedup: float | None
    """Of its best kernel so far, as the search itself has measured it; None before one is right."""
    share: float | None = None
    """Of the least possible time in that kernel's; None where no such bound is known."""
    judged: float | None = None
    """That kernel's speedup on all workloads, by the judge's own protocol; None where nobody asked."""


@dataclass(frozen=True)
class Search:
    """One search for a fast kernel."""

    experiment: str
    model: str
    operator: str
    strategy: str
    baseline: str
    repeat: int
    """From 1: searches of one experiment that differ in their seed."""
    states: Sequence[State]
    """With rising cost."""
    file: str = ""
    """That declares the parameters, where these are searched."""
    traces: Sequence[Trace] = field(default=(), repr=False)
    """Verdicts behind it."""

    @property
    def group(self) -> tuple[str, str, str, str]:
        """What its repeats have in common."""
        return self.experiment, self.model, self.operator, self.file

    def at(self, evaluations: int) -> State | None:
        """The last state that had cost no more evaluations; None before the first."""
        return next((state for state in reversed(self.states) if state.evaluations <= evaluations), None)


def searches(settings: Settings, records: RunRecords, trajectories: Sequence[Trajectory]) -> list[Search]:
    """All of a run: those in rounds, then those of parameters."""
    workloads = group(records.workloads)
    of_rounds = (_of_rounds(item, settings.experiments[item.experiment], workloads) for item in trajectories)
    return [*(item for item in of_rounds if item.states), *_of_parameters(settings, records, workloads)]


def mean_states(repeats: Sequence[Search], confidence: float) -> Iterator[tuple[State, float, float]]:
    """Geometric means over repeats wherever one of them changes, with Student's interval of the logs.

    From the cost on at which all have a right kernel. A share is their mean too, `judged` that of the last states.
    """
    costs = sorted({state.evaluations for item in repeats for state in item.states})
    for cost in costs:
        states = [item.at(cost) for item in repeats]
        known = [state for state in states if state is not None and state.speedup is not None]
        if len(known) < len(repeats):
            continue
        speedups = [state.speedup for state in known if state.speedup is not None]
        shares = [state.share for state in known if state.share is not None]
        judged = [state.judged for state in known if state.judged is not None]
        low, high = log_mean_interval(speedups, confidence)
        mean = State(
            cost, max(state.answers for state in known), geometric_mean(speedups),
            geometric_mean(shares) if len(shares) == len(known) else None,
            geometric_mean(judged) if len(judged) == len(known) and cost == costs[-1] else None,
        )  # fmt: skip
        yield mean, low, high


def strategy_name(experiment: Experiment) -> str:
    """As tables have it: `linear`, `beam 3`, `tuned`."""
    kind = experiment.strategy.kind
    return f"{kind} {experiment.width}" if experiment.width > 1 else kind


def _of_rounds(item: Trajectory, experiment: Experiment, workloads: Mapping[str, Sequence[Workload]]) -> Search:
    states, history = [], item.history
    rounds = range(history.last_turn + 1) if history is not None else ()
    for turn in rounds:
        assert history is not None
        before = history.before(turn + 1)
        cost, best = spent(before, experiment), before.best
        pairs = next((each.evaluation.pairs for each in item.versions if each.entry is best), ())
        verdicts = {workload.id: trace for workload, trace in pairs if trace is not None}
        judged = mean_speedup(verdicts, workloads.get(item.problem, ())) if verdicts else None
        states.append(State(cost.evaluations, cost.answers, before.speedup(best), before.floor_share(best), judged))
    traces = [trace for version in item.versions for _, trace in version.suite.pairs if trace is not None]
    name = strategy_name(experiment)
    return Search(item.experiment, item.model, item.kernel, name, UPSTREAM, 1, states, traces=traces)


def _of_parameters(
    settings: Settings, records: RunRecords, workloads: Mapping[str, Sequence[Workload]]
) -> Iterator[Search]:
    titles = {item.name: item.title for item in records.definitions}
    kernels = {item.name: item.kernels for item in records.definitions}
    verdicts: dict[str, dict[str, Trace]] = {}
    for (solution, workload), trace in latest(records.traces).items():
        verdicts.setdefault(solution, {})[workload] = trace
    for (name, definition, file, repeat), found in itertools.groupby(records.searches, _search_of):
        experiment = settings.experiments[name]
        has_kernel = UPSTREAM in kernels.get(definition, ()) and UPSTREAM in settings.baselines
        baseline = UPSTREAM if has_kernel else settings.baselines[0]
        best = list(_best(list(found)))
        last = verdicts.get(best[-1].solution, {})
        judged = mean_speedup(last, workloads.get(definition, ()), baseline) if last else None
        states = [State(step.evaluations, 0, step.speedup, step.share) for step in best]
        final = states[-1]
        states[-1] = State(final.evaluations, 0, final.speedup, final.share, judged)
        yield Search(
            name, experiment.models[0], titles.get(definition, definition), strategy_name(experiment), baseline,
            repeat + 1, states, file, list(last.values()),
        )  # fmt: skip


def _search_of(step: SearchStep) -> tuple[str, str, str, int]:
    return step.experiment, step.definition, step.file, step.repeat


def _best(steps: Sequence[SearchStep]) -> Iterator[SearchStep]:
    """The best step so far wherever it changes, and at the end; a longer timing's word counts before a shorter one's.

    Of each rung the best of the one before is timed first, so that the line goes on from the same kernel.
    """
    best: SearchStep | None = None
    for step in steps[:-1]:
        if _beats(step, best):
            best = step
            yield step
    last = steps[-1]
    yield last if best is None or _beats(last, best) else best.model_copy(update={"evaluations": last.evaluations})


def _beats(step: SearchStep, best: SearchStep | None) -> bool:
    if step.speedup is None or best is None:
        return step.speedup is not None
    return (_rung(step), step.speedup) > (_rung(best), best.speedup or 0.0)


def _rung(step: SearchStep) -> float:
    return JUDGED if step.rung is None else step.rung

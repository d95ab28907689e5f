"""From records to trajectories: the versions of one kernel in order, each with its verdicts, and which of them won.

The winner is chosen by what the roles could see, the verdicts on their own suite; what is reported of it are the
verdicts on all workloads of the definition, held-out ones included.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hone.analysis.frames import MISSING, NO_CODE, UNANSWERED, Place, Problem, problems_of
from hone.analysis.provenance import joined
from hone.analysis.run import RunRecords
from hone.config.experiments import ASTRA, UPSTREAM, Experiment
from hone.config.settings import Settings, model_slug
from hone.methods.astra.history import History, attempts_of, histories
from hone.methods.astra.history import Version as Entry
from hone.methods.astra.strategy import ending, start_of, why_not_asked
from hone.methods.astra.winners import reported, winner_of
from hone.records import Definition, Solution, Status, Trace, Workload
from hone.selection.rank import credited_speedup, latest
from hone.sources.workloads import group

NOT_ASKED = "not_asked"
"""Status of a version that the loop's early stop left out: nothing is missing."""
NOT_EVALUATED = "not_evaluated"
"""Status of a version whose suite says all that is asked of it, as the experiment has its winner alone evaluated."""


@dataclass(frozen=True)
class Verdicts:
    """What became of one kernel on a list of workloads."""

    pairs: tuple[tuple[Workload, Trace | None], ...] = ()
    """In the order of the list; None where there is no verdict."""
    counted: frozenset[str] = frozenset()
    """Ids of the workloads on which the existing kernel itself has a valid time: speedup is over these."""

    @property
    def deciding(self) -> Trace | None:
        """The trace that tells the status: a failed one before one without verdict, that before a passed one."""
        return min((trace for _, trace in self.pairs), key=_rank, default=None)

    @property
    def status(self) -> str:
        """Passed when all workloads passed; MISSING where one has no verdict, or there are no workloads."""
        return str(self.deciding.status) if self.deciding is not None else MISSING

    @property
    def passed(self) -> bool:
        """Whether the kernel is right on every workload."""
        return self.status == Status.PASSED

    @property
    def resolved(self) -> bool:
        """Whether everything is known: it failed somewhere, or it passed and its times were taken."""
        if self.passed:
            return bool(self.speedups(UPSTREAM))
        return self.status != MISSING and Status(self.status).resolved

    @property
    def findings(self) -> str:
        """What makes a time doubtful, over all workloads."""
        timed = [trace.performance for _, trace in self.pairs if trace is not None and trace.performance is not None]
        return joined(found for item in timed for found in item.findings)

    def speedups(self, baseline: str) -> list[float]:
        """One for each counted workload, in order; empty unless the kernel passed all and all of these were timed.

        Workloads on which another baseline than upstream has no valid time are left out.
        """
        chosen = [trace for workload, trace in self.pairs if workload.id in self.counted and trace is not None]
        timed = [trace.performance for trace in chosen if trace.performance is not None]
        if not self.passed or len(timed) < len(chosen) or not all(UPSTREAM in item.baselines for item in timed):
            return []
        return [item.speedup(baseline) for item in timed if baseline in item.baselines]

    def credited(self, baseline: str) -> list[float]:
        """The speedups, or none at all where a finding makes one of the times doubtful."""
        return [] if self.findings else self.speedups(baseline)


def _rank(trace: Trace | None) -> tuple[bool, bool]:
    if trace is None:
        return (False, True)
    return (trace.status is Status.PASSED, not trace.status.resolved)


@dataclass(frozen=True)
class Version:
    """One kernel of a trajectory: the existing one at turn 0, what the coder wrote after it."""

    turn: int
    sample: int
    entry: Entry | None = None
    """Its place in the history that the roles were shown; absent where it is missing."""
    problem: str = ""
    """Why there is no kernel."""
    missing: str = MISSING
    """Status where there is no kernel: NO_CODE, UNANSWERED, MISSING or NOT_ASKED."""
    suite: Verdicts = field(default_factory=Verdicts)
    suite_speedup: float | None = None
    """Geometric mean over the suite: what the loop decides by. None where nothing is credited."""
    evaluation: Verdicts = field(default_factory=Verdicts)
    """On all workloads of the definition."""
    evaluated: bool = True
    """Whether the experiment wants its evaluation; without it its suite's verdicts are all that there is."""

    @property
    def solution(self) -> Solution | None:
        """The kernel, if there is one."""
        return self.entry.solution if self.entry else None

    @property
    def status(self) -> str:
        """Verdict on all workloads of the definition, or why there is none."""
        if self.solution is None:
            return self.missing
        return self.evaluation.status if self.evaluated else NOT_EVALUATED

    @property
    def suite_status(self) -> str:
        """Verdict on the roles' own suite, or why there is none."""
        return self.suite.status if self.solution else self.missing

    @property
    def verdicts(self) -> Verdicts:
        """The widest that are wanted of it: on all workloads, else on the suite."""
        return self.evaluation if self.evaluated else self.suite

    @property
    def resolved(self) -> bool:
        """Whether nothing is missing that could make this version the winner, or report it."""
        if self.solution is None:
            return self.missing != MISSING
        return self.suite.resolved and self.verdicts.resolved


@dataclass(frozen=True)
class Trajectory:
    """All versions of one kernel by one experiment and model."""

    experiment: str
    model: str
    method: str
    problem: str
    """Name of the definition, whether there is one or not."""
    definition: Definition | None
    """Absent where the kernel could not be taken out of its package."""
    workloads: tuple[Workload, ...]
    versions: tuple[Version, ...]
    """By turn and sample; turn 0 is the existing kernel."""
    history: History | None
    """What the roles were shown."""
    ending: str = ""
    """Why the rounds ended where they did."""

    @property
    def kernel(self) -> str:
        """The definition's title."""
        return self.problem.rsplit("/", 1)[-1].split("_", 1)[-1]

    @property
    def rounds(self) -> int:
        """Rounds that were asked for: turns after the existing kernel."""
        return max(version.turn for version in self.versions)

    @property
    def upstream(self) -> Version:
        """The existing kernel."""
        return self.versions[0]

    @property
    def unresolved(self) -> int:
        """Versions of which something is not known that could decide who wins, or what is reported."""
        return sum(not version.resolved for version in self.versions)

    @cached_property
    def winner(self) -> Version | None:
        """The fastest written version by the suite; of equal ones the first. None where none passed its suite."""
        entry = winner_of(self.history) if self.history is not None else None
        return next((version for version in self.versions if entry is not None and version.entry is entry), None)

    def parent(self, turn: int, sample: int, experiment: Experiment) -> Version | None:
        """The version that a candidate was made from; None where the loop never got there."""
        start = start_of(self.history, turn, sample, experiment) if self.history is not None else None
        return next((version for version in self.versions if start is not None and version.entry is start), None)

    def kept(self, experiment: Experiment) -> set[tuple[int, int]]:
        """(turn, sample) of versions that a round started from, or that a further round would start from."""
        branches = [branch * experiment.samples for branch in range(experiment.width)]
        parents = [self.parent(turn, first, experiment) for turn in range(1, self.rounds + 2) for first in branches]
        return {(version.turn, version.sample) for version in parents if version is not None}


def trajectories(settings: Settings, records: RunRecords) -> list[Trajectory]:
    """A trajectory for every kernel that the config asks for, whatever became of it; by experiment, model, number."""
    builder = _Builder(settings, records)
    return [
        found
        for name, experiment in settings.experiments.items()
        if experiment.method in ASTRA
        for model in experiment.models
        for found in builder.build(name, experiment, model)
    ]


class _Builder:
    """Indexes the records once; a trajectory is then a matter of look-ups."""

    def __init__(self, settings: Settings, records: RunRecords) -> None:
        self._settings = settings
        self._records = records
        self._definitions = {item.name: item for item in records.definitions}
        self._suite_traces = latest(records.suite_traces)
        self._evaluations = latest(records.evaluations)
        self._workloads = group(records.workloads)

    def build(self, name: str, experiment: Experiment, model: str) -> list[Trajectory]:
        """The trajectories of one experiment and model."""
        rows = [row for row in self._records.candidates if (row.experiment, row.model) == (name, model)]
        suites = group(self._records.suites.get((name, model_slug(model)), ()))
        known = histories(
            self._definitions.values(),
            {problem: suites.get(problem, []) for problem in self._definitions},
            attempts_of(rows),
            self._records.solutions,
            self._records.builds,
            self._suite_traces.values(),
        )
        found = []
        for problem in self._problems(experiment):
            history = known.get(problem.name)
            places = [Place(name, model, problem.name, 0, 0)]
            for turn in range(1, experiment.turns):
                places += [Place(name, model, problem.name, turn, sample) for sample in range(experiment.candidates)]
            versions = self._versions(places, history, experiment)
            ended = ending(history, experiment) if history is not None else ""
            definition, workloads = self._definitions.get(problem.name), tuple(self._workloads.get(problem.name, ()))
            fixed = (name, model, experiment.method, problem.name, definition, workloads)
            found.append(Trajectory(*fixed, versions=tuple(versions), history=history, ending=ended))
        return found

    def _problems(self, experiment: Experiment) -> list[Problem]:
        known = (self._records.definitions, self._records.unsupported)
        found = problems_of(self._settings, experiment.source, *known)
        return [problem for problem in found if experiment.selects(problem.level, problem.number)]

    def _versions(self, places: Sequence[Place], history: History | None, experiment: Experiment) -> list[Version]:
        if history is None:
            return [Version(place.turn, place.sample, problem="no candidate") for place in places]
        entries = {(entry.turn, entry.attempt.sample): entry for entry in history.versions}
        first = self._evaluated(entries.get((0, 0)), history, None)
        counted = frozenset(workload.id for workload, trace in first.pairs if credited_speedup(trace) is not None)
        wanted = reported(history) if experiment.astra.evaluate == "winner" else None
        found = []
        for place in places:
            entry = entries.get((place.turn, place.sample))
            if entry is not None:
                found.append(self._version(entry, history, counted, wanted))
            elif place.turn > 0 and (why := why_not_asked(history, place.turn, place.sample, experiment)):
                problem = f"the rounds ended: {why}"
                found.append(Version(place.turn, place.sample, problem=problem, missing=NOT_ASKED))
            else:
                found.append(Version(place.turn, place.sample, problem="no candidate"))
        return found

    def _version(
        self, entry: Entry, history: History, counted: frozenset[str], wanted: Collection[str] | None
    ) -> Version:
        """`wanted`: solutions whose evaluations are; None: all."""
        turn, sample = entry.turn, entry.attempt.sample
        if entry.solution is None:
            status = UNANSWERED if entry.attempt.unanswered else NO_CODE
            return Version(turn, sample, entry, entry.attempt.problem, status)
        evaluated = wanted is None or entry.solution.id in wanted
        suite = tuple((workload, entry.traces.get(workload.id)) for workload in history.suite)
        return Version(
            *(turn, sample, entry),
            suite=Verdicts(suite, frozenset(workload.id for workload in history.counted)),
            suite_speedup=history.speedup(entry),
            evaluation=self._evaluated(entry, history, counted) if evaluated else Verdicts(),
            evaluated=evaluated,
        )

    def _evaluated(self, entry: Entry | None, history: History, counted: frozenset[str] | None) -> Verdicts:
        """Verdicts on all workloads of the definition."""
        key = entry.solution.id if entry is not None and entry.solution is not None else ""
        workloads = self._workloads.get(history.definition.name, [])
        pairs = tuple((workload, self._evaluations.get((key, workload.id))) for workload in workloads)
        return Verdicts(pairs, counted or frozenset())

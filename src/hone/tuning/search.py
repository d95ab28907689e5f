"""The search for one kernel's fastest values: proposals of an optimiser, then successive halving.

    ask a generation -> measure it shortly -> tell        until the field is full
    the faster half, timed twice as long                  until few are left
    the judge's own protocol for these                    the fastest of them wins

A search asks and is told, so that several can be measured together, and equal measurements and an equal seed give an
equal search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hone.tunables import Tunable

if TYPE_CHECKING:
    import optuna

GENERATION = 8
"""Points that are compiled side by side, and told to the optimiser together."""
TRIES = 50
"""Proposals in a row that bring nothing new, before the rest of the field is left empty."""
UNUSABLE = 4
"""So many times the field is proposed at most, where points do not compile or cannot be launched."""

Point = dict[str, int]


@dataclass(frozen=True)
class Measured:
    """What trying one point gave."""

    speedup: float | None
    """None where it is not right, does not compile, or was pruned."""
    evaluations: int
    """Verdicts that it took; 0 where it was not run."""


@dataclass(frozen=True)
class Question:
    """Points that a search wants to be measured."""

    points: Sequence[Point]
    rung: int | None
    """0 for the shortest timing, None for the judge's own protocol."""


Asking = Generator[Question, Sequence[Measured], "Search"]
"""A search under way: it asks, is told one result for each point, and returns what it found."""


@dataclass(frozen=True)
class Plan:
    """How many kernels are tried on each rung."""

    field: int
    finalists: int

    @property
    def rungs(self) -> list[int]:
        """Kernels on each rung of short timings."""
        sizes = [self.field]
        while (half := -(-sizes[-1] // 2)) > self.finalists:
            sizes.append(half)
        return sizes

    @property
    def kernels(self) -> int:
        """Kernels that are measured, those of several rungs several times."""
        return sum(self.rungs) + min(self.finalists, self.field)

    @classmethod
    def within(cls, kernels: int, finalists: int) -> Plan | None:
        """The largest plan that measures at most so many kernels; None where not even one can be tried and judged."""
        plans = (cls(size, min(finalists, size)) for size in range(kernels, 0, -1))
        return next((plan for plan in plans if plan.kernels <= kernels), None)


@dataclass(frozen=True)
class Step:
    """One point, measured once."""

    values: Point
    rung: int | None
    measured: Measured


@dataclass
class Search:
    """All steps of one search, in their order."""

    steps: list[Step] = field(default_factory=list)

    @property
    def winner(self) -> Step | None:
        """The fastest by the judge's own protocol, of equal ones the first."""
        judged = [step for step in self.steps if step.rung is None and step.measured.speedup is not None]
        return max(judged, key=_speedup, default=None)


def together(
    searches: Iterable[Asking], measure: Callable[[int | None, dict[int, Sequence[Point]]], dict[int, list[Measured]]]
) -> list[Search]:
    """What each search found, all of them asked at the same time: compilers and GPUs like long lists.

    `measure` is given a rung and the points of each search that is there, by its number, and tells each of its own.
    """
    under_way = dict(enumerate(searches))
    found: dict[int, Search] = {}
    questions: dict[int, Question] = {}

    def go_on(number: int, told: Sequence[Measured] | None) -> None:
        try:
            questions[number] = next(under_way[number]) if told is None else under_way[number].send(told)
        except StopIteration as ended:
            found[number] = ended.value

    for number in under_way:
        go_on(number, None)
    while questions:
        rung = next(iter(questions.values())).rung
        asked = {number: questions.pop(number) for number in list(questions) if questions[number].rung == rung}
        told = measure(rung, {number: question.points for number, question in asked.items()})
        for number in asked:
            go_on(number, told[number])
    return [found[number] for number in sorted(found)]


def search(space: Tunable, plan: Plan, seed: int) -> Asking:
    """Fill the field, halve it, judge the last; the first values are always among those tried."""
    found = Search()
    proposals = _Proposals(space, seed)
    while missing := plan.field - sum(step.measured.evaluations > 0 for step in found.steps):
        left = UNUSABLE * plan.field - len(found.steps)
        points = proposals.next(min(GENERATION, missing, left))
        if not points:
            break
        steps = yield from _measured(points, 0, found)
        proposals.tell(steps)
        if all(step.measured.speedup is None for step in found.steps):
            break  # not one of a generation, the first values included, is right: it is the kernel, not its parameters
    alive = sorted((step for step in found.steps if step.measured.speedup is not None), key=_speedup, reverse=True)
    for rung, size in enumerate(plan.rungs[1:], start=1):
        if len(alive) <= plan.finalists:
            break
        again = yield from _measured([step.values for step in alive[:size]], rung, found)
        alive = sorted((step for step in again if step.measured.speedup is not None), key=_speedup, reverse=True)
    yield from _measured([step.values for step in alive[: plan.finalists]], None, found)
    return found


def _measured(
    points: Sequence[Point], rung: int | None, found: Search
) -> Generator[Question, Sequence[Measured], list[Step]]:
    if not points:
        return []
    told = yield Question(points, rung)
    steps = [Step(point, rung, it) for point, it in zip(points, told, strict=True)]
    found.steps += steps
    return steps


def _speedup(step: Step) -> float:
    return step.measured.speedup or -math.inf


class _Proposals:
    """Points that were not tried before, from Optuna's tree-structured Parzen estimator by ask and tell."""

    def __init__(self, space: Tunable, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=GENERATION)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._study.enqueue_trial(space.first)
        self._choices: dict[str, optuna.distributions.BaseDistribution] = {
            item.name: optuna.distributions.CategoricalDistribution(item.values) for item in space.parameters
        }
        self._pruned = optuna.trial.TrialState.PRUNED
        self._allowed = {_key(point) for point in space.points}
        self._waiting: dict[tuple[int, ...], optuna.Trial] = {}
        self._known: dict[tuple[int, ...], float | None] = {}

    def next(self, number: int) -> list[Point]:
        """At most so many new points; fewer where the optimiser finds no more, none where all were tried."""
        found: list[Point] = []
        tries = 0
        while len(found) < number and tries < TRIES and len(self._known) + len(found) < len(self._allowed):
            trial = self._study.ask(self._choices)
            point = {name: int(trial.params[name]) for name in self._choices}
            key = _key(point)
            if key in self._allowed and key not in self._known and key not in self._waiting:
                self._waiting[key] = trial
                found.append(point)
                tries = 0
                continue
            tries += 1
            self._tell(trial, self._known.get(key))
        return found

    def tell(self, steps: Sequence[Step]) -> None:
        """What the points of a generation came to."""
        for step in steps:
            key = _key(step.values)
            self._known[key] = step.measured.speedup
            self._tell(self._waiting.pop(key), step.measured.speedup)

    def _tell(self, trial: optuna.Trial, speedup: float | None) -> None:
        """A point without a speedup counts as worse than all others."""
        if speedup is None:
            self._study.tell(trial, state=self._pruned)
        else:
            self._study.tell(trial, math.log(speedup))


def _key(point: Point) -> tuple[int, ...]:
    return tuple(point.values())

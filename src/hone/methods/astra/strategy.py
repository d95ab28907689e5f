"""What a round is: which versions it starts from, how many candidates each is asked for, and when there is none.

    round_of(history, experiment)  ->  branches  ->  a prompt of each role for each branch  ->  candidates

`linear` has one branch, from the last version or the best one. `beam` has `width` of them, from the fastest versions by
measured time. Samples tell the branches apart in all records: roles answer branch b as sample b, and its candidates are
the samples from b * `samples` on. So gates, ledger and records are the same for all strategies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hone.config.settings import Experiment
from hone.config.strategy import Beam
from hone.methods.astra.history import History, Version
from hone.records import BuildStatus
from hone.teams import TEAMS

ALL_ROUNDS = "all rounds were asked"


@dataclass(frozen=True)
class Branch:
    """One line of a round."""

    number: int
    """Sample of the roles' prompts and answers."""
    start: Version
    samples: tuple[int, ...]
    """Those of its candidates."""


@dataclass(frozen=True)
class Spent:
    """What a search has cost so far."""

    evaluations: int
    answers: int


def round_of(history: History, experiment: Experiment) -> list[Branch]:
    """The branches of the round after a history; none where the kernel is at its floor or its budget is spent.

    A round that the budget does not cover has fewer candidates: those of the fastest versions first.
    """
    if history.at_floor(experiment.astra):
        return []
    budget, cost = experiment.strategy.budget, spent(history, experiment)
    evaluations = _left(budget.evaluations, cost.evaluations)
    answers = _left(budget.answers, cost.answers)
    found = []
    for number, start in enumerate(starts(history, experiment)):
        others = _other_roles(experiment)
        size = min(experiment.samples, evaluations // len(history.suite), answers - others)
        if size < 1:
            break
        first = number * experiment.samples
        found.append(Branch(number, start, tuple(range(first, first + int(size)))))
        evaluations, answers = evaluations - size * len(history.suite), answers - others - size
    return found


def starts(history: History, experiment: Experiment) -> list[Version]:
    """The versions that the next round would start from, one for each branch."""
    if not isinstance(experiment.strategy, Beam):
        return [history.start(experiment.astra)]
    width = experiment.strategy.width
    fastest = history.fastest(width) or [history.best]
    return [fastest[branch % len(fastest)] for branch in range(width)]


def start_of(history: History, turn: int, sample: int, experiment: Experiment) -> Version | None:
    """The version that a candidate was made from; None for the existing kernel, and for rounds that never began."""
    before = history.before(turn)
    if turn == 0 or not before.versions or before.last_turn < turn - 1:
        return None
    return starts(before, experiment)[branch_of(sample, experiment)]


def branch_of(sample: int, experiment: Experiment) -> int:
    """Number of the branch that a candidate belongs to."""
    return sample // experiment.samples


def is_asked(history: History, turn: int, sample: int, experiment: Experiment) -> bool:
    """Whether a candidate belongs to a round, or to one that can still come; False where the search stopped before."""
    before = history.before(turn)
    branches = round_of(before, experiment)
    if before.last_turn < turn - 1:
        return bool(branches)
    return any(sample in branch.samples for branch in branches)


def ending(history: History, experiment: Experiment) -> str:
    """Why no round comes after the last one that there is."""
    if history.at_floor(experiment.astra):
        share = history.floor_share(history.best, experiment.astra)
        return f"at the floor: the least time is {share:.0%} of that of {history.best.label}"
    if history.last_turn >= experiment.turns - 1:
        return ALL_ROUNDS
    return "not all rounds are there" if round_of(history, experiment) else "the budget was spent"


def spent(history: History, experiment: Experiment) -> Spent:
    """Verdicts on the distinct kernels that were written and compile, and answers of all roles, the suite's included.

    The existing kernel's own verdicts are no part of a search.
    """
    written = [version for version in history.versions if version.turn > 0]
    judged = {
        version.attempt.solution: len(version.traces)
        for version in written
        if version.build is not None and version.build.status is BuildStatus.BUILT
    }
    branches = {(version.turn, branch_of(version.attempt.sample, experiment)) for version in written}
    return Spent(sum(judged.values()), 1 + len(written) + _other_roles(experiment) * len(branches))


def _other_roles(experiment: Experiment) -> int:
    """Answers that a branch takes beside its candidates."""
    return len(TEAMS[experiment.method].roles[:-1])


def _left(limit: int | None, cost: int) -> float:
    return math.inf if limit is None else limit - cost

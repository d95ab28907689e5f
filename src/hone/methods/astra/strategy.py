"""What a round is: which versions it starts from, how many candidates each is asked for, and when there is none.

    round_of(history, experiment)  ->  branches  ->  a prompt of each role for each branch  ->  candidates

`linear` has one branch, from the last version or the best one. `beam` has `width` of them, from the fastest versions by
measured time. Samples tell the branches apart in all records: roles answer branch b as sample b, and its candidates are
the samples from b * `samples` on. So gates, ledger and records are the same for all strategies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hone.config.experiments import Experiment
from hone.config.strategy import Beam
from hone.methods.astra.history import History, Version
from hone.records import BuildStatus
from hone.teams import TEAMS

ALL_ROUNDS = "all rounds were asked"
BUDGET_SPENT = "the budget was spent"


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


def why_not_asked(history: History, turn: int, sample: int, experiment: Experiment) -> str:
    """Why the search left a candidate out; empty where it belongs to a round, or to one that can still come."""
    before = history.before(turn)
    branches = round_of(before, experiment)
    to_come = before.last_turn < turn - 1
    if branches and (to_come or any(sample in branch.samples for branch in branches)):
        return ""
    return _at_floor(before, experiment) or BUDGET_SPENT


def ending(history: History, experiment: Experiment) -> str:
    """Why no round comes after the last one that there is."""
    if floor := _at_floor(history, experiment):
        return floor
    if history.last_turn >= experiment.turns - 1:
        return ALL_ROUNDS
    return "not all rounds are there" if round_of(history, experiment) else BUDGET_SPENT


def _at_floor(history: History, experiment: Experiment) -> str:
    if not history.at_floor(experiment.astra):
        return ""
    share = history.floor_share(history.best, experiment.astra)
    return f"at the floor: the least time is {share:.0%} of that of {history.best.label}"


def spent(history: History, experiment: Experiment) -> Spent:
    """Verdicts by the suite on distinct kernels that were written and compile, and answers of all roles.

    The existing kernel's own verdicts are no part of a search.
    """
    written = [version for version in history.versions if version.turn > 0]
    judged = {
        version.attempt.solution: sum(item.id in version.traces for item in history.suite)
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

"""The versions of one kernel, round after round, and which of them the next round starts from.

The log of the paper's loop (section 3: round, kernel, passed, times), from records alone: equal records, equal choice.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pydantic import Field

from hone.config.experiments import Rounds
from hone.methods.astra.roofline import least_time
from hone.records import Build, Candidate, Definition, Solution, Trace, Versioned, Workload
from hone.selection.rank import credited_speedup, fastest, mean_speedup
from hone.sources.workloads import moved_bytes

JUDGES_BOUND = Rounds()
"""Without other options the floor is the judge's own bound."""


class Attempt(Versioned):
    """What one answer of a round became: a candidate without its origin.

    Prompts are made from attempts and not from candidates, so that a prompt edit which gives the same kernels changes
    no later prompt.
    """

    definition: str
    turn: int
    sample: int
    solution: str | None
    """Id of the solution, absent when the answer had no usable code."""
    problem: str = ""
    """Why there is no solution."""
    unanswered: bool = Field(False, exclude_if=lambda value: not value)
    """The server refused the prompt."""


def attempts_of(candidates: Iterable[Candidate]) -> list[Attempt]:
    """One attempt for each candidate."""
    return [
        Attempt(
            definition=row.definition, turn=row.turn, sample=row.sample, solution=row.solution, problem=row.problem,
            unanswered=row.unanswered,
        )
        for row in candidates
    ]  # fmt: skip


@dataclass(frozen=True)
class Version:
    """One version of a kernel; turn 0 is the existing one."""

    attempt: Attempt
    solution: Solution | None
    build: Build | None
    traces: Mapping[str, Trace]
    """Workload's id -> verdict, over the suite."""

    @property
    def turn(self) -> int:
        """The round that it came from."""
        return self.attempt.turn

    @property
    def label(self) -> str:
        """Its name in prompts."""
        if self.turn == 0:
            return "version 0 (the existing kernel)"
        return f"version {self.turn}{f', candidate {self.attempt.sample + 1}' if self.attempt.sample else ''}"


@dataclass(frozen=True)
class History:
    """All versions of one kernel, by round and candidate, and the suite that they were measured on."""

    definition: Definition
    suite: tuple[Workload, ...]
    versions: tuple[Version, ...]

    @cached_property
    def counted(self) -> tuple[Workload, ...]:
        """The suite's workloads that the existing kernel itself passes: speedup is over these."""
        existing = self.versions[0].traces
        return tuple(item for item in self.suite if credited_speedup(existing.get(item.id)) is not None)

    @property
    def last_turn(self) -> int:
        """The last round that has a version."""
        return self.versions[-1].turn

    @property
    def target(self) -> str:
        """What the existing kernel was compiled for; empty where it was not."""
        build = self.versions[0].build
        return build.target if build is not None else ""

    def before(self, turn: int) -> History:
        """As it was before a round."""
        return replace(self, versions=tuple(version for version in self.versions if version.turn < turn))

    def of_turn(self, turn: int) -> list[Version]:
        """A round's candidates."""
        return [version for version in self.versions if version.turn == turn]

    def resolved(self, version: Version) -> bool:
        """Whether its verdicts say something about it; an answer without code has nothing to judge."""
        if version.solution is None:
            return True
        verdicts = [version.traces[item.id] for item in self.counted or self.suite if item.id in version.traces]
        said = [trace.status.resolved for trace in verdicts]
        return all(said) if self.counted else any(said)

    def passes(self, version: Version) -> int:
        """On how many of the counted workloads it is right and its time beyond doubt."""
        return sum(credited_speedup(version.traces.get(item.id)) is not None for item in self.counted)

    def speedup(self, version: Version) -> float | None:
        """Geometric mean over the counted workloads of upstream's time over its own; None unless all pass."""
        return mean_speedup(version.traces, self.counted)

    def floor_share(self, version: Version, options: Rounds = JUDGES_BOUND) -> float | None:
        """Geometric mean over the counted workloads of the least possible time over its own.

        None unless all pass, or where there is no such bound (on a CPU).
        """
        if self.speedup(version) is None:
            return None
        floors = [self.floor_us(version, item, options) for item in self.counted]
        times = [time.solution.latency_ms for item in self.counted if (time := version.traces[item.id].performance)]
        known = [floor for floor in floors if floor is not None]
        if len(known) < len(floors):
            return None
        return statistics.geometric_mean([floor / (1e3 * ms) for floor, ms in zip(known, times, strict=True)])

    def floor_us(self, version: Version, workload: Workload, options: Rounds = JUDGES_BOUND) -> float | None:
        """The least time for a workload on which the version was timed: the judge's bound, or with `roofline` that of
        the bytes at the speed of a copy; None where there is none."""
        trace = version.traces[workload.id]
        if options.roofline:
            least = least_time(moved_bytes(self.definition, workload), trace)
            return None if least is None else least.us
        bound_ms = trace.performance.floor_ms if trace.performance is not None else 0.0
        return 1e3 * bound_ms if bound_ms > 0 else None

    def chosen(self, turn: int) -> Version:
        """The candidate of a round that goes on: the fastest that passes, else the one that comes nearest.

        Nearest: most workloads passed, then built, then any code; the first of equals.
        """
        return max(self.of_turn(turn), key=self._rank)

    def _rank(self, version: Version) -> tuple[float, int, bool, bool]:
        built = version.build is not None and version.build.artifact is not None
        return self.speedup(version) or 0.0, self.passes(version), built, version.solution is not None

    @property
    def best(self) -> Version:
        """The fastest version whose suite passed wholly, the earliest of equals; else the existing kernel."""
        return fastest(self.versions, self.speedup) or self.versions[0]

    def fastest(self, number: int) -> list[Version]:
        """The fastest versions whose suite passed wholly, the fastest first, of equal kernels the first.

        The existing kernel is one of them, if it passes.
        """
        passed = [(value, version) for version in self.versions if (value := self.speedup(version)) is not None]
        distinct: dict[str | None, Version] = {}
        for _, version in sorted(passed, key=lambda pair: -pair[0]):
            distinct.setdefault(version.attempt.solution, version)
        return list(distinct.values())[:number]

    def start(self, options: Rounds) -> Version:
        """The version that the next round starts from."""
        if options.start_from == "best":
            return self.best
        rounds = (self.chosen(turn) for turn in range(self.last_turn, -1, -1))
        return next(version for version in rounds if version.solution is not None)

    def at_floor(self, options: Rounds) -> bool:
        """Whether the best version is as near to the least possible time as the experiment wants."""
        enough = options.enough_share
        share = None if enough is None else self.floor_share(self.best, options)
        return enough is not None and share is not None and share >= enough


def histories(
    definitions: Iterable[Definition],
    suites: Mapping[str, Sequence[Workload]],
    attempts: Iterable[Attempt],
    solutions: Iterable[Solution],
    builds: Iterable[Build],
    traces: Iterable[Trace],
) -> dict[str, History]:
    """Definition -> its history, for those that have a version; `suites` go by definition."""
    code = {item.id: item for item in solutions}
    built = {item.solution: item for item in builds}
    judged: dict[str, dict[str, Trace]] = {}
    for trace in traces:
        judged.setdefault(trace.solution, {})[trace.workload] = trace
    rows: dict[str, list[Version]] = {}
    for attempt in sorted(attempts, key=lambda row: (row.turn, row.sample)):
        key = attempt.solution or ""
        version = Version(attempt, code.get(key), built.get(key), judged.get(key, {}))
        rows.setdefault(attempt.definition, []).append(version)
    return {
        item.name: History(item, tuple(suites[item.name]), tuple(rows[item.name]))
        for item in definitions
        if item.name in rows
    }

"""Points of searches on this machine: compiled in parallel, pruned by the compiler's figures, timed by the judge."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hone.compile.builds import build_all
from hone.compile.kernels import with_kernels
from hone.compile.outcome import first_error
from hone.compile.slots import compilers_at_a_time
from hone.config.experiments import UPSTREAM
from hone.core.errors import MachineError
from hone.judge.judging import judge_all
from hone.machine.hardware import GPU
from hone.records import (
    Build,
    BuildStatus,
    Definition,
    Protocol,
    SearchStep,
    Solution,
    Status,
    Trace,
    Workload,
)
from hone.selection.rank import mean_speedup
from hone.tunables import Tunable
from hone.tuning.limits import objection
from hone.tuning.search import Measured, Point


@dataclass(frozen=True)
class Template:
    """A kernel that declares parameters."""

    file: str
    solution: Solution
    """With the first values."""
    space: Tunable

    def at(self, point: Point) -> Solution:
        """The kernel with these values."""
        return self.solution.model_copy(update={"source": self.space.at(point)})


@dataclass(frozen=True)
class Bench:
    """What all searches of a job share."""

    definition: Definition
    workloads: Sequence[Workload]
    """Of those that a prompt may show: a search must not know the others."""
    protocol: Protocol
    baselines: Sequence[str]
    store: Path
    gpu: GPU | None
    """What CUDA is compiled for; None on a CPU."""
    short_runs: int
    """Timed runs of the shortest timing; each rung doubles them."""

    @property
    def baseline(self) -> str:
        """What speedup is over: the existing kernel where there is one, else the config's first baseline."""
        known = UPSTREAM in self.definition.kernels and UPSTREAM in self.baselines
        return UPSTREAM if known else self.baselines[0]

    def protocol_of(self, rung: int | None) -> Protocol:
        """The judge's own, or a shorter one: one trial, fewer runs, no more than their part of the seconds."""
        whole = self.protocol
        if rung is None:
            return whole
        runs = min(whole.timing_runs, self.short_runs * 2**rung)
        shorter = {
            "correctness_trials": 1, "distributions": ("as_given",), "warmup_runs": min(1, whole.warmup_runs),
            "timing_runs": runs, "timing_seconds": whole.timing_seconds * runs / whole.timing_runs, "profile": False,
            "as_published": None,
        }  # fmt: skip
        return whole.model_copy(update=shorter)


@dataclass
class Trials:
    """One search of a template's values: `steps` has what came of each point."""

    experiment: str
    template: Template
    bench: Bench
    repeat: int
    seed: int
    steps: list[SearchStep] = field(default_factory=list)
    _first: Build | None = None

    def objection(self, build: Build, point: Point) -> str:
        """Why a point is not run; empty: nothing speaks against it."""
        if build.status is not BuildStatus.BUILT:
            said = first_error(build.log).splitlines()
            return f"{build.status.value}: {said[0] if said else ''}".strip()
        if self._first is None and point == self.template.space.first:
            self._first = build
        return objection(build, self.template.space, point, self.bench.gpu, self._first)

    def note(
        self,
        solution: Solution,
        point: Point,
        rung: int | None,
        build: Build,
        problem: str,
        traces: Mapping[str, Trace],
    ) -> Measured:
        """Keep what came of a point. Raises MachineError where it could not be judged."""
        before = self.steps[-1] if self.steps else None
        unresolved = next((trace for trace in traces.values() if not trace.status.resolved), None)
        if unresolved is not None:
            remedy = "judge where it is possible, then run again"
            raise MachineError(unresolved.detail, where=f"{self.template.file} with {point}", remedy=remedy)
        speedup = mean_speedup(traces, self.bench.workloads, self.bench.baseline) if traces else None
        seconds = (build.seconds if rung == 0 else 0.0) + sum(sum(item.phase_s.values()) for item in traces.values())
        self.steps.append(
            SearchStep(
                experiment=self.experiment, definition=self.bench.definition.name, file=self.template.file,
                repeat=self.repeat, seed=self.seed, values=point, solution=solution.id, rung=rung, speedup=speedup,
                share=_share(traces) if speedup is not None else None,
                problem="" if speedup is not None else problem or _failure(traces),
                evaluations=(before.evaluations if before else 0) + len(traces),
                seconds=round((before.seconds if before else 0.0) + seconds, 3),
            )
        )  # fmt: skip
        return Measured(speedup, len(traces))


def measured(
    trials: Mapping[int, Trials], rung: int | None, points: Mapping[int, Sequence[Point]]
) -> dict[int, list[Measured]]:
    """As `together` wants it, for searches of one template: compiled in one pool, judged in one session.

    Raises MachineError without a compiler, and where nothing can be judged.
    """
    one = next(iter(trials.values()))
    bench, template = one.bench, one.template
    asked = [(number, point, template.at(point)) for number, each in points.items() for point in each]
    builds = _built(bench, template, [solution for *_, solution in asked])
    objections = [trials[number].objection(builds[item.id], point) for number, point, item in asked]
    sound = {item.id: item for (*_, item), problem in zip(asked, objections, strict=True) if not problem}
    traces = _judged(bench, rung, list(sound.values()), builds)
    found: dict[int, list[Measured]] = {number: [] for number in points}
    for (number, point, item), problem in zip(asked, objections, strict=True):
        told = trials[number].note(item, point, rung, builds[item.id], problem, traces.get(item.id, {}))
        found[number].append(told)
    return found


def _built(bench: Bench, template: Template, solutions: Sequence[Solution]) -> Mapping[str, Build]:
    known = {bench.definition.name: bench.definition}
    wanted = with_kernels([*solutions, template.solution], known, bench.protocol.device)
    made = build_all(
        wanted, known, store=bench.store, timeout_s=bench.protocol.build_timeout_s, workers=compilers_at_a_time(),
        gpu=bench.gpu, progress=False,
    )  # fmt: skip
    if missing := next((item for item in made if item.status is BuildStatus.NO_COMPILER), None):
        remedy = "install it, then run the same command again"
        raise MachineError(missing.log.splitlines()[0], where=template.file, remedy=remedy)
    return {item.solution: item for item in made}


def _judged(
    bench: Bench, rung: int | None, solutions: Sequence[Solution], builds: Mapping[str, Build]
) -> dict[str, dict[str, Trace]]:
    """Solution -> workload -> verdict."""
    traces: dict[str, dict[str, Trace]] = {}
    for trace in judge_all(
        solutions, builds, {bench.definition.name: bench.definition}, {bench.definition.name: bench.workloads},
        bench.protocol_of(rung), baselines=bench.baselines if rung is None else (bench.baseline,),
        store=bench.store, progress=False,
    ):  # fmt: skip
        traces.setdefault(trace.solution, {})[trace.workload] = trace
    return traces


def _failure(traces: Mapping[str, Trace]) -> str:
    """Why a kernel that was judged has no speedup."""
    wrong = next((trace for trace in traces.values() if trace.status is not Status.PASSED), None)
    if wrong is not None:
        return f"{wrong.status.value}: {wrong.detail.splitlines()[0] if wrong.detail else ''}".strip()
    doubts = {found for trace in traces.values() if trace.performance for found in trace.performance.findings}
    return f"doubtful: {', '.join(sorted(doubts))}" if doubts else "the baseline was not timed beside it"


def _share(traces: Mapping[str, Trace]) -> float | None:
    timed = [trace.performance for trace in traces.values() if trace.performance is not None]
    if not timed or any(item.floor_ms <= 0 for item in timed):
        return None
    return statistics.geometric_mean(item.floor_ms / item.solution.latency_ms for item in timed)

"""What a run of Astra came to: of each kernel the winner's verdicts on all workloads, and means over kernels.

Speedup is over `upstream`, the kernel as it was published: geometric means, over all workloads of a kernel, held-out
ones included, and over kernels. A winner that fails one workload earns nothing: its own row has no speedup, and in a
mean over kernels it counts as 1, the existing kernel that stays. Where a verdict is missing the mean is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from hone.analysis.bandwidth import CopyBandwidths
from hone.analysis.context import Cells, Context
from hone.analysis.metrics import geometric_mean, geometric_mean_interval
from hone.analysis.paper_numbers import ALL_KERNELS
from hone.analysis.provenance import FROM_VERDICTS, of_trace
from hone.analysis.run import RunRecords
from hone.analysis.trajectories import Trajectory, Verdicts, trajectories
from hone.config.experiments import UPSTREAM
from hone.records import Performance, Trace, Workload
from hone.sources.workloads import moved_bytes

PAPER_WORKLOAD = re.compile(r"paper_(\d+(?:x\d+)*)")
"""How a workload's name says that it has the sizes of the paper's scripts."""
US_PER_MS = 1e3
ALL, PAPER = ALL_KERNELS, "paper"
"""`kernel` of the rows over all kernels of an experiment, and over those that the paper has numbers for."""


@dataclass(frozen=True)
class Outcome:
    """What a trajectory came to: its winner's verdicts on all workloads."""

    trajectory: Trajectory
    bandwidths: CopyBandwidths

    @property
    def place(self) -> Cells:
        """Columns that every table has."""
        trajectory = self.trajectory
        names = ("experiment", "model", "method", "rounds")
        return {name: getattr(trajectory, name) for name in names}

    @property
    def verdicts(self) -> Verdicts:
        """Of the winner; empty without one."""
        winner = self.trajectory.winner
        return winner.evaluation if winner is not None else Verdicts()

    @cached_property
    def correct(self) -> str:
        """`yes`, `no`, or `unknown` where a verdict is missing that decides it."""
        if self.trajectory.winner is None:
            return "unknown" if self.trajectory.unresolved else "no"
        if self.verdicts.passed:
            return "yes"
        return "no" if self.verdicts.resolved else "unknown"

    @property
    def credited(self) -> list[float]:
        """Speedups over upstream, one a workload; empty where nothing is earned or known."""
        return self.verdicts.credited(UPSTREAM)

    @property
    def known(self) -> bool:
        """Whether it is known what the kernel earned."""
        earned = self.credited or self.verdicts.findings
        return self.correct == "no" or (self.correct == "yes" and bool(earned))

    @property
    def counted(self) -> list[float]:
        """What a mean takes: the credited speedups; where nothing is earned ones, as the existing kernel stays."""
        return self.credited or [1.0] * len(self.trajectory.upstream.evaluation.counted or self.trajectory.workloads)

    @property
    def traces(self) -> list[Trace]:
        """Verdicts behind the row: the winner's, else the existing kernel's."""
        verdicts = self.verdicts if self.trajectory.winner else self.trajectory.upstream.evaluation
        return [trace for _, trace in verdicts.pairs if trace is not None]

    def timed(self) -> Iterator[tuple[Workload, Trace, Performance]]:
        """Workloads on which the winner passed and was timed."""
        for workload, trace in self.verdicts.pairs:
            if trace is not None and trace.performance is not None:
                yield workload, trace, trace.performance

    def share(self, workload: Workload, trace: Trace, performance: Performance) -> float:
        """The least possible time over the winner's."""
        assert self.trajectory.definition is not None
        floor = self.bandwidths.floor(moved_bytes(self.trajectory.definition, workload), trace)
        return floor.us / (US_PER_MS * performance.solution.latency_ms)


@dataclass(frozen=True)
class Astra:
    """What all Astra tables are made of."""

    context: Context
    outcomes: Sequence[Outcome]
    records: RunRecords

    @classmethod
    def of(cls, context: Context, records: RunRecords, bandwidths: CopyBandwidths) -> Astra:
        """From the records; one outcome for every kernel that the config asks for."""
        found = trajectories(context.settings, records)
        return cls(context, [Outcome(trajectory, bandwidths) for trajectory in found], records)

    def by_experiment(self) -> dict[tuple[str, str], list[Outcome]]:
        """(experiment, model) -> its outcomes."""
        found: dict[tuple[str, str], list[Outcome]] = {}
        for outcome in self.outcomes:
            found.setdefault((outcome.trajectory.experiment, outcome.trajectory.model), []).append(outcome)
        return found

    def provenance(self, traces: Iterable[Trace]) -> dict[str, str]:
        """Provenance columns of a row with these verdicts behind it."""
        verdicts = [of_trace(trace) for trace in traces]
        return self.context.provenance.columns({name: [item[name] for item in verdicts] for name in FROM_VERDICTS})

    def mean(self, outcomes: Sequence[Outcome]) -> Cells:
        """Speedup over several kernels, each with the same weight, and its interval; empty where one is not known."""
        if not all(outcome.known for outcome in outcomes):
            return {}
        groups = [outcome.counted for outcome in outcomes]
        low, high = geometric_mean_interval(groups, self.context.confidence)
        return {
            "speedup": geometric_mean([geometric_mean(speedups) for speedups in groups]),
            "ci_low": low,
            "ci_high": high,
        }

    def published(self, experiment: str, kernel: str, metric: str = "speedup", workload: str = "") -> Cells:
        """The columns `published` and `published_source`."""
        value, source = self.context.matcher.of_kernel(experiment, kernel, metric, workload)
        return {"published": value, "published_source": source}

    def is_published(self, outcome: Outcome, workload: Workload) -> bool:
        """Whether the paper measured this kernel at these sizes and in this data type."""
        return self.context.matcher.numbers.measured(outcome.trajectory.kernel, paper_shape(workload))


def paper_shape(workload: Workload) -> str:
    """A workload as the published numbers name it, sizes and data type; empty unless its name is `paper_<sizes>…`."""
    match = PAPER_WORKLOAD.match(workload.name)
    return f"{match[1]} {workload.dtype}" if match else ""

"""How a solution is judged, on whatever device: its results are checked, its time is taken, PyTorch's profiler runs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from hone.judge.baselines import BaselineFailedError, KernelBaselines
from hone.judge.case import Case
from hone.judge.counts import Counts
from hone.judge.findings import Findings
from hone.judge.protocols import measure_of
from hone.judge.stand import Checked, Process, Reference, Timed, Trial
from hone.judge.verdict import Verdict
from hone.records import TIMED_ALONE, Distribution, ErrorFigures, Performance, Protocol, Status, YardstickKind

YARDSTICKS: tuple[YardstickKind, ...] = get_args(YardstickKind)


@dataclass
class Figures:
    """Errors over all trials of all sizes."""

    tally: Counts = field(default_factory=Counts)
    exact: float | None = None
    baseline_exact: float | None = None
    yardstick: YardstickKind | None = None
    """The worst of all trials."""

    def record(self) -> ErrorFigures:
        """As a record."""
        update = {"exact_error": self.exact, "baseline_exact_error": self.baseline_exact, "yardstick": self.yardstick}
        return self.tally.figures().model_copy(update=update)

    def note_yardstick(self, kind: YardstickKind | None) -> None:
        """What precision was measured against in a trial."""
        known = [one for one in (self.yardstick, kind) if one is not None]
        self.yardstick = max(known, key=YARDSTICKS.index, default=None)


# ------------------------------------------------------------------------------------------------ correctness


@dataclass(frozen=True)
class PlannedTrial:
    """One that every solution of a workload meets."""

    seed: int
    """Of the inputs."""
    forward_seed: int
    distribution: Distribution
    exact: bool
    """Precision is measured, too."""


def planned_trials(
    seed: int, trials: int, distributions: Sequence[Distribution], protocol: Protocol
) -> Iterator[PlannedTrial]:  # fmt: skip
    """At least `trials`, and one with each of `distributions`, which the device can give; `seed`: the workload's."""
    seeds = random.Random(seed)
    strict = protocol.rule == "hone"
    chosen: Sequence[Distribution] = distributions if strict else ("as_given",)
    for number in range(max(trials, len(chosen))):
        input_seed, forward_seed = seeds.getrandbits(31), seeds.getrandbits(31)
        exact = strict and number < len(chosen)
        yield PlannedTrial(input_seed, forward_seed, chosen[number % len(chosen)], exact)


@dataclass
class Examination:
    """The trials of one solution at one choice of sizes."""

    stand: Checked
    protocol: Protocol
    findings: Findings
    figures: Figures = field(default_factory=Figures)

    def check(self, trials: int) -> None:
        """The planned trials, usual values where the reference refuses others; raises Verdict when one is wrong."""
        self.findings.only_held_out = bool(self.stand.place)
        refused: set[str] = set()
        usable = self.stand.usable(self.protocol.distributions)
        for item in planned_trials(self.stand.seed, trials, usable, self.protocol):
            if item.distribution in refused or not self._tried(item):
                refused.add(item.distribution)
                self._tried(replace(item, distribution="as_given", exact=False))
            self.findings.errors = self.figures.record()
        if self.figures.tally.wrong:
            raise Verdict(Status.WRONG_VALUE, self.figures.tally.sentence())

    def _tried(self, item: PlannedTrial) -> bool:
        """Whether the reference can take the distribution; raises Verdict for what is wrong beyond single elements."""
        distribution = item.distribution
        trial = self.stand.trial(item.seed, item.forward_seed, distribution, exact=item.exact)
        if trial is None:
            return False
        if distribution == "as_given" and not self.stand.place:
            self._note_as_published(trial)
        place = f" ({distribution} values)" if distribution != "as_given" else ""
        place += f" at {self.stand.place}" if self.stand.place else ""
        self._note(trial, place)
        return True

    def _note_as_published(self, trial: Trial) -> None:
        """KernelBench's rule: the tolerance alone, without what is added for rounding."""
        wrong = trial.counts.wrong if trial.wrong_by_tolerance is None else trial.wrong_by_tolerance
        if wrong or self.findings.status_as_published is None:
            self.findings.status_as_published = Status.WRONG_VALUE if wrong else Status.PASSED

    def _note(self, trial: Trial, place: str) -> None:
        if not trial.guards_hold:
            raise Verdict(Status.RUNTIME_ERROR, "it wrote outside its outputs")
        if trial.changed and self.protocol.rule == "hone":
            detail = f"it wrote to {', '.join(trial.changed)}, which the reference leaves alone"
            raise Verdict(Status.INPUT_CHANGED, detail)
        figures = self.figures
        figures.note_yardstick(trial.yardstick)
        figures.tally.merge(trial.counts.message(), place)
        if trial.error is None or trial.own_error is None or figures.tally.wrong:
            return
        figures.exact = max(figures.exact or 0.0, trial.error)
        figures.baseline_exact = max(figures.baseline_exact or 0.0, trial.own_error)
        limit = max(self.protocol.precision_factor * trial.own_error, self.stand.precision_floor)
        if not trial.error <= limit:
            self.findings.errors = figures.record()
            off, own = f"{trial.error:.2g}{place}", f"{trial.own_error:.2g}"
            detail = f"relative error {off}; the reference has {own}, {limit:.2g} is allowed"
            raise Verdict(Status.IMPRECISE, detail)


def lenient(protocol: Protocol) -> Protocol:
    """How an existing kernel is checked before it is a baseline: one trial on the usual values."""
    return protocol.model_copy(update={"correctness_trials": 1, "distributions": ("as_given",)})


# -------------------------------------------------------------------------------------------------------- time


def usable_baselines(
    case: Case, wanted: Sequence[str], reference: Reference, kernels: KernelBaselines[Any], findings: Findings
) -> list[str]:
    """Those that are timed in turns and work; the findings' remark says what is wrong with the others."""
    names = [name for name in case.baselines_of(wanted) if name not in TIMED_ALONE]
    problems = dict(kernels.problems)
    if "torch_compile" in names and (problem := reference.compile_baseline()):
        problems["torch_compile"] = problem
    findings.remark = "\n".join(problems[name] for name in names if name in problems)
    return [name for name in names if name not in problems]


def take_times(
    stand: Callable[[], Timed], usable: Sequence[str], kernels: KernelBaselines[Any], protocol: Protocol,
    findings: Findings,
) -> Performance:  # fmt: skip
    """All times again, without it, when an existing kernel fails meanwhile."""
    names, measure = list(usable), measure_of(protocol.timing_protocol)
    while True:
        try:
            return measure(stand(), names, protocol)
        except BaselineFailedError as error:
            kernels.drop(error)
            names = [name for name in names if name != error.name]
            findings.remark_also(kernels.problems[error.name])


def profile(reference: Reference, process: Process) -> str:
    """The table of a module, else of the reference; what fails only under the profiler has passed all the same."""
    if not process.copies_outputs:
        return reference.profile()
    try:
        return process.profile()
    except Verdict as verdict:
        return f"the solution could not be profiled: {verdict.detail}"

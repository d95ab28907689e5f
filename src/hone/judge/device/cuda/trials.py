"""Correctness of one loaded solution beside its reference, on a GPU."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Literal

from hone.judge.counts import Counts
from hone.judge.device.cpu.trials import Findings
from hone.judge.device.cuda.reference import DeviceReference
from hone.judge.device.cuda.side import DeviceSubject
from hone.judge.verdict import Verdict
from hone.records import ErrorFigures, Protocol, Status

YardstickKind = Literal["exact", "sliced", "float32", "none"]
YARDSTICKS: tuple[YardstickKind, ...] = ("exact", "sliced", "float32", "none")
"""The best first."""
PRECISION_FLOOR = {"float64": 1e-12, "float32": 5e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""Relative error that any honest implementation may have: far under that of the next smaller number format."""


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
        update = {
            "exact_error": self.exact, "baseline_exact_error": self.baseline_exact, "yardstick": self.yardstick
        }  # fmt: skip
        return self.tally.figures().model_copy(update=update)

    def note_yardstick(self, kind: YardstickKind | None) -> None:
        """What precision was measured against in a trial."""
        known = [one for one in (self.yardstick, kind) if one is not None]
        self.yardstick = max(known, key=YARDSTICKS.index, default=None)


class DeviceExamination:
    """One solution and its reference at one choice of sizes, both loaded."""

    def __init__(
        self,
        reference: DeviceReference,
        subject: DeviceSubject,
        protocol: Protocol,
        findings: Findings,
        figures: Figures,
    ) -> None:
        self._reference = reference
        self._subject = subject
        self._protocol = protocol
        self._findings = findings
        self._figures = figures
        self._strict = protocol.rule == "hone"
        self._scalars: list[dict[str, Any]] = [reference.scalars]

    # ---------------------------------------------------------------------------------------- correctness

    @property
    def scalars(self) -> list[dict[str, Any]]:
        """The arguments of the last trial that are plain numbers: one mapping."""
        return self._scalars

    def check_correctness(self, trials: int) -> None:
        """Trials with seeds drawn from the workload's, distributions in turn; raises Verdict when one is wrong."""
        seeds = random.Random(self._reference.plan.workload.seed)
        chosen = self._protocol.distributions if self._strict else ("as_given",)
        refused: set[str] = set()
        for number in range(max(trials, len(chosen))):
            distribution = chosen[number % len(chosen)]
            exact = self._strict and number < len(chosen)
            input_seed, forward_seed = seeds.getrandbits(31), seeds.getrandbits(31)
            if distribution in refused or not self._trial(input_seed, forward_seed, distribution, exact=exact):
                refused.add(distribution)
                self._trial(input_seed, forward_seed, "as_given", exact=False)
            self._findings.errors = self._figures.record()
        if self._figures.tally.wrong:
            raise Verdict(Status.WRONG_VALUE, self._figures.tally.sentence())

    def _trial(self, seed: int, forward_seed: int, distribution: str, *, exact: bool) -> bool:
        """One trial; false, and nothing is judged, where the reference cannot take the distribution."""
        findings, reference, subject = self._findings, self._reference, self._subject
        with findings.phase("correctness"):
            subject.prepare(forward_seed, self._scalars)
        with findings.phase("reference"):
            made = reference.trial(seed, forward_seed, distribution, exact=exact)
        if not made["usable"]:
            return False
        with findings.phase("correctness"):
            if [made["scalars"]] != self._scalars[:1]:
                self._scalars = [made["scalars"]]
                subject.prepare(forward_seed, self._scalars)
            subject.run(1, reference)
            subject.store()
            answer = reference.compare(distribution)
            if distribution == "as_given" and not self._reference.plan.held_out:
                self._note_as_published(answer)
            self._figures.note_yardstick(made.get("yardstick"))
            self._note(answer, made["baseline_error"], distribution)
        return True

    def _note_as_published(self, answer: dict[str, Any]) -> None:
        """KernelBench's rule: the tolerance alone, without what is added for rounding."""
        wrong = bool(answer.get("wrong_by_tolerance", answer["wrong"]))
        if wrong or self._findings.as_published is None:
            self._findings.as_published = Status.WRONG_VALUE if wrong else Status.PASSED

    def _note(self, answer: dict[str, Any], baseline_error: float | None, distribution: str) -> None:
        """Add a comparison to the figures; raises Verdict for what is wrong beyond single elements."""
        if not answer["guards"]:
            raise Verdict(Status.RUNTIME_ERROR, "it wrote outside its outputs")
        if answer["changed"] and self._strict:
            detail = f"it wrote to {', '.join(answer['changed'])}, which the reference leaves alone"
            raise Verdict(Status.INPUT_CHANGED, detail)
        tally = self._figures.tally
        plan = self._reference.plan
        sizes = ", ".join(f"{axis} = {size}" for axis, size in plan.sizes.items() if plan.held_out)
        place = f" ({distribution} values)" if distribution != "as_given" else ""
        place += f" at {sizes}" if sizes else ""
        tally.merge(answer, place)
        mine = answer.get("exact_error")
        if mine is None or baseline_error is None or tally.wrong:
            return
        figures = self._figures
        figures.exact = max(figures.exact or 0.0, mine)
        figures.baseline_exact = max(figures.baseline_exact or 0.0, baseline_error)
        limit = max(self._protocol.precision_factor * baseline_error, self._floor())
        if not mine <= limit:
            detail = f"relative error {mine:.2g}{place}; the reference has {baseline_error:.2g}, {limit:.2g} is allowed"
            self._findings.errors = figures.record()
            raise Verdict(Status.IMPRECISE, detail)

    def _floor(self) -> float:
        return max(PRECISION_FLOOR.get(slot.dtype, 0.0) for slot in self._reference.plan.results)

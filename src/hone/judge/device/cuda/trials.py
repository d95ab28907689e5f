"""Trials of one loaded solution beside its reference, on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hone.judge.counts import Counts
from hone.judge.device.cuda.plan import DevicePlan
from hone.judge.device.cuda.reference import DeviceReference
from hone.judge.device.cuda.side import DeviceSubject
from hone.judge.findings import Findings
from hone.judge.procedure import PlannedTrial, planned_trials
from hone.judge.stand import Scalars, Trial
from hone.records import Distribution, Protocol

PRECISION_FLOOR = {
    "float64": 1e-12, "float32": 5e-5, "float16": 4e-3, "bfloat16": 3e-2, "float8_e4m3fn": 0.1, "float8_e5m2": 0.2,
}  # fmt: skip
"""Relative error that any honest implementation may have: far under that of the next smaller number format."""


HELD_OUT_TRIALS = 1


def trial_count(plan: DevicePlan, protocol: Protocol) -> int:
    """Trials of a solution, at least."""
    return HELD_OUT_TRIALS if plan.held_out else protocol.correctness_trials


def planned(plan: DevicePlan, protocol: Protocol) -> Iterator[PlannedTrial]:
    """What every solution of the workload is tried with."""
    return planned_trials(plan.workload.seed, trial_count(plan, protocol), protocol.distributions, protocol)


class DeviceTrials:
    """Inputs, expected results and the comparison are the trusted process's; the solution only runs."""

    def __init__(self, reference: DeviceReference, subject: DeviceSubject, findings: Findings) -> None:
        self._reference = reference
        self._subject = subject
        self._findings = findings
        self._scalars: Scalars = [reference.scalars]

    @property
    def scalars(self) -> Scalars:
        """The arguments of the last trial that are plain numbers: one mapping."""
        return self._scalars

    @property
    def seed(self) -> int:
        """The workload's."""
        return self._reference.plan.workload.seed

    @property
    def place(self) -> str:
        """The sizes that differ from the reference's own, where they are held-out ones."""
        plan = self._reference.plan
        return ", ".join(f"{axis} = {size}" for axis, size in plan.sizes.items() if plan.held_out)

    @property
    def precision_floor(self) -> float:
        """By the coarsest data type of the results."""
        return max(PRECISION_FLOOR.get(slot.dtype, 0.0) for slot in self._reference.plan.results)

    def usable(self, distributions: Sequence[Distribution]) -> Sequence[Distribution]:
        """All of them."""
        return distributions

    def trial(self, seed: int, forward_seed: int, distribution: Distribution, *, exact: bool) -> Trial | None:
        """One run on set 0; None where the reference cannot take the distribution."""
        findings, reference, subject = self._findings, self._reference, self._subject
        with findings.phase("correctness"):
            subject.prepare(forward_seed, self._scalars)
        with findings.phase("reference"):
            made = reference.trial(seed, forward_seed, distribution, exact=exact)
        if not made["usable"]:
            return None
        with findings.phase("correctness"):
            if [made["scalars"]] != self._scalars[:1]:
                self._scalars = [made["scalars"]]
                subject.prepare(forward_seed, self._scalars)
            subject.run(1, reference)
            subject.store()
            return _trial_of(reference.compare(distribution), made)


def _trial_of(answer: dict[str, Any], made: dict[str, Any]) -> Trial:
    counts = Counts()
    counts.merge(answer)
    return Trial(
        counts=counts, guards_hold=answer["guards"], changed=answer["changed"],
        wrong_by_tolerance=answer.get("wrong_by_tolerance"), yardstick=made.get("yardstick"),
        own_error=made["baseline_error"], error=answer.get("exact_error"),
    )  # fmt: skip

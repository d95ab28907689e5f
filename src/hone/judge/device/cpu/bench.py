"""What is kept on a CPU from one solution to the next: zygotes, the current reference, existing kernels beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from hone.core.errors import on_failure
from hone.judge.baselines import KernelBaselines
from hone.judge.case import Case, check_build
from hone.judge.device.cpu.reference import Reference
from hone.judge.device.cpu.side import Subject
from hone.judge.device.cpu.stand import CpuStand
from hone.judge.findings import Findings
from hone.judge.plan import Plan, make_plan
from hone.judge.procedure import Examination, lenient, profile, take_times, usable_baselines
from hone.judge.runner import Zygote
from hone.machine.confinement import Shortfall
from hone.records import Protocol


class CpuBench:
    """A context manager: everything that was started ends with it."""

    def __init__(self, protocol: Protocol, baselines: Sequence[str]) -> None:
        self._protocol = protocol
        self._baselines = tuple(baselines)
        cpus = runner_cpus(protocol)
        self._torch = Zygote("torch", protocol.threads, cpus)
        self._plain = Zygote("plain", protocol.threads, cpus)
        self._shortfall = Shortfall()
        self._reference: Reference | None = None
        self._kernels: KernelBaselines[Subject] | None = None
        """Of the current reference."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.drop()
        self._torch.close()
        self._plain.close()

    def judge(self, case: Case, findings: Findings) -> None:
        """Fill in the findings; returns when the solution passed, else raises Verdict (or MachineError)."""
        plan = self._plan(case)
        with findings.phase("reference"):
            reference = self._load_reference(plan)
        zygote = self._plain if case.artifact else self._torch
        with findings.phase("load"):
            subject = Subject(zygote, plan, self._protocol, case.solution, case.artifact)
        try:
            self._judge(case, reference, subject, findings)
        finally:
            subject.close()

    def _judge(self, case: Case, reference: Reference, subject: Subject, findings: Findings) -> None:
        protocol = self._protocol
        findings.confinement = subject.confinement
        self._shortfall.warn_once(subject.confinement)
        with findings.phase("load"):
            subject.load(reference)
        checked = CpuStand(reference, subject, protocol, findings)
        Examination(checked, protocol, findings).check(protocol.correctness_trials)
        if protocol.timing:
            with findings.phase("baselines"):
                kernels = self._kernel_baselines(case, reference)
                usable = usable_baselines(case, self._baselines, reference, kernels, findings)
            with findings.phase("timing"):
                stand = CpuStand(reference, subject, protocol, findings, kernels.ready)
                findings.performance = take_times(lambda: stand, usable, kernels, protocol, findings)
        if protocol.profile:
            with findings.phase("profile"):
                findings.profile = profile(reference, subject)

    def _kernel_baselines(self, case: Case, reference: Reference) -> KernelBaselines[Subject]:
        """Those of the reference at hand, started when they are first needed."""
        if self._kernels is None:
            self._kernels = KernelBaselines(
                case.kernels, lambda name: self._start_kernel(case.of_kernel(name), reference), reference
            )
        return self._kernels

    def _start_kernel(self, case: Case, reference: Reference) -> Subject:
        """A process with an existing kernel that was found right; raises Verdict."""
        check_build(case, self._protocol)
        subject = Subject(self._plain, reference.plan, self._protocol, case.solution, case.artifact)
        with on_failure(subject.close):
            subject.load(reference)
            protocol, findings = lenient(self._protocol), Findings()
            stand = CpuStand(reference, subject, protocol, findings)
            Examination(stand, protocol, findings).check(protocol.correctness_trials)
        return subject

    def _plan(self, case: Case) -> Plan:
        if self._reference is not None and self._reference.plan.workload.id != case.workload.id:
            self.drop()  # its memory, and its kernels', may be needed
        held_bytes = self._reference.plan.arena_bytes if self._reference is not None else 0
        return make_plan(case.definition, case.workload, self._protocol, held_bytes)

    def _load_reference(self, plan: Plan) -> Reference:
        current = self._reference
        if current is None or not current.alive or current.plan != plan:
            self.drop()
            compiles = "torch_compile" in self._baselines
            self._reference = current = Reference(self._torch, plan, self._protocol, compiles=compiles)
        with on_failure(self.drop):
            current.load()
        return current

    def drop(self) -> None:
        """End the reference and the kernels beside it."""
        if self._kernels is not None:
            self._kernels.close()
            self._kernels = None
        dropped, self._reference = self._reference, None
        if dropped is not None:
            dropped.close()


def runner_cpus(protocol: Protocol) -> list[int]:
    """Where runners stay while time counts: as many CPUs as threads, so that no candidate uses more than a baseline."""
    available = sorted(os.sched_getaffinity(0))
    return available[-protocol.threads :] if protocol.timing and protocol.threads < len(available) else []

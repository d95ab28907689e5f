"""What outlives one solution within a call: zygotes, the current reference, and what is known not to be judgeable."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hone.build.kernels import kernel_solution
from hone.build.toolchain import CUDA_TARGET, cpu_target
from hone.judge.confinement import FULL
from hone.judge.examine import Examination, Findings
from hone.judge.kernels import BaselineFailedError, KernelBaselines
from hone.judge.needs import cpu_only, lacking, lacking_on_gpu
from hone.judge.plan import Plan, make_plan
from hone.judge.reference import Reference
from hone.judge.runner import Zygote
from hone.judge.subject import Subject
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.records import (
    TORCH_BASELINES,
    Build,
    BuildStatus,
    Definition,
    Language,
    Performance,
    Protocol,
    Solution,
    Status,
    Workload,
)

if TYPE_CHECKING:
    from hone.judge.cuda.reference import DeviceReference
    from hone.judge.cuda.subject import DeviceSubject


@dataclass(frozen=True)
class Case:
    """One solution with everything that its judgement depends on."""

    solution: Solution
    build: Build
    definition: Definition
    workload: Workload
    store: Path
    kernels: Mapping[str, Build] = field(default_factory=dict)
    """Those of the definition's existing kernels that are baselines here: name -> its build."""

    def baselines_of(self, wanted: Sequence[str]) -> list[str]:
        """Those of some baselines that there are for the definition, in order."""
        return [name for name in wanted if name in TORCH_BASELINES or name in self.kernels]

    def of_kernel(self, name: str) -> Case:
        """One of the existing kernels in the solution's place."""
        kernel = kernel_solution(self.definition, name)
        return Case(kernel, self.kernels[name], self.definition, self.workload, self.store)

    @property
    def artifact(self) -> Path | None:
        """The shared object, absent for interpreted languages."""
        return (self.store / self.build.artifact).resolve() if self.build.artifact else None


class BaseSession:
    """What sessions on a CPU and on a GPU share."""

    def __init__(self, protocol: Protocol, baselines: Sequence[str]) -> None:
        self.protocol = protocol
        self._baselines = tuple(baselines)
        self._refused: dict[str, Verdict] = {}
        """Id of a workload -> why no solution can be judged on it here."""
        self._warned = False

    @staticmethod
    def _profile(reference: Reference | DeviceReference, subject: Subject | DeviceSubject) -> str:
        """The table of a module, else of the reference; what fails only under the profiler has passed all the same."""
        if not subject.copies_outputs:
            return reference.profile()
        try:
            return subject.profile()
        except Verdict as verdict:
            return f"the solution could not be profiled: {verdict.detail}"

    def _usable_baselines(
        self, case: Case, reference: Reference | DeviceReference, kernels: KernelBaselines[Any], findings: Findings
    ) -> list[str]:
        """Those of the case's baselines that work; the findings' remark says what is wrong with the others."""
        wanted, problems = case.baselines_of(self._baselines), dict(kernels.problems)
        if "torch_compile" in wanted and (problem := reference.compile_baseline()):
            problems["torch_compile"] = problem
        findings.remark = "\n".join(problems[name] for name in wanted if name in problems)
        return [name for name in wanted if name not in problems]

    @staticmethod
    def _time(
        measure: Callable[[list[str]], Performance], usable: list[str], kernels: KernelBaselines[Any],
        findings: Findings,
    ) -> None:  # fmt: skip
        """Take times; all of them again, without it, when an existing kernel fails meanwhile."""
        while True:
            try:
                findings.performance = measure(usable)
                return
            except BaselineFailedError as error:
                kernels.drop(error)
                usable = [name for name in usable if name != error.name]
                findings.remark = "\n".join(filter(None, (findings.remark, kernels.problems[error.name])))

    def _lenient(self) -> Protocol:
        """How an existing kernel is checked before it is a baseline: one trial on the usual values."""
        return self.protocol.model_copy(update={"correctness_trials": 1, "distributions": ("as_given",)})

    def _warn_once(self, achieved: Sequence[str]) -> None:
        missing = [part for part in FULL if part not in achieved]
        if missing and not self._warned:
            self._warned = True
            detail = "this machine confines solutions less than fully, run only code that you trust; missing: "
            warnings.warn(detail + ", ".join(missing), RuntimeWarning, stacklevel=2)


class Session(BaseSession):
    """A context manager: everything that was started ends with it."""

    def __init__(self, protocol: Protocol, baselines: Sequence[str]) -> None:
        super().__init__(protocol, baselines)
        cpus = runner_cpus(protocol)
        self._torch = Zygote("torch", protocol.threads, cpus)
        self._plain = Zygote("plain", protocol.threads, cpus)
        self._reference: Reference | None = None
        self._kernels: KernelBaselines[Subject] | None = None
        """Of the current reference."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._drop_reference()
        self._torch.close()
        self._plain.close()

    def examine(self, case: Case, findings: Findings) -> None:
        """Fill in the findings; returns when the solution passed, else raises Verdict (or MachineError)."""
        check_build(case, self.protocol)
        name = case.workload.id
        if name in self._refused:
            raise self._refused[name]
        plan = self._plan(case)
        with findings.phase("reference"):
            reference = self._load_reference(plan)
        zygote = self._plain if case.artifact else self._torch
        try:
            with findings.phase("load"):
                subject = Subject(zygote, plan, self.protocol, case.solution, case.artifact)
            try:
                self._judge(case, reference, subject, findings)
            finally:
                subject.close()
        except Verdict as verdict:
            if verdict.status is Status.NOT_JUDGED and not isinstance(verdict, UnsuitedVerdict):
                self._refused[name] = verdict
            if not verdict.status.resolved:
                self._drop_reference()
            raise
        except BaseException:
            self._drop_reference()
            raise

    def _judge(self, case: Case, reference: Reference, subject: Subject, findings: Findings) -> None:
        findings.confinement = subject.confinement
        self._warn_once(subject.confinement)
        with findings.phase("load"):
            subject.load(reference)
        examination = Examination(reference, subject, self.protocol, findings)
        examination.check_correctness()
        if self.protocol.timing:
            with findings.phase("baselines"):
                kernels = self._kernel_baselines(case, reference)
                usable = self._usable_baselines(case, reference, kernels, findings)
            with findings.phase("timing"):
                self._time(lambda names: examination.measure(names, kernels.ready), usable, kernels, findings)
        if self.protocol.profile:
            with findings.phase("profile"):
                findings.profile = self._profile(reference, subject)

    def _kernel_baselines(self, case: Case, reference: Reference) -> KernelBaselines[Subject]:
        """Those of the reference at hand, started when they are first needed."""
        if self._kernels is None:
            self._kernels = KernelBaselines(
                case.kernels, lambda name: self._start_kernel(case.of_kernel(name), reference), reference
            )
        return self._kernels

    def _start_kernel(self, case: Case, reference: Reference) -> Subject:
        """A process with an existing kernel that was found right; raises Verdict."""
        check_build(case, self.protocol)
        subject = Subject(self._plain, reference.plan, self.protocol, case.solution, case.artifact)
        try:
            subject.load(reference)
            Examination(reference, subject, self._lenient(), Findings()).check_correctness()
        except BaseException:
            subject.close()
            raise
        return subject

    def _plan(self, case: Case) -> Plan:
        if self._reference is not None and self._reference.plan.workload.id != case.workload.id:
            self._drop_reference()  # its memory, and its kernels', may be needed
        held_bytes = self._reference.plan.arena_bytes if self._reference is not None else 0
        try:
            return make_plan(case.definition, case.workload, self.protocol, held_bytes)
        except Verdict as verdict:
            self._refused[case.workload.id] = verdict
            raise

    def _load_reference(self, plan: Plan) -> Reference:
        current = self._reference
        if current is None or not current.alive or current.plan != plan:
            self._drop_reference()
            try:
                self._reference = current = Reference(
                    self._torch, plan, self.protocol, compiles="torch_compile" in self._baselines
                )
            except Verdict as verdict:
                self._refused[plan.workload.id] = verdict
                raise
        try:
            current.load()
        except Verdict as verdict:
            if verdict.status is Status.NOT_JUDGED:
                self._refused[plan.workload.id] = verdict
            self._drop_reference()
            raise
        return current

    def _drop_reference(self) -> None:
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


def check_build(case: Case, protocol: Protocol) -> None:
    """Raises Verdict when there is nothing to run, or nothing to run it on."""
    build, language = case.build, case.solution.language
    if build.status is BuildStatus.NO_COMPILER:
        raise Verdict(Status.MACHINE_ERROR, build.log)
    if protocol.device == "cpu" and language is Language.PYTHON and (reason := lacking(case.solution.source)):
        raise UnsuitedVerdict(reason)
    if build.status in (BuildStatus.REJECTED, BuildStatus.TIMEOUT):
        # Python has a command where its extensions were compiled.
        compiled = language in (Language.CPP, Language.CUDA) or bool(build.command)
        raise Verdict(Status.COMPILE_ERROR if compiled else Status.LOAD_ERROR, first_error(build.log))
    if protocol.device == "cuda":
        _check_for_gpu(case)
    else:
        _check_for_cpu(case)
    if case.artifact is not None and not case.artifact.is_file():
        raise Verdict(Status.MACHINE_ERROR, f"{case.build.artifact} is not in the store: build again")


def _check_for_gpu(case: Case) -> None:
    if case.solution.language is Language.CPP:
        raise UnsuitedVerdict("C++ solutions run on the CPU: judge.device is cuda")
    in_python = case.solution.language in (Language.PYTHON, Language.TRITON)
    if in_python and (reason := lacking_on_gpu(case.solution.source)):
        raise UnsuitedVerdict(reason)


def _check_for_cpu(case: Case) -> None:
    build, language = case.build, case.solution.language
    if language is Language.CUDA:
        raise Verdict(Status.NOT_JUDGED, cpu_only(f"compiled for {build.target or CUDA_TARGET}"))
    if language is Language.TRITON:
        raise Verdict(Status.NOT_JUDGED, cpu_only("parsed"))
    if language is Language.CPP and build.target and build.target != cpu_target():
        detail = f"built for {build.target}, this machine is {cpu_target()}: run the build on the machine that judges"
        raise Verdict(Status.MACHINE_ERROR, detail)


def first_error(log: str) -> str:
    """The compiler's first error with the two lines after it, else the log's beginning."""
    lines = log.splitlines()
    at = next((number for number, line in enumerate(lines) if "error" in line.lower()), 0)
    return "\n".join(lines[at : at + 3])

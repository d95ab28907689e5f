"""One solution with everything that its judgement depends on, and what its build alone says about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hone.compile.kernels import kernel_solution
from hone.compile.outcome import first_error
from hone.compile.toolchain import cpu_target
from hone.judge.extensions import check_extensions
from hone.judge.needs import cpu_only, lacking, lacking_on_gpu, other_gpu
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.records import (
    TORCH_BASELINES,
    Build,
    BuildStatus,
    Definition,
    Language,
    Protocol,
    Solution,
    Status,
    Workload,
)


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
    if reason := other_gpu(case.build.target):
        raise Verdict(Status.MACHINE_ERROR, reason)
    check_extensions(case.build, case.solution)


def _check_for_cpu(case: Case) -> None:
    build, language = case.build, case.solution.language
    if language is Language.CUDA:
        raise Verdict(Status.NOT_JUDGED, cpu_only(f"compiled for {build.target}"))
    if language is Language.TRITON:
        raise Verdict(Status.NOT_JUDGED, cpu_only("parsed"))
    if language is Language.CPP and build.target and build.target != cpu_target():
        detail = f"built for {build.target}, this machine is {cpu_target()}: run the build on the machine that judges"
        raise Verdict(Status.MACHINE_ERROR, detail)

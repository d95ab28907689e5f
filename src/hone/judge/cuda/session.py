"""What outlives one solution within a call on a GPU: the GPU itself, zygotes, references by workload and sizes."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hone.judge.cuda.examine import DeviceExamination, Figures
from hone.judge.cuda.gpu import Gpu, held_gpu, visible_gpus
from hone.judge.cuda.plan import DevicePlan, make_device_plan
from hone.judge.cuda.reference import DeviceReference
from hone.judge.cuda.subject import DeviceSubject
from hone.judge.cuda.timed_batches import EAGER
from hone.judge.cuda.timing import ALL_MODES, UNCAPTURED, DeviceTiming
from hone.judge.examine import Findings
from hone.judge.gold import gold_solution
from hone.judge.kernels import BesideError, KernelBaselines
from hone.judge.needs import compiles_when_run
from hone.judge.protocols.kernelbench import baseline_as_published, measure_as_published
from hone.judge.runner import Zygote
from hone.judge.session import BaseSession, Case, check_build
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.records import Finding, Mode, Protocol, Status
from hone.scratch import ScratchFolder

HELD_OUT_TRIALS = 1
BY_CAPTURES = (Status.WRONG_VALUE, Status.RUNTIME_ERROR, Status.TIMEOUT, Status.OUT_OF_MEMORY)
"""What trying to capture a solution may bring about: judged again in a process where nothing is captured."""
ANY_RULE = ("below_floor", "slow_times")


class DeviceSession(BaseSession):
    """A context manager: it holds one GPU, and everything that was started ends with it."""

    def __init__(self, protocol: Protocol, baselines: Sequence[str]) -> None:
        super().__init__(protocol, baselines)
        self._stack = ExitStack()
        self._references: dict[tuple[tuple[str, int], ...], DeviceReference] = {}
        """Of the current workload, by the held-out sizes."""
        self._workload = ""
        """Id of the current workload."""
        self._kernels: KernelBaselines[DeviceSubject] | None = None
        """Beside the reference that solutions are timed with."""
        self._by_reference = ""
        """Why PyTorch's baseline, though it is no chain, has no process of its own."""
        self._gpu: Gpu | None = None
        self._attempts = 1
        """At taking times, of the solution at hand."""

    def __enter__(self) -> Self:
        variables = {
            "CUDA_CACHE_DISABLE": "1",
            "CUDA_MODULE_LOADING": "LAZY",
            # Zygotes must ask whether there is a GPU without touching it: what has touched it cannot be forked.
            "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
        }
        threads = self.protocol.threads
        self._torch = Zygote("cuda_torch", threads, [], variables)
        self._plain = Zygote("cuda_plain", threads, [], variables)
        self._stack.callback(self._plain.close)
        self._stack.callback(self._torch.close)
        visible_gpus()  # where there is none, the message comes before seconds are spent on imports
        self._torch.start()
        self._gpu = self._stack.enter_context(held_gpu())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._drop_references()
        self._stack.close()

    def examine(self, case: Case, findings: Findings) -> None:
        """Fill in the findings; returns when the solution passed, else raises Verdict (or MachineError)."""
        check_build(case, self.protocol)
        if case.workload.id in self._refused:
            raise self._refused[case.workload.id]
        try:
            with ScratchFolder("triton") as folder:
                scratch = Path(folder) if compiles_when_run(case.solution) else None
                self._examine(case, findings, scratch)
        except Verdict as verdict:
            if not verdict.status.resolved or isinstance(verdict, BesideError):
                self._drop_references()  # the next solution gets new ones
            raise
        except BaseException:
            self._drop_references()
            raise

    def _examine(self, case: Case, findings: Findings, scratch: Path | None) -> None:
        figures = Figures()
        sizes: list[Mapping[str, int]] = [{}]
        if self.protocol.rule == "hone" and case.workload.axes == case.definition.axes:
            sizes += case.definition.held_out
        # Held-out sizes first: the last process is the one that is timed.
        for chosen in reversed(sizes):
            # The solution's process opens the GPU while the reference is loaded; none of its own code is there yet.
            early = None if scratch else self._subject(case, None)
            try:
                with findings.phase("reference"):
                    reference = self._reference(case, chosen)
                if scratch is not None:
                    with findings.phase("compile"):
                        self._compile(case, reference, scratch)
                subject = early or self._subject(case, scratch)
            except BaseException:
                if early is not None:
                    early.close()
                raise
            try:
                self._judge(case, subject, reference, findings, figures)
            except Verdict as verdict:
                # A capture may have broken what is right in PyTorch's ordinary environment.
                if not subject.captured or isinstance(verdict, BesideError) or verdict.status not in BY_CAPTURES:
                    raise
                fresh = self._subject(case, scratch)
                self._judge(case, fresh, self._reference(case, chosen), findings, figures, UNCAPTURED)
        self._again_if_slow(case, findings, scratch)

    def _again_if_slow(self, case: Case, findings: Findings, scratch: Path | None) -> None:
        """Take times once more, in fresh processes of all sides: some have a second, slower kind of times."""
        first = findings.performance
        if first is None or first.clock is None or "slow_times" not in first.findings or first.clock.attempts > 1:
            return
        self._drop_references()
        self._attempts = 2
        try:
            self._examine(case, findings, scratch)
        finally:
            self._attempts = 1

    def _judge(
        self, case: Case, subject: DeviceSubject, reference: DeviceReference, findings: Findings, figures: Figures,
        modes: Sequence[Mode] = ALL_MODES,
    ) -> None:  # fmt: skip
        try:
            findings.confinement = subject.confinement
            self._warn_once(subject.confinement)
            with findings.phase("load"):
                subject.attach(reference)
                subject.calibrate(reference)
                subject.load(reference.plan)
            examination = DeviceExamination(reference, subject, self.protocol, findings, figures)
            held_out = reference.plan.held_out
            examination.check_correctness(HELD_OUT_TRIALS if held_out else self.protocol.correctness_trials)
            if held_out:
                return
            if self.protocol.timing:
                self._take_times(case, subject, reference, findings, examination.scalars, modes)
                self._note_doubts(case, findings)
            if self.protocol.profile:
                with findings.phase("profile"):
                    findings.profile = self._profile(reference, subject)
        except Verdict as verdict:
            if verdict.status is Status.NOT_JUDGED and not isinstance(verdict, UnsuitedVerdict):
                # The reference ran when it was loaded: what it lacks now, the solution holds.
                status = Status.OUT_OF_MEMORY if "GPU memory" in verdict.detail else Status.RUNTIME_ERROR
                raise Verdict(status, f"beside it {verdict.detail}") from None
            raise
        finally:
            subject.close()

    def _take_times(
        self, case: Case, subject: DeviceSubject, reference: DeviceReference, findings: Findings,
        scalars: list[dict[str, Any]], modes: Sequence[Mode],
    ) -> None:  # fmt: skip
        with findings.phase("baselines"):
            assert self._kernels is not None
            kernels = self._kernels
            usable = self._usable_baselines(case, reference, kernels, findings)
            findings.remark = "\n".join(filter(None, (findings.remark, self._by_reference)))
        published = None
        if self.protocol.as_published:  # first: nothing has been captured yet
            with findings.phase("as_published"):
                names = [name for name in usable if name not in case.kernels]
                version = self.protocol.as_published
                published = measure_as_published(reference, subject, scalars, names, version)
        with findings.phase("timing"):
            timing = functools.partial(
                DeviceTiming, reference, subject, self.protocol, scalars, kernels.ready, modes
            )  # fmt: skip
            self._time(lambda names: timing().measure(names, self.gpu), usable, kernels, findings)
        performance = findings.performance
        assert performance is not None and performance.clock is not None
        clock = performance.clock.model_copy(update={"attempts": self._attempts})
        findings.performance = performance.model_copy(update={"as_published": published, "clock": clock})

    def _note_doubts(self, case: Case, findings: Findings) -> None:
        """What else makes the time of a correct solution doubtful under the rule `hone`."""
        performance, errors = findings.performance, findings.errors
        assert performance is not None
        if self.protocol.rule != "hone":
            kept = tuple(item for item in performance.findings if item in ANY_RULE)
            findings.performance = performance.model_copy(update={"findings": kept})
            return
        doubts: tuple[Finding, ...] = ("precision_unchecked",) if errors and errors.yardstick == "none" else ()
        findings.performance = performance.model_copy(update={"findings": (*performance.findings, *doubts)})

    def _compile(self, case: Case, reference: DeviceReference, scratch: Path) -> None:
        """Let a throw-away process run the solution once, so that its compiler leaves everything in `scratch`."""
        scratch.chmod(0o777)
        subject = self._subject(case, scratch, compiling=True)
        try:
            if "process_limit" not in subject.confinement:
                detail = "compiling at run time needs a limit on processes: judge as an ordinary user, or on Linux 6.14"
                raise UnsuitedVerdict(detail)
            subject.attach(reference)
            subject.load(reference.plan)
            seed = reference.plan.workload.seed
            scalars = reference.refresh(seed, seed, 1)
            reference.reveal(0, 1)
            subject.prepare(seed, scalars)
            subject.run(1, reference)
        finally:
            subject.close()
        for entry in scratch.rglob("*"):
            if entry.is_symlink():
                entry.unlink()

    def _subject(self, case: Case, scratch: Path | None, *, compiling: bool = False) -> DeviceSubject:
        zygote = self._plain if case.artifact else self._torch
        extensions = {key: (case.store / path).resolve() for key, path in case.build.extensions.items()}
        return DeviceSubject(
            zygote, self.gpu.uuid, self.protocol, case.solution, artifact=case.artifact, extensions=extensions,
            scratch=scratch, compiling=compiling,
        )  # fmt: skip

    def _reference(self, case: Case, sizes: Mapping[str, int]) -> DeviceReference:
        if case.workload.id != self._workload:  # those of other workloads hold memory that this one may need
            self._drop_references()
            self._workload = case.workload.id
        key = tuple(sorted(sizes.items()))
        known = self._references.get(key)
        if known is not None and known.alive:
            return known
        if not sizes:
            self._drop_kernels()  # they hold on to the memory of a reference that is gone
        try:
            plan: DevicePlan = make_device_plan(case.definition, case.workload, sizes)
            compiles = "torch_compile" in self._baselines and not sizes
            self._references[key] = reference = self._new_reference(plan, compiles=compiles)
            if self.protocol.timing and not sizes:
                self._try_graphs(case, reference)
                # Before a solution meets the reference: what it does to the GPU cannot make a baseline look wrong.
                names = self._in_processes(case, reference)
                start = functools.partial(self._start_baseline, case, reference)
                self._kernels = KernelBaselines(names, start, reference)
                problem = self._kernels.problems.pop(EAGER, "")  # then the reference's own process times it
                why = problem.partition(", ")[2]
                self._by_reference = f"{EAGER} is timed by the process that makes inputs: {why}" if problem else ""
        except Verdict as verdict:
            if verdict.status is Status.NOT_JUDGED:
                self._refused[case.workload.id] = verdict
            raise
        return self._references[key]

    def _try_graphs(self, case: Case, reference: DeviceReference) -> None:
        """Find out which of PyTorch's baselines can be graphs, as long as no solution can take the memory for it.

        And take their times by KernelBench's loop, as long as no solution can slow them down.
        """
        for name in case.baselines_of(self._baselines):
            if name not in case.kernels and not (name == "torch_compile" and reference.compile_baseline()):
                reference.mode(name)
                if self.protocol.as_published:
                    baseline_as_published(reference, name, self.protocol.as_published)

    def _in_processes(self, case: Case, reference: DeviceReference) -> list[str]:
        """Baselines that are timed in processes of their own: existing kernels, and PyTorch where it is no chain.

        Beside a solution's, graphs with branches are up to a tenth slower in the process that has just made the inputs,
        and launches a few per cent faster.
        """
        eager = EAGER in case.baselines_of(self._baselines) and reference.mode(EAGER) != "graph"
        return [*case.kernels, *([EAGER] if eager else [])]

    def _start_baseline(self, case: Case, reference: DeviceReference, name: str) -> DeviceSubject:
        """A process with a baseline that was found right, in all sets of a batch too; raises Verdict."""
        if name == EAGER:
            solution = gold_solution(case.definition)
            subject = DeviceSubject(self._torch, self.gpu.uuid, self.protocol, solution, artifact=None, extensions={})
        else:
            kernel = case.of_kernel(name)
            check_build(kernel, self.protocol)
            subject = self._subject(kernel, None)
        try:
            subject.attach(reference, own_gate=True)
            subject.load(reference.plan)
            protocol = self._lenient()
            examination = DeviceExamination(reference, subject, protocol, Findings(), Figures())
            examination.check_correctness(protocol.correctness_trials)
            DeviceTiming(reference, subject, protocol, examination.scalars).rehearse()
        except BaseException:
            subject.close()
            raise
        return subject

    def _new_reference(self, plan: DevicePlan, *, compiles: bool) -> DeviceReference:
        """Loaded, with `torch_compile` prepared if wanted; a compiler that fails costs that baseline only."""
        reference = DeviceReference(self._torch, plan, self.protocol, gpu=self.gpu.uuid, compiles=compiles)
        problem = reference.prepare_torch_compile() if compiles else ""
        if not problem:
            return reference
        reference.close()
        return DeviceReference(
            self._torch, plan, self.protocol, gpu=self.gpu.uuid, compiles=False, not_compiled=problem
        )

    @property
    def gpu(self) -> Gpu:
        """The GPU that is held."""
        assert self._gpu is not None
        return self._gpu

    def _drop_references(self) -> None:
        self._drop_kernels()
        dropped, self._references = self._references, {}
        for reference in dropped.values():
            reference.close()
        self._workload = ""

    def _drop_kernels(self) -> None:
        dropped, self._kernels = self._kernels, None
        if dropped is not None:
            dropped.close()

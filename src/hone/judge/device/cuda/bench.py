"""One GPU: the solution's process in its steps, beside what is kept for the next one."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from hone.core.errors import on_failure
from hone.core.scratch import ScratchFolder
from hone.judge.baselines import BesideError
from hone.judge.case import Case
from hone.judge.device.cuda.alone import beside, published_beside
from hone.judge.device.cuda.doubts import note_doubts, was_disturbed
from hone.judge.device.cuda.kept import Kept
from hone.judge.device.cuda.own_kernels import needs_own_kernels
from hone.judge.device.cuda.plan import make_device_plan
from hone.judge.device.cuda.reference import DeviceReference
from hone.judge.device.cuda.side import DeviceSubject
from hone.judge.device.cuda.timing import DeviceTiming
from hone.judge.device.cuda.trials import DeviceTrials, trial_count
from hone.judge.device.cuda.ways import ALL_MODES, UNCAPTURED
from hone.judge.findings import Findings
from hone.judge.needs import compiles_when_run
from hone.judge.procedure import Examination, Figures, profile, take_times, usable_baselines
from hone.judge.protocols.kernelbench import measure_as_published
from hone.judge.runner import Zygote
from hone.judge.stand import Scalars
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.machine.confinement import Shortfall
from hone.machine.gpus import Gpu, seats, shared_gpu, visible_gpus
from hone.machine.turns import Turns
from hone.records import WAITING, Language, Mode, Protocol, Status
from hone.sources.gold import gold_solution

LARGE = 4
"""So many times its tensors a problem may need: batches have many sets, and float64 is twice as wide."""
SHORT_OF_MEMORY = ("GPU memory", "STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED")
"""Words of the judge, cuDNN and cuBLAS that may mean it. As they may mean something else, the status stays."""
COMPILING_RUNS = 3
BY_CAPTURES = (Status.WRONG_VALUE, Status.RUNTIME_ERROR, Status.TIMEOUT, Status.OUT_OF_MEMORY)
"""What trying to capture a solution may bring about: judged again in a process where nothing is captured."""
IN_PYTHON = (Language.PYTHON, Language.TRITON)
VARIABLES = {
    "CUDA_CACHE_DISABLE": "1",
    "CUDA_MODULE_LOADING": "LAZY",
    # Zygotes must ask whether there is a GPU without touching it: what has touched it cannot be forked.
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
}


class CudaBench:
    """A context manager: it has a seat at one GPU, and everything that was started ends with it.

    Other judges may have seats at the same GPU. Processes open it unless somebody takes times, and references are
    loaded side by side; from then on, while anything of a solution is there, the others wait. What needs much of the
    memory is judged from the beginning while they do.
    """

    def __init__(self, protocol: Protocol, baselines: Sequence[str]) -> None:
        self.protocol = protocol
        self._baselines = tuple(baselines)
        self._stack = ExitStack()
        self._shortfall = Shortfall()
        self._gpu: Gpu | None = None
        self._turns = Turns()
        self._kept: Kept | None = None
        self._attempts = 1
        """At taking times, of the solution at hand."""
        self._counted_s = 0.0
        """Seconds of waiting for turns that stand in some phase already."""

    def __enter__(self) -> Self:
        threads = self.protocol.threads
        self._torch = Zygote("cuda_torch", threads, [], VARIABLES)
        self._plain = Zygote("cuda_plain", threads, [], VARIABLES)
        self._stack.callback(self._plain.close)
        self._stack.callback(self._torch.close)
        visible_gpus()  # where there is none, the message comes before seconds are spent on imports
        self._torch.start()
        self._gpu, self._turns = self._stack.enter_context(shared_gpu())
        start = functools.partial(self._subject, scratch=None)
        self._kept = Kept(self._torch, self._gpu.uuid, self.protocol, self._baselines, start, self._turns)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.drop()
        finally:
            self._stack.close()

    def drop(self) -> None:
        """End references and baselines: the next solution gets new ones."""
        if self._kept is not None:
            with self._turns.working():
                self._kept.drop()
            self._turns.give_memory_back()

    def judge(self, case: Case, findings: Findings) -> None:
        """Fill in the findings; returns when the solution passed, else raises Verdict (or MachineError)."""
        self._counted_s = self._turns.waited_s
        with ScratchFolder("triton") as folder:
            scratch = Path(folder) if compiles_when_run(case.solution) else None
            self._judge_in_turns(case, findings, scratch)
            if was_disturbed(findings.performance):
                self._judge_again(case, findings, scratch)  # in fresh processes of all sides

    def _judge_in_turns(self, case: Case, findings: Findings, scratch: Path | None) -> None:
        """While others work, too; alone where that takes much memory.

        What others keep in memory is there in both cases. Who lacks memory is judged once more, alone and without it.
        """
        self._keep_memory(findings)
        try:
            if self._is_large(case):
                self._judge_alone(case, findings, scratch)
            else:
                self._judge_sizes(case, findings, scratch)
            return
        except Verdict as verdict:
            if not self._turns.shared or not _lacks_memory(verdict):
                raise
        with self._waited(findings):
            self.drop()
        with self._waited(findings), self._turns.all_memory():
            self._judge_alone(case, findings, scratch)

    def _judge_alone(self, case: Case, findings: Findings, scratch: Path | None) -> None:
        crowded = self._turns.shared
        with self._waited(findings), self._turns.measuring():
            try:
                self._judge_sizes(case, findings, scratch)
            finally:
                if crowded:  # or the next judge that needs much memory would find little
                    self.drop()

    def _keep_memory(self, findings: Findings) -> None:
        """Take part in the GPU's memory; what another judge waits for is given back before."""
        with self._waited(findings):
            if self._turns.memory_wanted:
                self.drop()
            self._turns.keep_memory()

    def _is_large(self, case: Case) -> bool:
        """Whether it may need more of the memory than a judge's share; raises Verdict where there is no plan for it."""
        plan = make_device_plan(case.definition, case.workload, {})
        return LARGE * plan.needed_bytes > self.gpu.memory_bytes / seats(self.gpu)

    def _judge_again(self, case: Case, findings: Findings, scratch: Path | None) -> None:
        """What the machine does the second time leaves the first times as they are."""
        first = findings.performance, findings.as_published
        with self._waited(findings):
            self.drop()
        self._attempts = 2
        try:
            self._judge_in_turns(case, findings, scratch)
        except Verdict as verdict:
            if verdict.status.resolved:
                raise
            findings.performance, findings.as_published = first
        finally:
            self._attempts = 1

    def _judge_sizes(self, case: Case, findings: Findings, scratch: Path | None) -> None:
        figures = Figures()
        sizes: list[Mapping[str, int]] = [{}]
        if self.protocol.rule == "hone" and case.workload.axes == case.definition.axes:
            sizes += case.definition.held_out
        # Held-out sizes first: the last process is the one that is timed.
        for chosen in reversed(sizes):
            with self._waited(findings, "reference"), findings.phase("reference"):
                self.kept.reference(case, chosen)
            with (
                closing(self._opened_subject(case, scratch, findings)) as subject,
                self._waited(findings), self._turns.measuring(),
            ):  # fmt: skip
                self._judge_size(case, chosen, subject, findings, figures, scratch)

    def _opened_subject(self, case: Case, scratch: Path | None, findings: Findings) -> DeviceSubject:
        """A solution's process, which has opened the GPU if that could be done beside another judge's solution.

        What goes wrong there may be the other one's doing: then a new process opens it later, in its own turn.
        """
        subject = self._subject(case, scratch)
        if scratch is not None:
            return subject
        try:
            with (
                on_failure(subject.close), self._waited(findings), self._turns.opening(), findings.phase("opening"),
            ):  # fmt: skip
                subject.open_gpu()
        except Verdict:
            return self._subject(case, scratch)
        return subject

    def _ready_reference(self, case: Case, chosen: Mapping[str, int], findings: Findings) -> DeviceReference:
        """The reference, and the baselines beside it, before there is any code of a solution."""
        reference = self.kept.reference(case, chosen)
        if self.protocol.timing and not chosen:
            with self._turns.quiet(), findings.phase("baselines"):
                self.kept.ready_baselines(case, reference)
        return reference

    def _judge_size(
        self, case: Case, chosen: Mapping[str, int], subject: DeviceSubject, findings: Findings, figures: Figures,
        scratch: Path | None,
    ) -> None:  # fmt: skip
        """All that a solution's code has a part in: no other judge uses the GPU meanwhile."""
        reference = self._ready_reference(case, chosen, findings)
        if scratch is not None:
            with findings.phase("compile"):
                self._compile(case, reference, scratch)
        try:
            self._judge(case, subject, reference, findings, figures)
        except Verdict as verdict:
            # A capture may have broken what is right in PyTorch's ordinary environment.
            if not subject.captured or isinstance(verdict, BesideError) or verdict.status not in BY_CAPTURES:
                raise
            reference = self._ready_reference(case, chosen, findings)
            self._judge(case, self._subject(case, scratch), reference, findings, figures, UNCAPTURED)

    def _judge(
        self, case: Case, subject: DeviceSubject, reference: DeviceReference, findings: Findings, figures: Figures,
        modes: Sequence[Mode] = ALL_MODES,
    ) -> None:  # fmt: skip
        protocol, held_out = self.protocol, reference.plan.held_out
        try:
            findings.confinement = subject.confinement
            self._shortfall.warn_once(subject.confinement)
            with findings.phase("load"):
                subject.attach(reference)
            with self._turns.quiet(), findings.phase("load"):
                subject.calibrate(reference)
            with findings.phase("load"):
                subject.load(reference.plan)
            trials = DeviceTrials(reference, subject, findings)
            try:
                Examination(trials, protocol, findings, figures).check(trial_count(reference.plan, protocol))
            except Verdict:
                if protocol.timing and not held_out and findings.status_as_published is Status.PASSED:
                    usable = self._usable_baselines(case, reference, findings)
                    with suppress(Verdict), self._turns.quiet():
                        self._take_published_times(case, subject, reference, findings, trials.scalars, usable)
                raise
            if held_out:
                return
            if protocol.timing:
                with self._turns.quiet():
                    self._take_times(case, subject, reference, findings, trials.scalars, modes)
            if protocol.profile:
                with findings.phase("profile"):
                    findings.profile = profile(reference, subject)
            if protocol.timing:
                with findings.phase("own_kernels"):
                    own = protocol.rule != "hone" or self._has_own_kernels(case, subject, reference, trials.scalars)
                note_doubts(findings, protocol.rule, own=own)
        except Verdict as verdict:
            if verdict.status is Status.NOT_JUDGED and not isinstance(verdict, UnsuitedVerdict):
                # The reference ran when it was loaded: what it lacks now, the solution holds.
                status = Status.OUT_OF_MEMORY if "GPU memory" in verdict.detail else Status.RUNTIME_ERROR
                raise Verdict(status, f"beside it {verdict.detail}") from None
            raise
        finally:
            subject.close()

    @contextmanager
    def _waited(self, findings: Findings, within: str = "") -> Iterator[None]:
        """Make what is waited for a turn a phase of its own, once, and take it out of the one that it is within."""
        self._count_waiting(findings)  # of a block around this one
        try:
            yield
        finally:
            self._count_waiting(findings, within)

    def _count_waiting(self, findings: Findings, within: str = "") -> None:
        waited_s = self._turns.waited_s - self._counted_s
        self._counted_s = self._turns.waited_s
        findings.add(WAITING, waited_s)
        if within:
            findings.add(within, -waited_s)

    def _take_times(
        self, case: Case, subject: DeviceSubject, reference: DeviceReference, findings: Findings, scalars: Scalars,
        modes: Sequence[Mode],
    ) -> None:  # fmt: skip
        usable = self._usable_baselines(case, reference, findings)
        self._take_published_times(case, subject, reference, findings, scalars, usable)
        kernels = self.kept.kernels
        with findings.phase("timing"):
            stand = functools.partial(
                DeviceTiming, reference, subject, self.protocol, scalars, kernels.ready, modes, gpu=self.gpu
            )
            performance = take_times(stand, usable, kernels, self.protocol, findings)
        assert performance.clock is not None
        clock = performance.clock.model_copy(update={"attempts": self._attempts})
        findings.performance = beside(performance.model_copy(update={"clock": clock}), self.kept.alone)

    def _usable_baselines(self, case: Case, reference: DeviceReference, findings: Findings) -> list[str]:
        with findings.phase("baselines"):
            usable = usable_baselines(case, self._baselines, reference, self.kept.kernels, findings)
            findings.remark_also(self.kept.by_reference)
            for item in self.kept.alone.values():
                findings.remark_also(item.problem)
        return usable

    def _take_published_times(
        self, case: Case, subject: DeviceSubject, reference: DeviceReference, findings: Findings, scalars: Scalars,
        usable: Sequence[str],
    ) -> None:  # fmt: skip
        """By KernelBench's clock, before anything is captured; existing kernels have no part in it."""
        findings.as_published = None
        if (version := self.protocol.as_published) is None:
            return
        with findings.phase("as_published"):
            names = [name for name in usable if name not in case.kernels]
            try:
                published = measure_as_published(reference, subject, scalars, names, version)
            except Verdict:
                if subject.alive and reference.alive:  # a clock for comparison decides no verdict
                    return
                raise
        findings.as_published = published_beside(published, self.kept.alone)

    def _has_own_kernels(
        self, case: Case, subject: DeviceSubject, reference: DeviceReference, scalars: Scalars
    ) -> bool:  # fmt: skip
        """Whether the solution's results are its kernels' work.

        Also true of the reference as a solution, which is to have none, and of a module with a refused kernel, which is
        known to go on without it.
        """
        solution = case.solution
        if solution.language not in IN_PYTHON or solution.id == gold_solution(case.definition).id or case.build.refused:
            return True
        return needs_own_kernels(solution.source, reference, subject, scalars)

    def _compile(self, case: Case, reference: DeviceReference, scratch: Path) -> None:
        """Let a throw-away process run the solution a few times: its compiler leaves everything in `scratch`.

        The second and third runs record graphs of PyTorch's own, and what is compiled again for them.
        """
        scratch.chmod(0o777)
        subject = self._subject(case, scratch, compiling=True)
        try:
            if "process_limit" not in subject.confinement:
                detail = "compiling at run time needs a limit on processes: judge as an ordinary user, or on Linux 6.14"
                raise UnsuitedVerdict(detail)
            subject.attach(reference)
            subject.load(reference.plan)
            seed = reference.plan.workload.seed
            for run in range(COMPILING_RUNS):
                scalars = reference.refresh(seed + run, seed, 1)
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
            refused=case.build.refused, scratch=scratch, compiling=compiling,
        )  # fmt: skip

    @property
    def kept(self) -> Kept:
        """What outlives a solution."""
        assert self._kept is not None
        return self._kept

    @property
    def gpu(self) -> Gpu:
        """The GPU that is held."""
        assert self._gpu is not None
        return self._gpu


def _lacks_memory(verdict: Verdict) -> bool:
    """Whether there might be enough where no other judge has any."""
    return verdict.status is Status.OUT_OF_MEMORY or any(words in verdict.detail for words in SHORT_OF_MEMORY)

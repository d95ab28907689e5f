"""What is kept on a GPU from one solution to the next: references of a workload, and its baselines' processes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from hone.core.errors import on_failure
from hone.judge.baselines import KernelBaselines
from hone.judge.case import Case, check_build
from hone.judge.device.cuda.alone import TimedAlone
from hone.judge.device.cuda.batches import EAGER
from hone.judge.device.cuda.plan import DevicePlan, make_device_plan
from hone.judge.device.cuda.reference import DeviceReference
from hone.judge.device.cuda.side import DeviceSubject
from hone.judge.device.cuda.timing import DeviceTiming
from hone.judge.device.cuda.trials import DeviceTrials, planned
from hone.judge.findings import Findings
from hone.judge.procedure import Examination, lenient
from hone.judge.protocols.kernelbench import baseline_as_published
from hone.judge.runner import Zygote
from hone.machine.turns import Turns
from hone.records import TIMED_ALONE, BaselineTimes, Protocol
from hone.sources.gold import gold_solution

Start = Callable[[Case], DeviceSubject]
"""Starts the process of a solution, or of an existing kernel."""


class Kept:
    """References of the current workload, by held-out sizes; the baselines beside the one that is timed with."""

    def __init__(
        self, zygote: Zygote, gpu: str, protocol: Protocol, baselines: Sequence[str], start: Start, turns: Turns
    ) -> None:  # fmt: skip
        """`zygote`: one with PyTorch; `gpu`: its name for the driver; `turns`: with other judges, at the GPU."""
        self._zygote, self._gpu, self._protocol = zygote, gpu, protocol
        self._baselines = tuple(baselines)
        self._start = start
        self._turns = turns
        self._references: dict[tuple[tuple[str, int], ...], DeviceReference] = {}
        self._workload = ""
        """Id of the current workload."""
        self._kernels: KernelBaselines[DeviceSubject] | None = None
        self.alone: dict[str, BaselineTimes] = {}
        """Baselines of the current workload that are not timed in turns."""
        self._alone = TimedAlone(protocol, self._compiling)
        self.by_reference = ""
        """Why PyTorch's baseline, though it is no chain, has no process of its own."""

    @property
    def kernels(self) -> KernelBaselines[DeviceSubject]:
        """Beside the reference at the workload's own sizes, once that is there."""
        assert self._kernels is not None
        return self._kernels

    def reference(self, case: Case, sizes: Mapping[str, int]) -> DeviceReference:
        """Loaded, with what trials expect; raises Verdict NOT_JUDGED or MACHINE_ERROR."""
        key = tuple(sorted(sizes.items()))
        known = self._references.get(key) if case.workload.id == self._workload else None
        if known is not None and known.alive:
            return known
        plan: DevicePlan = make_device_plan(case.definition, case.workload, sizes)
        start = functools.partial(DeviceReference, self._zygote, plan, self._protocol, gpu=self._gpu)
        compiles = "torch_compile" in self._baselines and not sizes
        if not self._turns.shared:  # nobody has to be waited for: memory is free before anything new needs some
            self._make_room(case, kernels=not sizes)
        started = start(compiles=compiles)
        with self._turns.opening(), on_failure(started.close):
            started.open_gpu()
        times_alone = self._protocol.timing and not sizes and bool(set(TIMED_ALONE) & set(self._baselines))
        # A single turn, since each is waited for.
        with self._turns.measuring() if times_alone else self._turns.working(), on_failure(started.close):
            self._make_room(case, kernels=not sizes)
            if times_alone:  # before anything else of the workload holds memory
                with self._turns.quiet():
                    self.alone = self._alone.times(case, self._baselines)
            self._references[key] = reference = _loaded(started, start) if compiles else _loaded(started)
            reference.ahead(planned(plan, self._protocol))
        return reference

    def _make_room(self, case: Case, *, kernels: bool) -> None:
        """What holds memory that this workload may need; `kernels`: of a reference that is gone, too."""
        if case.workload.id != self._workload:
            self.drop()
            self._workload, self.alone = case.workload.id, {}
        if kernels:
            self._drop_kernels()

    def ready_baselines(self, case: Case, reference: DeviceReference) -> None:
        """Find out how each is timed, before a solution meets the reference and can make one look wrong, or slow.

        Nobody else may use the GPU meanwhile.
        """
        if self._kernels is None:
            self._find_ways(case, reference)

    def _compiling(self, case: Case) -> DeviceReference:
        plan = make_device_plan(case.definition, case.workload, {})
        reference = DeviceReference(self._zygote, plan, self._protocol, gpu=self._gpu, compiles=True)
        reference.load()
        return reference

    def _find_ways(self, case: Case, reference: DeviceReference) -> None:
        for name in case.baselines_of(self._baselines):
            if name in TIMED_ALONE:
                continue
            if name not in case.kernels and not (name == "torch_compile" and reference.compile_baseline()):
                reference.mode(name)
                if self._protocol.as_published:
                    baseline_as_published(reference, name, self._protocol.as_published)
        names = self._in_processes(case, reference)
        start = functools.partial(self._start_baseline, case, reference)
        self._kernels = KernelBaselines(names, start, reference)
        problem = self._kernels.problems.pop(EAGER, "")  # then the reference's own process times it
        why = problem.partition(", ")[2]
        self.by_reference = f"{EAGER} is timed by the process that makes inputs: {why}" if problem else ""

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
            subject = DeviceSubject(self._zygote, self._gpu, self._protocol, solution, artifact=None, extensions={})
        else:
            kernel = case.of_kernel(name)
            check_build(kernel, self._protocol)
            subject = self._start(kernel)
        with on_failure(subject.close):
            subject.attach(reference, own_gate=True)
            subject.load(reference.plan)
            protocol, findings = lenient(self._protocol), Findings()
            trials = DeviceTrials(reference, subject, findings)
            Examination(trials, protocol, findings).check(protocol.correctness_trials)
            DeviceTiming(reference, subject, protocol, trials.scalars).rehearse()
        return subject

    def drop(self) -> None:
        """End all processes."""
        self._drop_kernels()
        dropped, self._references = self._references, {}
        for reference in dropped.values():
            reference.close()
        self._workload = ""

    def _drop_kernels(self) -> None:
        dropped, self._kernels = self._kernels, None
        if dropped is not None:
            dropped.close()


def _loaded(reference: DeviceReference, again: Callable[..., DeviceReference] | None = None) -> DeviceReference:
    """A started one, loaded; with `again`, which starts another, `torch_compile` is prepared.

    A compiler that fails leaves the process in any state, and costs that baseline only.
    """
    reference.load()
    problem = reference.prepare_compiled("torch_compile") if again else ""
    if not problem or again is None:
        return reference
    reference.close()
    another = again(compiles=False, not_compiled=problem)
    another.load()
    return another

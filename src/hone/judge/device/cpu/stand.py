"""One loaded solution beside its reference on a CPU: trials and turns on memory that the judge inspects."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from hone.judge.baselines import blamed_on
from hone.judge.counts import Tally
from hone.judge.device.cpu.reference import Reference
from hone.judge.device.cpu.side import Subject
from hone.judge.findings import Findings
from hone.judge.protocols.hone import LEAST_TIMED_RUNS
from hone.judge.stand import SOLUTION, OtherResultsError, Trial
from hone.judge.verdict import Verdict
from hone.records import Distribution, Performance, Protocol, Status, Timing


class CpuStand:
    """Solution, reference and existing kernels, all on the same inputs; the clock is the judge's own."""

    place = ""
    """There are no held-out sizes here."""
    precision_floor = 0.0

    def __init__(
        self, reference: Reference, subject: Subject, protocol: Protocol, findings: Findings,
        kernels: Mapping[str, Subject] | None = None,
    ) -> None:  # fmt: skip
        """`kernels`: existing kernels that may be baselines, loaded."""
        self._reference = reference
        self._subject = subject
        self._protocol = protocol
        self._findings = findings
        self._all_kernels = kernels or {}
        self._kernels: Mapping[str, Subject] = {}
        """Those that are baselines at the moment."""
        self._baselines: tuple[str, ...] = ()
        self._samples: dict[str, list[float]] = {}
        self._scalars: dict[str, Any] = {}
        self._forward_seed = 0

    # ---------------------------------------------------------------------------------------- correctness

    @property
    def seed(self) -> int:
        """The workload's."""
        return self._reference.plan.workload.seed

    def usable(self, distributions: Sequence[Distribution]) -> Sequence[Distribution]:
        """Values are as the problem gives them."""
        return ("as_given",)

    def trial(self, seed: int, forward_seed: int, distribution: Distribution, *, exact: bool) -> Trial:
        """Inputs of a seed, the reference, the solution, compared by the judge; precision is not looked at."""
        findings = self._findings
        with findings.phase("inputs"):
            self._make_inputs(seed, forward_seed)
        with findings.phase("reference"):
            self._reference.run(forward_seed, self._scalars, copy=True)
            written = self._reference.written_inputs()
        with findings.phase("correctness"):
            self._run(SOLUTION)
            return self._compared(written)

    def _make_inputs(self, input_seed: int, forward_seed: int) -> None:
        """New inputs; large ones go to the solution at once, because the reference may write to the pristine ones."""
        self._scalars = self._reference.make_inputs(input_seed)
        self._forward_seed = forward_seed
        if self._reference.plan.shared_inputs:
            self._give_inputs(self._subject)
            for name, kernel in self._kernels.items():
                with blamed_on(name, self._reference):
                    self._give_inputs(kernel)

    def _give_inputs(self, side: Subject) -> None:
        side.prepare(self._forward_seed, self._scalars)
        side.inputs.copy_from(self._reference.pristine)

    def _compared(self, written: list[str]) -> Trial:
        """What lies in the arenas; the subject is stopped."""
        tally, plan = Tally(), self._reference.plan
        for slot, want, got in zip(plan.results, self._reference.expected(), self._subject.got(), strict=True):
            tally.add(slot, want, got, plan.workload.tolerance)
        changed = self._subject.changed(self._reference, written)
        return Trial(counts=tally, guards_hold=self._subject.guards_hold(), changed=changed)

    # --------------------------------------------------------------------------------------------- timing

    def begin(self, baselines: Sequence[str]) -> None:
        """Forget all samples."""
        self._baselines = tuple(baselines)
        self._kernels = {name: kernel for name, kernel in self._all_kernels.items() if name in baselines}
        self._samples = {name: [] for name in (SOLUTION, *baselines)}

    def turn(self, *, kept: bool, audit: bool) -> None:
        """One run of everything on fresh inputs, in random order.

        The seeds are secret: a candidate that has the reference's source could otherwise compute ahead.
        """
        chance = random.SystemRandom()
        self._make_inputs(chance.getrandbits(31), chance.getrandbits(31))
        for name in chance.sample(list(self._samples), len(self._samples)):
            elapsed_ns = self._run(name)
            if kept:
                self._samples[name].append(elapsed_ns / 1e6)
        if audit:
            self._audit()

    def audit_apart(self, *, every_kind: bool = False) -> None:
        """Every audit is one of a timed turn."""

    def enough(self, turns: int, taken_s: float) -> bool:
        """Whether time is up."""
        return taken_s >= self._protocol.timing_seconds and turns >= LEAST_TIMED_RUNS

    def performance(self) -> Performance:
        """Medians of all turns."""
        timings = {name: Timing(samples_ms=tuple(values)) for name, values in self._samples.items()}
        return Performance(solution=timings.pop(SOLUTION), baselines=timings)

    def bar(self, error: OtherResultsError) -> None:
        """There is one way of timing."""
        raise error

    def _run(self, name: str) -> int:
        if name == SOLUTION:
            return self._run_side(self._subject)
        if name in self._kernels:
            with blamed_on(name, self._reference):
                return self._run_side(self._kernels[name])
        copies = self._subject.copies_outputs
        return self._reference.run(self._forward_seed, self._scalars, baseline=name, copy=copies)

    def _run_side(self, side: Subject) -> int:
        """One run of the solution, or of an existing kernel in the same kind of process."""
        if not self._reference.plan.shared_inputs:
            # Right before the run, as for the reference: what ran last finds its own data in the caches.
            self._give_inputs(side)
        return side.run()

    def _audit(self) -> None:
        """Check the outputs of the turn that was just timed; the subject has been stopped since its answer came."""
        if self._baselines != ("torch_eager",):  # the arena, and the last result, may be another baseline's
            self._reference.run(self._forward_seed, self._scalars, copy=True)
        elif not self._subject.copies_outputs:
            self._reference.store()
        trial = self._compared(self._reference.written_inputs())
        if not trial.guards_hold:
            raise Verdict(Status.RUNTIME_ERROR, "it wrote outside its outputs in a timed run")
        if trial.changed and self._protocol.rule == "hone":
            detail = f"it wrote to {', '.join(trial.changed)} in a timed run, which the reference leaves alone"
            raise Verdict(Status.INPUT_CHANGED, detail)
        if trial.counts.wrong:
            raise Verdict(Status.WRONG_VALUE, f"wrong in a timed run though right before: {trial.counts.sentence()}")

"""Correctness, then time, of one loaded solution beside its reference."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hone.judge.baselines import blamed_on
from hone.judge.counts import Tally, tally_outputs
from hone.judge.device.cpu.reference import Reference
from hone.judge.device.cpu.side import Subject
from hone.judge.verdict import Verdict
from hone.records import ErrorFigures, Performance, Protocol, Status, Timing

LEAST_TIMED_RUNS = 3
SOLUTION = "solution"


@dataclass
class Findings:
    """What is known about a solution so far; a verdict may end the examination at any point."""

    errors: ErrorFigures | None = None
    performance: Performance | None = None
    profile: str = ""
    as_published: Status | None = None
    """What KernelBench's rule says of the trials on values as given, whatever stricter ones say."""
    remark: str = ""
    """Something to know about a solution that passed."""
    confinement: tuple[str, ...] = ()
    phase_s: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the wall time of the block to a phase."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.phase_s[name] = self.phase_s.get(name, 0.0) + time.perf_counter() - started


class Examination:
    """One solution and its reference, both loaded, run on the same inputs."""

    def __init__(self, reference: Reference, subject: Subject, protocol: Protocol, findings: Findings) -> None:
        self._reference = reference
        self._subject = subject
        self._protocol = protocol
        self._findings = findings
        self._scalars: dict[str, Any] = {}
        self._forward_seed = 0
        self._kernels: dict[str, Subject] = {}

    def check_correctness(self) -> None:
        """All trials of the protocol, seeds drawn from the workload's; raises Verdict when one is wrong."""
        seeds = random.Random(self._reference.plan.workload.seed)
        tally = Tally()
        for _ in range(self._protocol.correctness_trials):
            self._trial(seeds.getrandbits(31), seeds.getrandbits(31), tally)
            self._findings.errors = tally.figures()
        if tally.wrong:
            raise Verdict(Status.WRONG_VALUE, tally.sentence())

    def _trial(self, input_seed: int, forward_seed: int, tally: Tally) -> None:
        findings = self._findings
        with findings.phase("inputs"):
            self._make_inputs(input_seed, forward_seed)
        with findings.phase("reference"):
            self._reference.run(forward_seed, self._scalars, copy=True)
            written = self._reference.written_inputs()
        with findings.phase("correctness"):
            self._run(SOLUTION)
            self._check_outputs(tally, written)

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

    def _check_outputs(self, tally: Tally, written: list[str]) -> bool:
        """Compare what lies in the arenas; the subject is stopped. Whether all was right."""
        self._subject.check_memory(self._reference, written)
        plan = self._reference.plan
        expected, got = self._reference.expected(), self._subject.got()
        return tally_outputs(tally, plan.results, expected, got, plan.workload.tolerance)

    # ------------------------------------------------------------------------------------------------- timing

    def measure(self, baselines: Sequence[str], kernels: Mapping[str, Subject] | None = None) -> Performance:
        """Time solution and baselines in turns, in random order, each turn on inputs that nobody has seen before.

        `kernels`: those baselines that are existing kernels; raises BaselineFailedError when one of them fails.
        """
        self._kernels = {name: kernel for name, kernel in (kernels or {}).items() if name in baselines}
        for _ in range(self._protocol.warmup_runs):
            self._turn(baselines)
        samples: dict[str, list[float]] = {name: [] for name in (SOLUTION, *baselines)}
        chance = random.SystemRandom()
        started = time.monotonic()
        for done in range(1, self._protocol.timing_runs + 1):
            for name, elapsed_ns in self._turn(baselines).items():
                samples[name].append(elapsed_ns / 1e6)
            spent = time.monotonic() - started
            last = done == self._protocol.timing_runs or (
                spent >= self._protocol.timing_seconds and done >= LEAST_TIMED_RUNS
            )
            if last or chance.random() < 1 / self._protocol.audit_every:
                self._audit(baselines)
            if last:
                break
        timings = {name: Timing(samples_ms=tuple(values)) for name, values in samples.items()}
        return Performance(solution=timings.pop(SOLUTION), baselines=timings)

    def _turn(self, baselines: Sequence[str]) -> dict[str, int]:
        """One run of everything on fresh inputs; nanoseconds by name.

        The seeds are secret: a candidate that has the reference's source could otherwise compute ahead.
        """
        chance = random.SystemRandom()
        self._make_inputs(chance.getrandbits(31), chance.getrandbits(31))
        order = [SOLUTION, *baselines]
        chance.shuffle(order)
        return {name: self._run(name) for name in order}

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

    def _audit(self, baselines: Sequence[str]) -> None:
        """Check the outputs of the turn that was just timed; the subject has been stopped since its answer came."""
        if tuple(baselines) != ("torch_eager",):  # the arena, and the last result, may be another baseline's
            self._reference.run(self._forward_seed, self._scalars, copy=True)
        elif not self._subject.copies_outputs:
            self._reference.store()
        written = self._reference.written_inputs()
        tally = Tally()
        if not self._check_outputs(tally, written):
            raise Verdict(Status.WRONG_VALUE, f"wrong in a timed run though right before: {tally.sentence()}")

"""One batch of a side after the other, each on new inputs, and audits of what the solution made of them."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from hone.judge.compare import Counts
from hone.judge.cuda.clock import Observation
from hone.judge.cuda.reference import DeviceReference
from hone.judge.cuda.sets import Mode
from hone.judge.cuda.subject import DeviceSubject
from hone.judge.examine import SOLUTION
from hone.judge.kernels import blamed_on
from hone.judge.verdict import Verdict
from hone.records import Protocol, Status

EAGER = "torch_eager"
AUDITED_SETS = 6
PART_S = 0.002
"""By then the GPU has begun with what it was let through."""


class TimedBatches:
    """Runs batches of solution and baselines as graphs, launches of one, or in the stream."""

    def __init__(
        self, reference: DeviceReference, subject: DeviceSubject, protocol: Protocol, scalars: list[dict[str, Any]],
        kernels: Mapping[str, DeviceSubject] | None = None,
    ) -> None:  # fmt: skip
        """`scalars`: the arguments that are plain numbers, as the last trial had them.

        `kernels`: the baselines that have processes of their own, loaded: existing kernels, and maybe PyTorch's.
        """
        self._reference = reference
        self._subject = subject
        self._kernels = kernels or {}
        self._protocol = protocol
        self._sets = 1
        """Runs of a batch that is a graph."""
        self._stream_runs = 1
        """Of one in the stream: one, because inputs are shown to all of a batch's runs at once there, and a launch that
        does the work of several would be quicker than they are."""
        self._fresh_runs = 1
        """Runs that the newest inputs are for."""
        self._scalars = scalars[:1]
        self._modes: dict[str, Mode] = {}
        """Of each side; a name that is not there is timed in the stream."""
        self._forward_seed = 0

    def _mode(self, name: str) -> Mode:
        return self._modes.get(name, "stream")

    def _runs(self, name: str) -> int:
        """Of each of a side's batches."""
        return {"graph": self._sets, "replay": 1, "stream": self._stream_runs}[self._mode(name)]

    @property
    def _sides(self) -> Mapping[str, DeviceSubject]:
        """What is timed in a process of its own."""
        return {SOLUTION: self._subject, **self._kernels}

    def _blamed(self, name: str) -> AbstractContextManager[None]:
        """What goes wrong inside is an existing kernel's failure where the name is one's, never PyTorch's."""
        return blamed_on(name, self._reference, own=name == EAGER) if name in self._kernels else nullcontext()

    def _prepare(self, side: DeviceSubject, runs: int | None = None) -> None:
        """Give a side what it may know of the next batch, which is not the seed of its inputs, and stop it."""
        self._forward_seed = random.SystemRandom().getrandbits(30)
        side.prepare(self._forward_seed, self._scalars[:runs])

    def _refresh(self, side: DeviceSubject, runs: int, distribution: str = "as_given") -> list[dict[str, Any]]:
        """New inputs of a secret seed for so many runs, poisoned outputs. The side that will get them is stopped."""
        seed = random.SystemRandom().getrandbits(30)
        scalars = self._reference.refresh(seed, self._forward_seed, runs, distribution)
        self._fresh_runs = runs
        known = self._scalars[:runs]
        if scalars != known and self._modes:
            raise Verdict(Status.MACHINE_ERROR, "plain numbers among the inputs change, a graph has them fixed")
        if scalars != known:  # numbers that change with the seed: rare, and then known to it too early
            self._scalars = scalars
            side.prepare(self._forward_seed, scalars)
        return scalars

    def _reveal(self) -> float:
        """Show the new inputs, with nothing of anybody in the L2 cache; milliseconds until the GPU is idle."""
        return self._reference.reveal(0, self._fresh_runs) + self._reference.settle()

    def _baseline_ms(self, name: str, *, fresh: bool) -> float:
        """One batch; `fresh`: on new inputs, which a kernel in a process of its own gets in any case."""
        if name in self._kernels:
            with self._blamed(name):
                return self._side_batch(name, audit=False).claimed_ms
        if fresh or self._fresh_runs != self._runs(name):
            self._refresh(self._subject, self._runs(name))
        self._reveal()  # again where not fresh: others may have changed what they were shown
        return self._reference.batch(name, self._mode(name), self._runs(name))

    def _side_batch(self, name: str, *, audit: bool, glance: bool = False) -> Observation:
        """One batch, and its audit while it is stopped; Python's results have to be copied by itself before."""
        reference, subject = self._reference, self._sides[name]
        graph = self._mode(name) == "graph"
        self._prepare(subject)
        self._launch(subject, name)
        self._refresh(subject, self._runs(name))
        if graph:
            seen = subject.run_armed(reference, self._sets)
        else:
            early_ms = self._reveal()
            seen = replace(subject.run(self._runs(name), reference, self._mode(name)), early_ms=early_ms)
        looks_at = AUDITED_SETS if audit else int(glance)
        if looks_at and not subject.copies_outputs:
            self._audit(name, looks_at)
        if graph:
            claimed_ms, collect_ms = subject.collect()
            seen = replace(seen, claimed_ms=claimed_ms, collect_ms=collect_ms if subject.copies_outputs else 0.0)
        if subject.copies_outputs:
            seen = replace(seen, store_ms=subject.store())
            if looks_at:
                self._audit(name, looks_at)
        return seen

    def _launch(self, subject: DeviceSubject, name: str) -> None:
        """Put a graph behind closed gates; open those of one that is launched only when its inputs are there."""
        if self._mode(name) == "graph":
            subject.arm(self._reference, self._sets)
        elif self._mode(name) == "replay":
            subject.open_gates(self._reference, 1)

    def _audit(self, name: str, count: int) -> None:
        """Check outputs of the batch that was just timed: of so many runs, and where it is more than one, both ends."""
        runs = self._runs(name)
        some = random.SystemRandom().sample(range(runs), min(count, runs))
        ends = {0, runs - 1} if count > 1 else set()
        self._check(sorted({*ends, *some}))

    def _check(self, audited: Sequence[int], distribution: str = "as_given") -> None:
        answer = self._reference.compare(distribution, audit=audited)
        if not answer["guards"]:
            raise Verdict(Status.RUNTIME_ERROR, "it wrote outside its outputs in a timed run")
        if answer["changed"] and self._protocol.rule == "hone":
            detail = f"it wrote to {', '.join(answer['changed'])} in a timed run, which the reference leaves alone"
            raise Verdict(Status.INPUT_CHANGED, detail)
        if answer["wrong"]:
            tally = Counts()
            tally.merge(answer)
            raise Verdict(Status.WRONG_VALUE, f"wrong in a timed run though right before: {tally.sentence()}")

    def _split_audit(self) -> None:
        """A graph in two parts, which looks like a timed one until its first part is over; else one more timed batch.

        Nothing of the second part may be there before its turn, and it gets new inputs meanwhile: so no run can have
        done another's work. Its values are of any distribution: what is captured may know that it is timed.
        """
        reference, subject = self._reference, self._subject
        chance = random.SystemRandom()
        usable = [name for name in self._protocol.distributions if name not in reference.refused]
        values = chance.choice(usable) if usable and self._protocol.rule == "hone" else "as_given"
        end, graph = self._runs(SOLUTION), self._mode(SOLUTION) == "graph"
        first = chance.randint(1, max(1, end - 1)) if graph else end
        self._prepare(subject)
        self._launch(subject, SOLUTION)
        self._refresh(subject, end, values)
        self._reveal()
        if not graph:
            subject.run(first, reference, self._mode(SOLUTION))
        else:
            reference.open_gates(0, first, self._protocol.run_timeout_s)
            time.sleep(PART_S)
            reference.settle()
        if first < reference.sets and not reference.untouched(first):
            raise Verdict(Status.RUNTIME_ERROR, "it wrote outside its outputs: to those of runs that had not begun")
        some = chance.sample(range(end), min(AUDITED_SETS, end))
        audited = sorted({0, end - 1, *some})
        if graph:
            reference.refresh_rest(first, chance.getrandbits(30), values)
            if first < end:
                reference.reveal(first, end)
                reference.open_gates(first, end, self._protocol.run_timeout_s)
                reference.settle()
            if not subject.copies_outputs:
                self._check(audited, values)  # while it sleeps
            subject.collect()
        subject.store()
        if subject.copies_outputs or not graph:
            self._check(audited, values)

    def _spans(self, name: str) -> dict[str, Any]:
        """CUPTI's answer about a batch in the stream."""
        side = self._sides.get(name)
        with self._blamed(name):
            self._prepare(side or self._subject)
            self._refresh(side or self._subject, self._sets)
            self._reveal()
            return side.spans() if side is not None else self._reference.spans(name)

"""One batch of a side after the other, each on new inputs, and audits of what the solution made of them."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from hone.judge.baselines import blamed_on
from hone.judge.clocks import CLOCKS, DeviceClock
from hone.judge.clocks.base import Attempt
from hone.judge.clocks.observation import Observation
from hone.judge.counts import Counts
from hone.judge.device.cuda.reference import DeviceReference
from hone.judge.device.cuda.sets import BatchShape
from hone.judge.device.cuda.side import DeviceSubject
from hone.judge.stand import SOLUTION, OtherResultsError
from hone.judge.verdict import Verdict
from hone.records import Mode, Protocol, Status

EAGER = "torch_eager"
AUDITED_SETS = 6
PART_S = 0.002
"""By then the GPU has begun with what it was let through."""
STREAM = BatchShape("stream", 1)
"""One run, because inputs are shown to all of a batch's runs at once there, and a launch that does the work of several
would be quicker than they are."""
OTHER_RESULTS = "it gives other results there"
NO_WORDS = "it fails there, without a word"


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
        """Runs of a batch behind gates, as far as a side can have so many."""
        self._fresh_runs = 1
        """Runs that the newest inputs are for."""
        self._scalars = scalars[:1]
        self._shapes: dict[str, BatchShape] = {}
        """Of each side; a name that is not there is timed in the stream."""
        self._forward_seed = 0

    def _shape(self, name: str) -> BatchShape:
        return self._shapes.get(name, STREAM)

    def _runs(self, name: str) -> int:
        """Of each of a side's batches."""
        return self._shape(name).runs

    def _clock(self, name: str) -> DeviceClock:
        return CLOCKS[self._shape(name).mode]

    @property
    def _sides(self) -> Mapping[str, DeviceSubject]:
        """What is timed in a process of its own."""
        return {SOLUTION: self._subject, **self._kernels}

    def _blamed(self, name: str) -> AbstractContextManager[None]:
        """What goes wrong inside is an existing kernel's failure where the name is one's, never PyTorch's."""
        return blamed_on(name, self._reference, own=name == EAGER) if name in self._kernels else nullcontext()

    def _prepare(self, side: DeviceSubject, runs: int | None = None, mode: Mode = "graph") -> None:
        """Give a side what it may know of the next batch, which is not the seed of its inputs, and stop it.

        `mode`: in the stream, taking memory again would be part of its time.
        """
        self._forward_seed = random.SystemRandom().getrandbits(30)
        side.prepare(self._forward_seed, self._scalars[:runs], keeps_memory=mode == "stream")

    def _refresh(self, side: DeviceSubject, runs: int, distribution: str = "as_given") -> list[dict[str, Any]]:
        """New inputs of a secret seed for so many runs, poisoned outputs. The side that will get them is stopped."""
        seed = random.SystemRandom().getrandbits(30)
        scalars = self._reference.refresh(seed, self._forward_seed, runs, distribution)
        self._fresh_runs = runs
        known = self._scalars[:runs]
        if scalars != known and any(shape.mode != "stream" for shape in self._shapes.values()):
            raise Verdict(Status.MACHINE_ERROR, "plain numbers among the inputs change, a graph has them fixed")
        if scalars != known:  # numbers that change with the seed: rare, and then known to it too early
            self._scalars = scalars
            side.prepare(self._forward_seed, scalars, keeps_memory=True)
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
        return self._reference.batch(name, self._shape(name).mode, self._runs(name))

    def _side_batch(self, name: str, *, audit: bool, glance: bool = False) -> Observation:
        """One batch, and its audit while it is stopped; Python's results have to be copied by itself before."""
        subject, clock, runs = self._sides[name], self._clock(name), self._runs(name)
        self._prepare(subject, runs, self._shape(name).mode)
        self._launched(name, clock.launch(subject, self._reference, runs))
        self._refresh(subject, runs)
        seen = clock.run(subject, self._reference, runs, self._reveal)
        looks_at = AUDITED_SETS if audit else int(glance)
        if looks_at and not subject.copies_outputs:
            self._audit(name, looks_at)
        seen = clock.claim(subject, seen)
        if subject.copies_outputs:
            seen = replace(seen, store_ms=subject.store())
            if looks_at:
                self._audit(name, looks_at)
        return seen

    def _launched(self, name: str, problem: str) -> None:
        """A side that could be timed so before, and cannot this time: another way is found for the solution."""
        if problem and name == SOLUTION:
            raise OtherResultsError(name, self._shape(name).mode, problem)
        if problem:
            raise Verdict(Status.TIMEOUT, problem)

    def _last_of_batch(self, name: str) -> None:
        """One batch, of which the last run alone is checked."""
        side, clock, runs = self._sides[name], self._clock(name), self._runs(name)
        self._prepare(side, runs, self._shape(name).mode)
        self._launched(name, clock.launch(side, self._reference, runs))
        self._refresh(side, runs)
        clock.claim(side, clock.run(side, self._reference, runs, self._reveal))
        side.store()
        self._check(name, [runs - 1])

    def _try_out(self, name: str, shape: BatchShape) -> str:
        """Why a side cannot be timed so, empty when it can; afterwards it is ready for batches of that shape.

        Its results are audited: those that capture, or let launches pile up, must give what the same calls give else.
        """
        side, clock = self._sides[name], CLOCKS[shape.mode]
        for attempt in clock.attempts(side, self._reference, shape.runs):
            self._prepare(side, shape.runs)
            self._refresh(side, shape.runs)
            self._reveal()
            if problem := self._attempted(side, attempt):
                return problem
        side.store()
        self._shapes[name] = shape
        try:
            self._audit(name, AUDITED_SETS)
        except OtherResultsError as error:
            return f"{OTHER_RESULTS}: {error.detail}"
        finally:
            del self._shapes[name]
        return ""

    def _attempted(self, side: DeviceSubject, attempt: Attempt) -> str:
        """What the attempt says; a failure inside is a reason too, as long as the process is well."""
        try:
            return attempt()
        except Verdict as verdict:
            if not side.alive or not verdict.status.resolved or verdict.status is Status.TIMEOUT:
                raise
            self._reference.open_all_gates()  # launches may still wait there
            return verdict.detail.strip().rpartition("\n")[2][:200] or NO_WORDS

    def _audit(self, name: str, count: int) -> None:
        """Check outputs of the batch that was just timed: of so many runs, and where it is more than one, both ends."""
        runs = self._runs(name)
        some = random.SystemRandom().sample(range(runs), min(count, runs))
        ends = {0, runs - 1} if count > 1 else set()
        self._check(name, sorted({*ends, *some}))

    def _check(self, name: str, audited: Sequence[int], distribution: str = "as_given") -> bool:
        """Whether the reference has numbers for any of these runs."""
        answer = self._reference.compare(distribution, audit=audited)
        if not answer["guards"]:
            raise Verdict(Status.RUNTIME_ERROR, "it wrote outside its outputs in a timed run")
        if answer["changed"] and self._protocol.rule == "hone":
            detail = f"it wrote to {', '.join(answer['changed'])} in a timed run, which the reference leaves alone"
            raise Verdict(Status.INPUT_CHANGED, detail)
        if answer["wrong"]:
            tally = Counts()
            tally.merge(answer)
            if (mode := self._shape(name).mode) != "stream":
                raise OtherResultsError(name, mode, tally.sentence())
            raise Verdict(Status.WRONG_VALUE, f"wrong in a timed run though right before: {tally.sentence()}")
        return bool(answer["elements"])

    def audit_apart(self, *, every_kind: bool = False) -> None:
        """A graph in two parts, which looks like a timed one until its first part is over; else one more timed batch.

        Nothing of the second part may be there before its turn, and it gets new inputs meanwhile: so no run can have
        done another's work. Its values are of any distribution, or one audit for each: a solution may know that it is
        timed, and do without what the usual values do not need.
        """
        usable = [name for name in self._protocol.distributions if name not in self._reference.refused]
        if not usable or self._protocol.rule != "hone":
            usable = ["as_given"]
        chance = random.SystemRandom()
        for values in chance.sample(usable, len(usable) if every_kind else 1):
            if not self._audit_apart(values, chance):
                self._audit_apart("as_given", chance)

    def _audit_apart(self, values: str, chance: random.Random) -> bool:
        """Whether a run could be checked: the reference may have numbers for none of its inputs."""
        reference, subject = self._reference, self._subject
        shape, clock = self._shape(SOLUTION), self._clock(SOLUTION)
        end, gated = shape.runs, shape.gated
        first = chance.randint(1, max(1, end - 1)) if gated else end
        self._prepare(subject, end)
        self._launched(SOLUTION, clock.launch(subject, reference, end))
        self._refresh(subject, end, values)
        self._reveal()
        if not gated:
            subject.run(first, reference, shape.mode)
        else:
            reference.open_gates(0, first, self._protocol.run_timeout_s)
            time.sleep(PART_S)
            reference.settle()
        if first < reference.sets and not reference.untouched(first):
            raise Verdict(Status.RUNTIME_ERROR, "it wrote outside its outputs: to those of runs that had not begun")
        some = chance.sample(range(end), min(AUDITED_SETS, end))
        audited = sorted({0, end - 1, *some})
        if gated:
            reference.refresh_rest(first, chance.getrandbits(30), values)
            if first < end:
                reference.reveal(first, end)
                reference.open_gates(first, end, self._protocol.run_timeout_s)
                reference.settle()
            if not subject.copies_outputs:
                checked = self._check(SOLUTION, audited, values)  # while it sleeps
            subject.collect()
        subject.store()
        if subject.copies_outputs or not gated:
            checked = self._check(SOLUTION, audited, values)
        return checked

    def _spans(self, name: str) -> dict[str, Any]:
        """CUPTI's answer about a batch in the stream."""
        side = self._sides.get(name)
        with self._blamed(name):
            self._prepare(side or self._subject, self._sets)
            self._refresh(side or self._subject, self._sets)
            self._reveal()
            return side.spans() if side is not None else self._reference.spans(name)

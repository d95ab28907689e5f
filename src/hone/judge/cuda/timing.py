"""Time of one correct solution beside its baselines, on a GPU."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Literal

from hone.judge.compare import Counts
from hone.judge.cuda.busy import busy_samples_ms
from hone.judge.cuda.clock import Observation, floor_ms, lower_half, unexplained_ms
from hone.judge.cuda.gpu import Gpu, clocks
from hone.judge.cuda.reference import GRAPH_BELOW_MS, DeviceReference
from hone.judge.cuda.sets import run_count
from hone.judge.cuda.subject import REHEARSALS, DeviceSubject
from hone.judge.examine import LEAST_TIMED_RUNS, SOLUTION
from hone.judge.kernels import blamed_on
from hone.judge.verdict import Verdict
from hone.records import Clock, Performance, Protocol, Status, Timing

Mode = Literal["stream", "graph"]

LEAST_STREAM_TURNS = 7
STREAM_SECONDS = 1.0
"""In the stream, host work is part of the time and spreads by a tenth: turns go on for so long, if there are more."""
MOST_BATCH_MS = 400.0
"""What a batch of a solution should last at most."""
FIRST_BATCHES = 6
"""So often a solution that seems slow is tried, in case its first runs only are."""
AUDITED_SETS = 6
PART_S = 0.002
"""By then the GPU has begun with what it was let through."""
BELOW_FLOOR = 0.95


class DeviceTiming:
    """Batches of solution and baselines in turns, in random order, each on inputs that nobody has seen before."""

    def __init__(
        self, reference: DeviceReference, subject: DeviceSubject, protocol: Protocol, scalars: list[dict[str, Any]],
        kernels: Mapping[str, DeviceSubject] | None = None,
    ) -> None:  # fmt: skip
        """`scalars`: the arguments that are plain numbers, as the last trial had them.

        `kernels`: the existing kernels that may be baselines, each loaded in a process of its own.
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
        self._curtailed = False
        """The solution's batches have fewer runs than the baselines' time asks for: none of its claim is trusted."""
        self._wanted = 1
        """Runs of a batch that the baselines' time asks for."""
        self._fresh_runs = 1
        """Runs that the newest inputs are for."""
        self._scalars = scalars[:1]
        self._modes: dict[str, Mode] = {}
        """Of each side; a name that is not there is timed in the stream."""
        self._samples: dict[str, list[float]] = {}
        self._charges: list[float] = []
        self._walls: list[float] = []
        self._forward_seed = 0
        self._gate_ms = 0.0
        """What a run of a graph loses at its gate, on all sides."""

    def measure(self, baselines: Sequence[str], gpu: Gpu) -> Performance:
        """All turns of the protocol.

        Raises Verdict when a timed output is wrong, BaselineFailedError when an existing kernel fails.
        """
        names = (SOLUTION, *baselines)
        self._samples = {name: [] for name in names}
        self._choose_modes(baselines)
        started, turns, last = time.monotonic(), -self._protocol.warmup_runs, False
        chance = random.SystemRandom()
        self._split_audit()
        while not last:
            turns += 1
            if turns > 0 and chance.random() < 1 / self._protocol.audit_every:
                self._split_audit()
            last = turns >= self._protocol.timing_runs or self._enough(turns, time.monotonic() - started)
            self._turn(names, keep=turns > 0, audit=last or chance.random() < 1 / self._protocol.audit_every)
        self._keep_least_disturbed()
        at = clocks(gpu.uuid)
        busy = busy_samples_ms(names, self._samples, self._spans) if self._mode(SOLUTION) == "graph" else {}
        clock = Clock(
            source="cupti" if busy else "events", mode=self._mode(SOLUTION), runs_per_sample=self._runs(SOLUTION),
            baselines_mode=self._mode(baselines[0]) if baselines else None,
            solution_wall_ms=statistics.median(self._walls),
            charged_ms=0.0 if busy else statistics.median(self._charges),
            sm_clock_mhz=at.sm_mhz, memory_clock_mhz=at.memory_mhz, throttled=at.throttled,
        )  # fmt: skip
        return self._performance(
            {name: Timing(samples_ms=tuple((busy or self._samples)[name])) for name in names}, clock
        )

    def _performance(self, timings: dict[str, Timing], clock: Clock) -> Performance:
        plan, device = self._reference.plan, self._reference.device
        least = floor_ms(
            plan.read_bytes, plan.written_bytes, plan.definition.flops,
            bandwidth_gbs=device.bandwidth_gbs, peak_gflops=device.peak_gflops, l2_bytes=device.l2_bytes,
        )  # fmt: skip
        solution = timings.pop(SOLUTION)
        findings = ("below_floor",) if solution.latency_ms < BELOW_FLOOR * least else ()
        return Performance(solution=solution, baselines=timings, clock=clock, floor_ms=least, findings=findings)

    def _choose_modes(self, baselines: Sequence[str]) -> None:
        """Graphs where they are possible. Also the first warm-up.

        The baselines' mode does not depend on the solution: were they launched one by one because the solution cannot
        be captured, then their launches would be in their time, and it would gain by that. Where a baseline cannot be
        a graph, all sides are launched one by one.
        """
        reference, subject = self._reference, self._subject
        solution_ms = self._choose_sets(baselines)
        known = self._scalars = self._scalars * self._sets
        self._prepare(subject)  # with another seed: numbers that depend on it cannot be part of a graph
        if reference.random or not all(map(self._graphable, baselines)) or self._refresh(subject, self._sets) != known:
            return
        self._reveal()
        for name in baselines:
            self._make_graph(name)
        self._modes = dict.fromkeys(baselines, "graph")
        self._gate_ms = reference.gate_ms()  # before the solution's graph can leave anything behind
        if solution_ms <= GRAPH_BELOW_MS and self._waits_as_graph(SOLUTION):
            self._modes[SOLUTION] = "graph"
            self._curtailed = self._sets < self._wanted

    def _choose_sets(self, baselines: Sequence[str]) -> float:
        """Runs of a batch; milliseconds that one run of the solution takes.

        Not by the solution's own time, as long as that can be afforded: with few short runs in a batch the judge's
        clock could not check what it claims.
        """
        sets = self._reference.sets
        for _ in range(2):  # the first run of a kernel brings its code to the GPU
            run_ms = {name: self._first_ms(name) for name in (SOLUTION, *baselines)}
        solution_ms = run_ms[SOLUTION]
        if all(map(self._graphable, baselines)):  # the shorter a run is, the more of it is launching
            known = {name: kernel.graph_run_ms for name, kernel in self._kernels.items() if kernel.graph_run_ms}
            run_ms |= self._reference.graph_run_ms | known
        longest_ms = max((run_ms[name] for name in baselines), default=0.0)
        for _ in range(FIRST_BATCHES):
            if solution_ms * run_count(sets, longest_ms) > MOST_BATCH_MS:
                solution_ms = min(solution_ms, self._first_ms(SOLUTION))
        self._wanted = wanted = run_count(sets, longest_ms, solution_ms)
        self._sets = max(min(2, sets), min(wanted, math.ceil(MOST_BATCH_MS / max(solution_ms, 1e-3))))
        self._curtailed = wanted > 1  # as long as it is in the stream
        return solution_ms

    def _mode(self, name: str) -> Mode:
        return self._modes.get(name, "stream")

    def _runs(self, name: str) -> int:
        """Of each of a side's batches."""
        return self._sets if self._mode(name) == "graph" else self._stream_runs

    def _first_ms(self, name: str) -> float:
        """One run in the stream, of which the first brings the code of a kernel to the GPU."""
        side = self._sides.get(name)
        if side is None:
            self._reveal()  # a baseline must not run on what others have left of the inputs
            return self._reference.batch(name, "stream", 1)
        with self._blamed(name):
            return self._side_batch(name, audit=False).claimed_ms

    def _graphable(self, name: str) -> bool:
        """Whether a baseline can be timed as a graph: what was found out before there was a solution."""
        kernel = self._kernels.get(name)
        return kernel.graphable if kernel is not None else self._reference.graphable(name)

    def _make_graph(self, name: str) -> None:
        """Make a baseline's graph, which was possible without the solution; raises Verdict where it no longer is."""
        with self._blamed(name):
            possible = self._waits_as_graph(name) if name in self._kernels else self._reference.capture(name)
            if not possible:
                detail = f"beside it the baseline {name} can no longer be captured as a graph"
                raise Verdict(Status.RUNTIME_ERROR, detail)

    def _waits_as_graph(self, name: str) -> bool:
        """Whether a side can be a graph, and one that leaves the GPU to others while it waits at its gate."""
        side = self._sides[name]
        with self._blamed(name):
            self._prepare(side)
            if not side.capture():
                return False
            for attempt in (side.run_graph, side.waits_quietly):
                self._prepare(side)
                self._refresh(side, self._sets)
                self._reveal()
                if not attempt(self._reference, self._sets):
                    return False
            return True

    # -------------------------------------------------------------------------------------------- batches

    @property
    def _sides(self) -> Mapping[str, DeviceSubject]:
        """What is timed in a process of its own."""
        return {SOLUTION: self._subject, **self._kernels}

    def _blamed(self, name: str) -> AbstractContextManager[None]:
        """What goes wrong inside is an existing kernel's failure where the name is one's."""
        return blamed_on(name, self._reference) if name in self._kernels else nullcontext()

    def _prepare(self, side: DeviceSubject) -> None:
        """Give a side what it may know of the next batch, which is not the seed of its inputs, and stop it."""
        self._forward_seed = random.SystemRandom().getrandbits(30)
        side.prepare(self._forward_seed, self._scalars)

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

    def _turn(self, names: Sequence[str], *, keep: bool, audit: bool) -> None:
        order = list(names)
        if self._reference.written:
            order.append(order.pop(0))  # everything changes the inputs: those that are audited must be its own
        else:
            random.SystemRandom().shuffle(order)
        for place, name in enumerate(order):
            if name == SOLUTION:
                seen = self._side_batch(name, audit=audit, glance=keep)
                if keep:
                    self._keep(seen)
                continue
            elapsed = self._baseline_ms(name, fresh=place == 0 or bool(self._reference.written))
            if keep:
                self._samples[name].append(self._per_run(elapsed, name))

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
        if graph:
            subject.arm(reference, self._sets)
        self._refresh(subject, self._runs(name))
        if graph:
            seen = subject.run_armed(reference, self._sets)
        else:
            early_ms = self._reveal()
            seen = replace(subject.run(self._stream_runs, reference), early_ms=early_ms)
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

    def rehearse(self) -> None:
        """One batch, of few runs where PyTorch's take long, audited; and whether it can be a graph. Raises Verdict."""
        self._choose_sets(tuple(self._reference.graph_run_ms))
        self._stream_runs = self._sets
        self._scalars = self._scalars[:1] * self._sets
        self._side_batch(SOLUTION, audit=True)
        tries = (self._waits_as_graph(SOLUTION) for _ in range(REHEARSALS))
        self._subject.graphable = not self._reference.random and all(tries)

    def _enough(self, turns: int, taken_s: float) -> bool:
        """Whether time is up. Where most batches were charged, every turn is taken: it may be the machine's noise."""
        stream = self._mode(SOLUTION) == "stream"
        least = LEAST_STREAM_TURNS if stream else LEAST_TIMED_RUNS
        seconds = max(self._protocol.timing_seconds, STREAM_SECONDS if stream else 0.0)
        charged = bool(self._charges) and statistics.median(self._charges) > 0
        return taken_s >= seconds and turns >= least and not charged

    def _keep_least_disturbed(self) -> None:
        """Of a charged solution keep the lower half of the samples, and of baselines where launches are in theirs too.

        Noise of the machine only adds to what the judge's clock sees, and work that the claim leaves out is in every
        sample: none of them is below its true time, and the lower ones are nearer to it.
        """
        if statistics.median(self._charges) > 0:
            self._charges = [self._charges[place] for place in lower_half(self._samples[SOLUTION])]
            for name, samples in self._samples.items():
                if name == SOLUTION or self._mode(name) == "stream":
                    self._samples[name] = [samples[place] for place in lower_half(samples)]

    def _keep(self, seen: Observation) -> None:
        runs = self._runs(SOLUTION)
        usual = self._subject.overhead(self._mode(SOLUTION), runs)
        extra = unexplained_ms(seen, usual, lenient=not self._curtailed)
        self._samples[SOLUTION].append(self._per_run(seen.claimed_ms + extra, SOLUTION))
        self._charges.append(extra / runs)
        self._walls.append(self._per_run(seen.wall_ms - usual.wall_ms, SOLUTION))

    def _per_run(self, batch_ms: float, name: str) -> float:
        """Of one run, without its gate; never less than a hundredth of what was measured, so that it stays a time."""
        gate_ms = self._gate_ms if self._mode(name) == "graph" else 0.0
        run_ms = batch_ms / self._runs(name)
        return max(run_ms - gate_ms, run_ms / 100)

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
        if graph:
            subject.arm(reference, end)
        self._refresh(subject, end, values)
        self._reveal()
        if not graph:
            subject.run(first, reference)
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

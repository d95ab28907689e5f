"""Time of one correct solution beside its baselines, on a GPU."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hone.judge.cuda.busy import busy_samples_ms
from hone.judge.cuda.clock import (
    LONG_SLACK_SHARE,
    MOST_SLACK_SHARE,
    Observation,
    floor_ms,
    lower_half,
    unexplained_ms,
)
from hone.judge.cuda.gpu import Gpu, clocks
from hone.judge.cuda.reference import GRAPH_BELOW_MS, DeviceReference
from hone.judge.cuda.sets import LEAST_CHECKED_MS, MODES, Mode, run_count
from hone.judge.cuda.subject import REHEARSALS, DeviceSubject
from hone.judge.cuda.timed_batches import TimedBatches
from hone.judge.examine import LEAST_TIMED_RUNS, SOLUTION
from hone.judge.verdict import Verdict
from hone.records import Clock, Performance, Protocol, Status, Timing

LEAST_STREAM_TURNS = 7
STREAM_SECONDS = 1.0
"""In the stream, host work is part of the time and spreads by a tenth: turns go on for so long, if there are more."""
MOST_BATCH_MS = 400.0
"""What a batch of a solution should last at most."""
FIRST_BATCHES = 6
"""So often a solution that seems slow is tried, in case its first runs only are."""
BELOW_FLOOR = 0.95


class DeviceTiming(TimedBatches):
    """Batches of solution and baselines in turns, in random order, each on inputs that nobody has seen before."""

    def __init__(
        self, reference: DeviceReference, subject: DeviceSubject, protocol: Protocol, scalars: list[dict[str, Any]],
        kernels: Mapping[str, DeviceSubject] | None = None,
    ) -> None:  # fmt: skip
        """The same arguments as those of the batches."""
        super().__init__(reference, subject, protocol, scalars, kernels)
        self._curtailed = False
        """The solution's batches have fewer runs than the baselines' time asks for, so that it is harder to check."""
        self._wanted = 1
        """Runs of a batch that the baselines' time asks for."""
        self._samples: dict[str, list[float]] = {}
        self._charges: list[float] = []
        self._walls: list[float] = []
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
            baseline_modes={name: self._mode(name) for name in baselines},
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
        be captured, then their launches would be in their time, and it would gain by that. All are timed as the one
        that is hardest to time, and so is the solution if it can be.
        """
        reference, subject = self._reference, self._subject
        solution_ms = self._choose_sets(baselines)
        mode = self._hardest(baselines)
        known = self._scalars = self._scalars * self._sets
        self._prepare(subject)  # with another seed: numbers that depend on it cannot be part of a graph
        if reference.random or mode == "stream" or self._refresh(subject, self._sets) != known:
            return
        if mode == "replay":
            self._sets = 1
            self._refresh(subject, 1)
        self._reveal()
        for name in baselines:
            self._make_graph(name, mode)
        self._modes = dict.fromkeys(baselines, mode)
        if mode == "graph":
            self._gate_ms = reference.gate_ms()  # before the solution's graph can leave anything behind
        easier = MODES[MODES.index(mode) : 0 : -1] if solution_ms <= MOST_BATCH_MS else ()
        self._modes[SOLUTION] = next((tried for tried in easier if self._tries(SOLUTION, tried)), "stream")
        self._curtailed = self._runs(SOLUTION) < self._wanted

    def _choose_sets(self, baselines: Sequence[str]) -> float:
        """Runs of a batch; milliseconds that one run of the solution takes.

        Not by the solution's own time, as long as that can be afforded: with few short runs in a batch the judge's
        clock could not check what it claims.
        """
        sets = self._reference.sets
        for _ in range(2):  # the first run of a kernel brings its code to the GPU
            run_ms = {name: self._first_ms(name) for name in (SOLUTION, *baselines)}
        solution_ms = run_ms[SOLUTION]
        if self._hardest(baselines) != "stream":  # the shorter a run is, the more of it is launching
            known = {name: kernel.graph_run_ms for name, kernel in self._kernels.items() if kernel.graph_run_ms}
            run_ms |= self._reference.graph_run_ms | known
        longest_ms = max(run_ms[name] for name in baselines or (SOLUTION,))
        for _ in range(FIRST_BATCHES):
            if solution_ms * run_count(sets, longest_ms) > MOST_BATCH_MS:
                solution_ms = min(solution_ms, self._first_ms(SOLUTION))
        self._wanted = wanted = run_count(sets, longest_ms, solution_ms)
        self._sets = max(min(2, sets), min(wanted, math.ceil(MOST_BATCH_MS / max(solution_ms, 1e-3))))
        self._curtailed = wanted > 1  # as long as it is in the stream
        return solution_ms

    def _first_ms(self, name: str) -> float:
        """One run in the stream, of which the first brings the code of a kernel to the GPU."""
        side = self._sides.get(name)
        if side is None:
            self._reveal()  # a baseline must not run on what others have left of the inputs
            return self._reference.batch(name, "stream", 1)
        with self._blamed(name):
            return self._side_batch(name, audit=False).claimed_ms

    def _hardest(self, baselines: Sequence[str]) -> Mode:
        """How all baselines can be timed: what was found out before there was a solution."""
        modes: list[Mode] = ["graph"]
        for name in baselines:
            kernel = self._kernels.get(name)
            modes.append(self._reference.mode(name) if kernel is None else kernel.mode)
        return min(modes, key=MODES.index)

    def _make_graph(self, name: str, mode: Mode) -> None:
        """Make a baseline's graph, which was possible without the solution; raises Verdict where it no longer is."""
        lost = "can no longer be captured as a graph"
        if name not in self._kernels:
            if not self._reference.capture(name):
                raise Verdict(Status.RUNTIME_ERROR, f"beside it the baseline {name} {lost}")
        elif not self._tries(name, mode):
            with self._blamed(name):
                raise Verdict(Status.RUNTIME_ERROR, f"it {lost}")

    def _tries(self, name: str, mode: Mode) -> bool:
        """Whether a side can be a graph at one of several tries: one with branches may wait quietly now and then."""
        return any(self._can_be(name, mode) for _ in range(REHEARSALS))

    def _can_be(self, name: str, mode: Mode) -> bool:
        """Whether a side can be a graph; `graph`: one that leaves the GPU to others while it waits at its gate."""
        side, runs = self._sides[name], self._sets if mode == "graph" else 1
        with self._blamed(name):
            self._prepare(side, runs)
            if not side.capture():
                return False
            for attempt in (side.run_graph, side.waits_quietly)[: 2 if mode == "graph" else 1]:
                self._prepare(side, runs)
                self._refresh(side, runs)
                self._reveal()
                if not attempt(self._reference, runs):
                    return False
            return True

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

    def rehearse(self) -> None:
        """One batch of a baseline in a process of its own, audited, and how it can be timed. Raises Verdict."""
        run_ms = self._choose_sets(tuple(self._reference.graph_run_ms))
        self._stream_runs = self._sets
        self._scalars = self._scalars[:1] * self._sets
        self._side_batch(SOLUTION, audit=True)
        if self._reference.random or run_ms > GRAPH_BELOW_MS:
            return
        if all(self._rehearse_graph() for _ in range(REHEARSALS)):
            self._subject.mode = "graph"
        elif self._can_be(SOLUTION, "replay"):
            self._subject.mode = self._modes[SOLUTION] = "replay"
            self._subject.graph_run_ms = self._side_batch(SOLUTION, audit=False).claimed_ms

    def _rehearse_graph(self) -> bool:
        """Whether it waits quietly this time; the next time with as many runs as batches can have."""
        possible = self._can_be(SOLUTION, "graph")
        if possible:  # however fast a solution says that it is
            self._sets = max(self._sets, run_count(self._reference.sets, self._subject.graph_run_ms, 0.0))
            self._scalars = self._scalars[:1] * self._sets
        return possible

    def _enough(self, turns: int, taken_s: float) -> bool:
        """Whether time is up. Where most batches were charged, every turn is taken: it may be the machine's noise."""
        stream = self._mode(SOLUTION) == "stream"
        least = LEAST_STREAM_TURNS if stream else LEAST_TIMED_RUNS
        seconds = max(self._protocol.timing_seconds, STREAM_SECONDS if stream else 0.0)
        charged = bool(self._charges) and statistics.median(self._charges) > 0
        return taken_s >= seconds and turns >= least and not charged

    def _keep_least_disturbed(self) -> None:
        """Keep the half of the turns that was disturbed least, if the solution is charged or all is in the stream.

        Noise of the machine only adds to what the judge's clock sees, and work that the claim leaves out is in every
        sample: none of them is below its true time, and the lower ones are nearer to it. So it is with the host's work
        where that is part of everybody's time.
        """
        noisy = {name for name in self._samples if self._mode(name) != "graph"} | {SOLUTION}
        launching = all(self._mode(name) == "stream" for name in self._samples)
        if launching or statistics.median(self._charges) > 0:
            turns = range(len(self._charges))
            kept = lower_half([math.prod(self._samples[name][turn] for name in noisy) for turn in turns])
            self._charges = [self._charges[turn] for turn in kept]
            self._walls = [self._walls[turn] for turn in kept]
            self._samples = {name: [samples[turn] for turn in kept] for name, samples in self._samples.items()}

    def _noise_share(self, claimed_ms: float) -> float:
        """Where runs are single though there could be more, noise counts for little, and for nothing beside graphs."""
        if not self._curtailed:
            return MOST_SLACK_SHARE
        beside_graphs = any(mode == "graph" for name, mode in self._modes.items() if name != SOLUTION)
        return 0.0 if beside_graphs or claimed_ms < LEAST_CHECKED_MS else LONG_SLACK_SHARE

    def _keep(self, seen: Observation) -> None:
        runs = self._runs(SOLUTION)
        usual = self._subject.overhead(self._mode(SOLUTION), runs)
        extra = unexplained_ms(seen, usual, self._noise_share(seen.claimed_ms))
        self._samples[SOLUTION].append(self._per_run(seen.claimed_ms + extra, SOLUTION))
        self._charges.append(extra / runs)
        self._walls.append(self._per_run(seen.wall_ms - usual.wall_ms, SOLUTION))

    def _per_run(self, batch_ms: float, name: str) -> float:
        """Of one run, without its gate; never less than a hundredth of what was measured, so that it stays a time."""
        gate_ms = self._gate_ms if self._mode(name) == "graph" else 0.0
        run_ms = batch_ms / self._runs(name)
        return max(run_ms - gate_ms, run_ms / 100)

"""Time of one correct solution beside its baselines, on a GPU, under Hone's protocol."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence

from hone.judge.clocks.busy import busy_samples_ms
from hone.judge.clocks.observation import (
    LONG_SLACK_SHARE,
    MOST_SLACK_SHARE,
    Observation,
    floor_ms,
    lower_half,
    slow_times,
    unexplained_ms,
)
from hone.judge.clocks.queued import queued_runs
from hone.judge.device.cuda.batches import OTHER_RESULTS, STREAM, TimedBatches
from hone.judge.device.cuda.gpu import Clocks, Gpu, clocks
from hone.judge.device.cuda.reference import GRAPH_BELOW_MS, DeviceReference
from hone.judge.device.cuda.sets import LEAST_CHECKED_MS, BatchShape, run_count
from hone.judge.device.cuda.side import (
    NOT_CAPTURED,
    NOT_LAUNCHED,
    NOTHING_CAPTURED,
    REHEARSALS,
    RESTLESS,
    DeviceSubject,
)
from hone.judge.protocols.hone import LEAST_TIMED_RUNS
from hone.judge.stand import SOLUTION, OtherResultsError, Scalars
from hone.judge.verdict import Verdict
from hone.records import Clock, Finding, Mode, Performance, Protocol, Status, Timing

GATED: tuple[Mode, ...] = ("graph", "queued")
MORE_THAN_ONE = 2
LEAST_STREAM_TURNS = 7
STREAM_SECONDS = 1.0
"""In the stream, host work is part of the time and spreads by a tenth: turns go on for so long, if there are more."""
MOST_BATCH_MS = 400.0
"""What a batch of a solution should last at most."""
LONG_MS = 100.0
"""Of longer runs the host's work is a small part: a solution is left in the stream, and fewer turns will do."""
FIRST_BATCHES = 2
"""So often a solution that seems slow is tried, in case its first runs only are."""
BELOW_FLOOR = 0.95
CURTAILED = 2
"""Batches with so many times fewer runs than asked for are harder to check."""
PROBED_RUNS = 32
"""Runs that are launched, behind open gates, to see what the host takes for them."""
COMPARED_BATCHES = 3
ALL_MODES: tuple[Mode, ...] = ("graph", "queued", "replay", "stream")
UNCAPTURED: tuple[Mode, ...] = ("queued", "stream")
BROKEN_BY_CAPTURES = "it went wrong after it had been captured; it was judged again in a new process"


class DeviceTiming(TimedBatches):
    """Batches of solution and baselines in turns, in random order, each on inputs that nobody has seen before."""

    def __init__(
        self, reference: DeviceReference, subject: DeviceSubject, protocol: Protocol, scalars: Scalars,
        kernels: Mapping[str, DeviceSubject] | None = None, modes: Sequence[Mode] = ALL_MODES, *,
        gpu: Gpu | None = None,
    ) -> None:  # fmt: skip
        """The same arguments as those of the batches; `modes`: those in which the solution may be timed."""
        super().__init__(reference, subject, protocol, scalars, kernels)
        self._allowed = set(modes)
        self._gpu = gpu
        self._names: tuple[str, ...] = (SOLUTION,)
        self._reasons: dict[tuple[str, Mode], str] = {
            (SOLUTION, mode): BROKEN_BY_CAPTURES for mode in ALL_MODES if mode not in modes
        }
        """(side, mode) -> why it cannot be timed so."""
        self._reuses = False
        """The solution is right in single runs, and wrong in batches of several."""
        self._curtailed = False
        """The solution's batches have fewer runs than the baselines' time asks for, so that it is harder to check."""
        self._long = False
        self._wanted = 1
        """Runs of a batch that the baselines' time asks for."""
        self._samples: dict[str, list[float]] = {}
        self._charges: list[float] = []
        self._walls: list[float] = []
        self._gate_ms: dict[Mode, float] = {}
        """What a run loses at its gate, on all sides."""

    # ------------------------------------------------------------------------------- what a protocol asks for

    def begin(self, baselines: Sequence[str]) -> None:
        """Each side in its best way; forget all samples."""
        self._names = (SOLUTION, *baselines)
        self._samples, self._charges, self._walls = {name: [] for name in self._names}, [], []
        self._choose_shapes(baselines)

    def bar(self, error: OtherResultsError) -> None:
        """Do without a way of timing in which the solution gives other results."""
        self._allowed.discard(error.mode)
        late = error.detail == NOT_LAUNCHED
        self._reasons[SOLUTION, error.mode] = error.detail if late else f"{OTHER_RESULTS}: {error.detail}"

    def turn(self, *, kept: bool, audit: bool) -> None:
        """One batch of every side; of every kept one of the solution at least one run is audited."""
        order = list(self._names)
        if self._reference.written:
            order.append(order.pop(0))  # everything changes the inputs: those that are audited must be its own
        else:
            random.SystemRandom().shuffle(order)
        for place, name in enumerate(order):
            if name == SOLUTION:
                seen = self._side_batch(name, audit=audit, glance=kept)
                if kept:
                    self._keep(seen)
                continue
            elapsed = self._baseline_ms(name, fresh=place == 0 or bool(self._reference.written))
            if kept:
                self._samples[name].append(self._per_run(elapsed, name))

    def enough(self, turns: int, taken_s: float) -> bool:
        """Whether time is up. Where most batches were charged, every turn is taken: it may be the machine's noise."""
        stream = self._shape(SOLUTION).mode == "stream" and not self._long
        least = LEAST_STREAM_TURNS if stream else LEAST_TIMED_RUNS
        seconds = max(self._protocol.timing_seconds, STREAM_SECONDS if stream else 0.0)
        charged = bool(self._charges) and statistics.median(self._charges) > 0
        return taken_s >= seconds and turns >= least and not charged

    def performance(self) -> Performance:
        """Medians, and what makes them doubtful."""
        self._keep_least_disturbed()
        return self._performance(self._names)

    def _performance(self, names: Sequence[str]) -> Performance:
        at = clocks(self._gpu.uuid) if self._gpu else Clocks(0, 0, ())
        shape = self._shape(SOLUTION)
        in_graphs = all(self._shape(name).mode == "graph" for name in names)
        busy = busy_samples_ms(names, self._samples, self._spans) if in_graphs else {}
        refused = {mode: why for (name, mode), why in self._reasons.items() if name == SOLUTION}
        clock = Clock(
            source="cupti" if busy else "events", mode=shape.mode, runs_per_sample=shape.runs, refused=refused,
            baseline_modes={name: self._shape(name).mode for name in names[1:]},
            solution_wall_ms=statistics.median(self._walls),
            charged_ms=0.0 if busy else statistics.median(self._charges),
            sm_clock_mhz=at.sm_mhz, memory_clock_mhz=at.memory_mhz, throttled=at.throttled,
        )  # fmt: skip
        timings = {name: Timing(samples_ms=tuple((busy or self._samples)[name])) for name in names}
        solution, least = timings.pop(SOLUTION), self._floor_ms()
        findings = tuple(self._findings(solution, least))
        return Performance(solution=solution, baselines=timings, clock=clock, floor_ms=least, findings=findings)

    def _floor_ms(self) -> float:
        plan, device = self._reference.plan, self._reference.device
        # Three products of 16 bits make one of 32: no honest float32 result is faster, unless TF32 is allowed.
        exact = plan.workload.dtype == "float32" and self._protocol.tf32 == "off"
        return floor_ms(
            plan.read_bytes, plan.written_bytes, plan.definition.flops,
            bandwidth_gbs=device.bandwidth_gbs, peak_gflops=device.peak_gflops / (3 if exact else 1),
            l2_bytes=device.l2_bytes,
        )  # fmt: skip

    def _findings(self, solution: Timing, least_ms: float) -> Iterable[Finding]:
        if solution.latency_ms < BELOW_FLOOR * least_ms:
            yield "below_floor"
        if self._reuses:
            yield "reuses_outputs"
        if any(self._shape(name).gated and slow_times(values) for name, values in self._samples.items()):
            yield "slow_times"

    # ---------------------------------------------------------------------------------- in which way, how many

    def _choose_shapes(self, baselines: Sequence[str]) -> None:
        """Each side in the way in which it is fastest. Also the first warm-up.

        The baselines' ways were found out before there was a solution, so that it has no say in them.
        """
        reference, subject = self._reference, self._subject
        self._shapes = {}
        solution_ms = self._choose_sets(baselines)
        known = self._scalars = self._scalars[:1] * self._sets
        self._prepare(subject, self._sets)  # with another seed: numbers that depend on it cannot wait at a gate
        if self._refresh(subject, self._sets) != known:
            return
        self._reveal()
        self._gate_ms = reference.gate_ms()  # before the solution's launches can leave anything behind
        shapes = {name: self._shape_of_baseline(name) for name in baselines}
        launching = all(shape.mode == "stream" for shape in shapes.values())
        if solution_ms <= LONG_MS or (not launching and self._is_launching(solution_ms)):
            shapes[SOLUTION] = self._best_shape(SOLUTION)
        self._shapes = shapes
        self._curtailed = CURTAILED * self._runs(SOLUTION) <= self._wanted > 1

    def _is_launching(self, solution_ms: float) -> bool:
        """Whether a long run of the solution is mostly the host's launches, so that it matters to leave them out.

        Beside baselines without their launches; what takes the GPU so long has the time of a batch to itself.
        """
        if solution_ms > MOST_BATCH_MS:
            return False
        self._probe(SOLUTION, 1)
        return self._subject.launching_s * 1e3 > solution_ms / 2

    def _choose_sets(self, baselines: Sequence[str]) -> float:
        """Runs of a batch; milliseconds that one run of the solution takes.

        Not by the solution's own time, as long as that can be afforded: with few short runs in a batch the judge's
        clock could not check what it claims.
        """
        sets = self._reference.sets
        for _ in range(2):  # the first run of a kernel brings its code to the GPU
            run_ms = {name: self._first_ms(name) for name in (SOLUTION, *baselines)}
        solution_ms = run_ms[SOLUTION]
        # The shorter a run is, the more of it is launching.
        known = {name: kernel.device_run_ms for name, kernel in self._kernels.items() if kernel.device_run_ms}
        run_ms |= self._reference.graph_run_ms | known
        longest_ms = max(run_ms[name] for name in baselines or (SOLUTION,))
        for _ in range(FIRST_BATCHES):
            if solution_ms * run_count(sets, longest_ms) > MOST_BATCH_MS:
                solution_ms = min(solution_ms, self._first_ms(SOLUTION))
        self._long = solution_ms > LONG_MS
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

    def _best_shape(self, name: str) -> BatchShape:
        """The way in which a side is fastest, of those in which it is right: a graph if it can be one.

        What is wrong in a batch of several runs may be right in single ones: it returns a buffer that its next call
        writes over.
        """
        graph = self._gated_shape(name, "graph", self._sets)
        if graph is not None:
            return graph
        found = [self._gated_shape(name, "queued", self._sets), self._replay_shape(name)]
        if not any(found) and self._sets > 1 and self._wrong_in(name, "queued"):
            found = [self._gated_shape(name, mode, 1) for mode in GATED]
            self._reuses = any(found)
            self._check_other_addresses(name)
        usable = [shape for shape in found if shape is not None]
        if len(usable) < MORE_THAN_ONE:
            return usable[0] if usable else STREAM
        return min(usable, key=lambda shape: self._tried_ms(name, shape))

    def _check_other_addresses(self, name: str) -> None:
        """Two runs one after the other: the last results must be right, though a kept buffer holds them.

        Raises Verdict where it is right at the addresses of its first run alone, as with a graph of its own that it
        replays on whatever it is given.
        """
        self._shapes[name] = BatchShape("stream", 2)
        try:
            with self._blamed(name):
                self._last_of_batch(name)
        finally:
            del self._shapes[name]

    def _wrong_in(self, name: str, mode: Mode) -> bool:
        return self._reasons.get((name, mode), "").startswith(OTHER_RESULTS)

    def _gated_shape(self, name: str, mode: Mode, runs: int) -> BatchShape | None:
        """With as many runs as fit behind a gate; None, and the reason is noted, where it cannot be timed so."""
        if not self._may_be(name, mode):
            return None
        if mode == "queued" and runs > 1:
            runs = self._queued_runs(name, runs)
            if runs == 1 and self._wrong_in(name, mode):
                return None
        while self._problem(name, BatchShape(mode, runs)):
            if mode == "graph" or runs == 1 or self._reasons[name, mode] != NOT_LAUNCHED:
                return None
            runs = max(1, runs // 4)
        self._reasons.pop((name, mode), None)
        return BatchShape(mode, runs)

    def _queued_runs(self, name: str, wanted: int) -> int:
        """How many of the wanted runs fit behind a gate, by what the host takes to launch a few; else one."""
        problem = self._probe(name, min(PROBED_RUNS, wanted))
        return 1 if problem else queued_runs(wanted, self._sides[name].launching_s)

    def _probe(self, name: str, runs: int) -> str:
        """Some runs behind open gates, to see what the host takes for them; why that is not possible."""
        side = self._sides[name]
        self._prepare(side, runs)
        self._refresh(side, runs)
        self._reveal()
        with self._blamed(name):
            return self._attempted(side, lambda: side.run_open(self._reference, runs, "queued"))

    def _replay_shape(self, name: str) -> BatchShape | None:
        """Only where a graph was made that does not wait quietly, or is too long for a gate."""
        why = self._reasons.get((name, "graph"), NOT_CAPTURED)
        made = why not in (NOT_CAPTURED, NOTHING_CAPTURED) and not why.startswith(OTHER_RESULTS)
        shape = BatchShape("replay", 1)
        if not made or not self._may_be(name, "replay") or self._problem(name, shape):
            return None
        return shape

    def _may_be(self, name: str, mode: Mode) -> bool:
        """Results that depend on chance are others in a graph, whose seeds are fixed."""
        chancy = self._reference.random and mode in ("graph", "replay")
        return not chancy and (name != SOLUTION or mode in self._allowed)

    def _problem(self, name: str, shape: BatchShape, tries: int = REHEARSALS) -> str:
        """Why a side cannot be timed so, after several tries: one with branches may wait quietly now and then."""
        problem = ""
        for _ in range(tries):
            with self._blamed(name):
                problem = self._try_out(name, shape)
            if problem != RESTLESS:
                break
        if problem:
            self._reasons[name, shape.mode] = problem
        return problem

    def _tried_ms(self, name: str, shape: BatchShape) -> float:
        """The least that a run takes so, in a few batches."""
        self._shapes[name] = shape
        with self._blamed(name):
            taken = [self._side_batch(name, audit=False).claimed_ms for _ in range(COMPARED_BATCHES)]
        del self._shapes[name]
        return min(taken) / shape.runs

    # ----------------------------------------------------------------------------------------- baselines

    def _shape_of_baseline(self, name: str) -> BatchShape:
        """As it was found to be fastest; raises Verdict where that is no longer possible."""
        lost = "can no longer be timed as before"
        kernel = self._kernels.get(name)
        if kernel is None:
            mode = self._reference.mode(name)
            shape = BatchShape(mode, self._sets if mode == "graph" else 1)
            if mode in ("graph", "replay"):
                self._refresh_for(shape)
                if not self._reference.capture(name):
                    raise Verdict(Status.RUNTIME_ERROR, f"beside it the baseline {name} {lost}")
            return shape
        shape = BatchShape(kernel.shape.mode, min(self._sets, kernel.shape.runs))
        if shape.mode != "stream" and self._problem(name, shape):
            with self._blamed(name):
                raise Verdict(Status.RUNTIME_ERROR, f"it {lost}: {self._reasons[name, shape.mode]}")
        return shape

    def _refresh_for(self, shape: BatchShape) -> None:
        """A baseline's graph is made over the batch at hand."""
        if self._fresh_runs != shape.runs:
            self._refresh(self._subject, shape.runs)
            self._reveal()

    def rehearse(self) -> None:
        """One batch of a baseline in a process of its own, audited, and how it is timed best. Raises Verdict."""
        run_ms = self._choose_sets(tuple(self._reference.graph_run_ms))
        known = self._scalars = self._scalars[:1] * self._sets
        self._shapes[SOLUTION] = BatchShape("stream", self._sets)
        self._side_batch(SOLUTION, audit=True)
        del self._shapes[SOLUTION]
        if run_ms > GRAPH_BELOW_MS or self._scalars != known:  # numbers that change cannot wait at a gate
            return
        # However fast a solution says that it is: with as many runs as batches can have.
        if self._may_be(SOLUTION, "graph") and not self._problem(SOLUTION, BatchShape("graph", self._sets)):
            self._sets = max(self._sets, run_count(self._reference.sets, self._subject.device_run_ms, 0.0))
            self._scalars = self._scalars[:1] * self._sets
            quiet = all(
                not self._problem(SOLUTION, BatchShape("graph", self._sets), tries=1) for _ in range(REHEARSALS)
            )
            if quiet:
                self._subject.shape = BatchShape("graph", self._sets)
                return
        self._allowed.discard("graph")
        self._subject.shape = shape = self._best_shape(SOLUTION)
        if shape.mode != "stream":
            self._subject.device_run_ms = self._tried_ms(SOLUTION, shape)

    # --------------------------------------------------------------------------------------------- turns

    def _keep_least_disturbed(self) -> None:
        """Keep the half of the turns that was disturbed least, if the solution is charged or all is in the stream.

        Noise of the machine only adds to what the judge's clock sees, and work that the claim leaves out is in every
        sample: none of them is below its true time, and the lower ones are nearer to it. So it is with the host's work
        where that is part of everybody's time.
        """
        noisy = {name for name in self._samples if not self._shape(name).gated} | {SOLUTION}
        launching = all(self._shape(name).mode == "stream" for name in self._samples)
        if launching or statistics.median(self._charges) > 0:
            turns = range(len(self._charges))
            kept = lower_half([math.prod(self._samples[name][turn] for name in noisy) for turn in turns])
            self._charges = [self._charges[turn] for turn in kept]
            self._walls = [self._walls[turn] for turn in kept]
            self._samples = {name: [samples[turn] for turn in kept] for name, samples in self._samples.items()}

    def _noise_share(self, claimed_ms: float) -> float:
        """Where batches have fewer runs than asked for, noise counts for little; for nothing where they are short.

        And for nothing where single runs in the stream stand beside batches behind gates.
        """
        if not self._curtailed:
            return MOST_SLACK_SHARE
        others = [shape for name, shape in self._shapes.items() if name != SOLUTION]
        beside_gated = not self._shape(SOLUTION).gated and any(shape.gated for shape in others)
        return 0.0 if beside_gated or claimed_ms < LEAST_CHECKED_MS else LONG_SLACK_SHARE

    def _keep(self, seen: Observation) -> None:
        runs = self._runs(SOLUTION)
        usual = self._subject.overhead(self._shape(SOLUTION), runs)
        extra = unexplained_ms(seen, usual, self._noise_share(seen.claimed_ms))
        self._samples[SOLUTION].append(self._per_run(seen.claimed_ms + extra, SOLUTION))
        self._charges.append(extra / runs)
        self._walls.append(self._per_run(seen.wall_ms - usual.wall_ms, SOLUTION))

    def _per_run(self, batch_ms: float, name: str) -> float:
        """Of one run, without its gate; never less than a hundredth of what was measured, so that it stays a time."""
        gate_ms = self._gate_ms.get(self._shape(name).mode, 0.0)
        run_ms = batch_ms / self._runs(name)
        return max(run_ms - gate_ms, run_ms / 100)

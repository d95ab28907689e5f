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
    beyond_ms,
    floor_ms,
    lower_half,
    slow_times,
    unexplained_ms,
)
from hone.judge.device.cuda.batches import OTHER_RESULTS
from hone.judge.device.cuda.reference import DeviceReference
from hone.judge.device.cuda.sets import LEAST_CHECKED_MS
from hone.judge.device.cuda.side import NOT_LAUNCHED, DeviceSubject
from hone.judge.device.cuda.ways import ALL_MODES, Ways
from hone.judge.protocols.hone import LEAST_TIMED_RUNS
from hone.judge.stand import SOLUTION, OtherResultsError, Scalars
from hone.machine.gpus import Clocks, Gpu, clocks
from hone.records import Charged, Clock, Finding, Mode, Performance, Protocol, Timing

LEAST_STREAM_TURNS = 7
STREAM_SECONDS = 1.0
"""In the stream, host work is part of the time and spreads by a tenth: turns go on for so long, if there are more."""
BELOW_FLOOR = 0.95
CHARGED_SHARE = 0.02


class DeviceTiming(Ways):
    """Batches of solution and baselines in turns, in random order, each on inputs that nobody has seen before."""

    def __init__(
        self, reference: DeviceReference, subject: DeviceSubject, protocol: Protocol, scalars: Scalars,
        kernels: Mapping[str, DeviceSubject] | None = None, modes: Sequence[Mode] = ALL_MODES, *,
        gpu: Gpu | None = None,
    ) -> None:  # fmt: skip
        """The same arguments as those of the ways; `gpu`: whose clocks are read."""
        super().__init__(reference, subject, protocol, scalars, kernels, modes)
        self._gpu = gpu
        self._names: tuple[str, ...] = (SOLUTION,)
        self._samples: dict[str, list[float]] = {}
        self._charges: list[float] = []
        self._parts: list[dict[Charged, float]] = []
        """Of each charge, per run."""
        self._walls: list[float] = []

    # ------------------------------------------------------------------------------- what a protocol asks for

    def begin(self, baselines: Sequence[str]) -> None:
        """Each side in its best way; forget all samples."""
        self._names = (SOLUTION, *baselines)
        self._samples, self._charges, self._walls = {name: [] for name in self._names}, [], []
        self._parts = []
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
        """Whether time is up. Where much was charged, every turn is taken: it may be the machine's noise."""
        stream = self._shape(SOLUTION).mode == "stream" and not self._long
        least = LEAST_STREAM_TURNS if stream else LEAST_TIMED_RUNS
        seconds = max(self._protocol.timing_seconds, STREAM_SECONDS if stream else 0.0)
        charged = bool(self._charges) and self._median_charge() > CHARGED_SHARE * self._median_ms()
        return taken_s >= seconds and turns >= least and not charged

    def _median_charge(self) -> float:
        return statistics.median(self._charges)

    def _median_parts(self) -> dict[Charged, float]:
        if not self._median_charge():
            return {}
        return {place: statistics.median(parts[place] for parts in self._parts) for place in self._parts[0]}

    def _median_ms(self) -> float:
        """Of the solution."""
        return statistics.median(self._samples[SOLUTION])

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
            charged_ms=0.0 if busy else self._median_charge(),
            charged_parts_ms={} if busy else self._median_parts(),
            sm_clock_mhz=at.sm_mhz, memory_clock_mhz=at.memory_mhz, throttled=at.throttled,
        )  # fmt: skip
        timings = {name: Timing(samples_ms=tuple((busy or self._samples)[name])) for name in names}
        solution, least = timings.pop(SOLUTION), self._floor_ms()
        findings = tuple(self._findings(solution, self._floor_ms(flops=0)))
        return Performance(solution=solution, baselines=timings, clock=clock, floor_ms=least, findings=findings)

    def _floor_ms(self, flops: int | None = None) -> float:
        """`flops`: other operations than the reference's."""
        plan, device = self._reference.plan, self._reference.device
        # Three products of 16 bits make one of 32: no honest float32 result is faster, unless TF32 is allowed.
        exact = plan.workload.dtype == "float32" and self._protocol.tf32 == "off"
        return floor_ms(
            plan.read_bytes, plan.written_bytes, plan.definition.flops if flops is None else flops,
            bandwidth_gbs=device.bandwidth_gbs, peak_gflops=device.peak_gflops / (3 if exact else 1),
            l2_bytes=device.l2_bytes,
        )  # fmt: skip

    def _findings(self, solution: Timing, least_ms: float) -> Iterable[Finding]:
        """`least_ms`: by bytes alone, as another algorithm may do with fewer operations than the reference."""
        if solution.latency_ms < BELOW_FLOOR * least_ms:
            yield "below_floor"
        if self._reuses:
            yield "reuses_outputs"
        if any(self._shape(name).gated and slow_times(self._claimed(name)) for name in self._samples):
            yield "slow_times"

    def _claimed(self, name: str) -> list[float]:
        """Samples by the device's clock alone: what is charged follows the noise of the judge's own."""
        samples = self._samples[name]
        if name != SOLUTION:
            return samples
        return [sample - charge for sample, charge in zip(samples, self._charges, strict=True)]

    # --------------------------------------------------------------------------------------------- turns

    def _keep_least_disturbed(self) -> None:
        """Keep the half of the turns that was disturbed least, if the solution is charged or all is in the stream.

        Noise of the machine only adds to what the judge's clock sees, and work that the claim leaves out is in every
        sample: none of them is below its true time, and the lower ones are nearer to it. So it is with the host's work
        where that is part of everybody's time.
        """
        noisy = {name for name in self._samples if not self._shape(name).gated} | {SOLUTION}
        launching = all(self._shape(name).mode == "stream" for name in self._samples)
        if launching or self._median_charge() > 0:
            turns = range(len(self._charges))
            kept = lower_half([math.prod(self._samples[name][turn] for name in noisy) for turn in turns])
            self._charges = [self._charges[turn] for turn in kept]
            self._parts = [self._parts[turn] for turn in kept]
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
        self._parts.append({place: part / runs for place, part in beyond_ms(seen, usual).items()})
        self._walls.append(self._per_run(seen.wall_ms - usual.wall_ms, SOLUTION))

    def _per_run(self, batch_ms: float, name: str) -> float:
        """Of one run, without its gate; never less than a hundredth of what was measured, so that it stays a time."""
        gate_ms = self._gate_ms.get(self._shape(name).mode, 0.0)
        run_ms = batch_ms / self._runs(name)
        return max(run_ms - gate_ms, run_ms / 100)

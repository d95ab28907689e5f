"""In which way each side is timed, and in batches of how many runs: the fastest way that gives right results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hone.judge.clocks.queued import queued_runs
from hone.judge.device.cuda.batches import OTHER_RESULTS, STREAM, TimedBatches
from hone.judge.device.cuda.reference import GRAPH_BELOW_MS, DeviceReference
from hone.judge.device.cuda.sets import BatchShape, run_count
from hone.judge.device.cuda.side import (
    NOT_CAPTURED,
    NOT_LAUNCHED,
    NOTHING_CAPTURED,
    REHEARSALS,
    RESTLESS,
    DeviceSubject,
)
from hone.judge.stand import SOLUTION, OtherResultsError, Scalars
from hone.judge.verdict import Verdict
from hone.records import Mode, Protocol, Status

GATED: tuple[Mode, ...] = ("graph", "queued")
MORE_THAN_ONE = 2
MOST_BATCH_MS = 200.0
"""What a batch of a solution should last at most. A slow one has some thirty of them, while all other judges wait."""
MOST_LAUNCHING_MS = 400.0
"""A run that takes the GPU for longer is not probed for the time of its launches."""
LONG_MS = 100.0
"""Of longer runs the host's work is a small part: a solution is left in the stream, and fewer turns will do."""
CURTAILED = 2
"""Batches with so many times fewer runs than asked for are harder to check."""
PROBED_RUNS = 32
"""Runs that are launched, behind open gates, to see what the host takes for them."""
MOST_PROBES = 3
COMPARED_BATCHES = 3
ALL_MODES: tuple[Mode, ...] = ("graph", "queued", "replay", "stream")
UNCAPTURED: tuple[Mode, ...] = ("queued", "stream")
BROKEN_BY_CAPTURES = "it went wrong after it had been captured; it was judged again in a new process"


class Ways(TimedBatches):
    """Chooses the shape of every side's batches; why better ones are impossible is noted."""

    def __init__(
        self, reference: DeviceReference, subject: DeviceSubject, protocol: Protocol, scalars: Scalars,
        kernels: Mapping[str, DeviceSubject] | None = None, modes: Sequence[Mode] = ALL_MODES,
    ) -> None:  # fmt: skip
        """The same arguments as those of the batches; `modes`: those in which the solution may be timed."""
        super().__init__(reference, subject, protocol, scalars, kernels)
        self._allowed = set(modes)
        subject.apart = False  # what an earlier choice has found out is found out again
        self._reasons: dict[tuple[str, Mode], str] = {
            (SOLUTION, mode): BROKEN_BY_CAPTURES for mode in ALL_MODES if mode not in modes
        }
        """(side, mode) -> why it cannot be timed so."""
        self._reuses = False
        """The solution is right in single runs, and wrong in batches of several."""
        self._curtailed = False
        """The solution's batches have fewer runs than the baselines' time asks for, so that it is harder to check."""
        self._long = False
        """A run of the solution takes over LONG_MS."""
        self._wanted = 1
        """Runs of a batch that the baselines' time asks for."""
        self._gate_ms: dict[Mode, float] = {}
        """What a run loses at its gate, on all sides."""

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
        if solution_ms > MOST_LAUNCHING_MS:
            return False
        self._probe(SOLUTION, 1)
        return self._subject.launching_s * 1e3 > solution_ms / 2

    def _choose_sets(self, baselines: Sequence[str]) -> float:
        """Runs of a batch; milliseconds that one run of the solution takes.

        Not by the solution's own time, as long as that can be afforded: with few short runs in a batch the judge's
        clock could not check what it claims.
        """
        sets = self._reference.sets
        run_ms = {name: self._first_ms(name) for name in (SOLUTION, *baselines)}
        # The first run of a kernel brings its code to the GPU, which matters where runs are short.
        run_ms |= {name: self._first_ms(name) for name, taken_ms in run_ms.items() if taken_ms <= LONG_MS}
        solution_ms = run_ms[SOLUTION]
        # The shorter a run is, the more of it is launching.
        known = {name: kernel.device_run_ms for name, kernel in self._kernels.items() if kernel.device_run_ms}
        run_ms |= self._reference.graph_run_ms | known
        longest_ms = max(run_ms[name] for name in baselines or (SOLUTION,))
        if solution_ms * run_count(sets, longest_ms) > MOST_BATCH_MS:  # maybe only its first runs are so slow
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

        What is wrong in a batch of several runs may be right where results are copied in between, or in single runs:
        it returns a buffer that its next call writes over.
        """
        graph = self._gated_shape(name, "graph", self._sets)
        if graph is not None:
            return graph
        found = [self._gated_shape(name, "queued", self._sets), self._replay_shape(name)]
        if not any(found) and self._sets > 1 and self._wrong_in(name, "queued"):
            found = [self._shape_apart(name)]
            if not any(found):
                found = [self._gated_shape(name, mode, 1) for mode in GATED]
                self._check_other_addresses(name)
            self._reuses = any(found)
        usable = [shape for shape in found if shape is not None]
        if len(usable) < MORE_THAN_ONE:
            return usable[0] if usable else STREAM
        return min(usable, key=lambda shape: self._tried_ms(name, shape))

    def _shape_apart(self, name: str) -> BatchShape | None:
        """A batch of several runs that copies the results of each, as part of its time; None where that is wrong, too.

        A single short run could be charged ten times what it takes: noise is not spread over many.
        """
        side = self._sides[name]
        if not side.copies_outputs:  # a launcher writes where it is told
            return None
        side.apart = True
        modes = [mode for mode in GATED if self._wrong_in(name, mode)]
        shapes = (self._gated_shape(name, mode, self._sets) for mode in modes)
        found = next((shape for shape in shapes if shape is not None and shape.runs > 1), None)
        side.apart = found is not None
        return found

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
        """How many of the wanted runs fit behind a gate, by what the host takes to launch a few; else one.

        The first launches also wait for memory for their results, so it looks again as long as more runs fit. Batches
        of too few short runs are charged a large share for what the judge's own clock is uncertain by.
        """
        fitting = 1
        for _ in range(MOST_PROBES):
            if self._probe(name, min(wanted, max(PROBED_RUNS, fitting))):
                break
            found = queued_runs(wanted, self._sides[name].launching_s)
            fitting, more = max(fitting, found), found > fitting
            if not more or fitting == wanted:
                break
        return fitting

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
                if not self._captured(name):
                    raise Verdict(Status.RUNTIME_ERROR, f"beside it the baseline {name} {lost}")
            return shape
        shape = BatchShape(kernel.shape.mode, min(self._sets, kernel.shape.runs))
        if shape.mode != "stream" and self._problem(name, shape):
            with self._blamed(name):
                raise Verdict(Status.RUNTIME_ERROR, f"it {lost}: {self._reasons[name, shape.mode]}")
        return shape

    def _captured(self, name: str) -> bool:
        """Whether PyTorch's batch is a graph, where memory is short without what the solution keeps of it for later."""
        try:
            return self._reference.capture(name)
        except Verdict:  # for want of memory, or with its process
            if not self._reference.alive:
                raise
        self._subject.give_back()
        return self._reference.capture(name)

    def _refresh_for(self, shape: BatchShape) -> None:
        """A baseline's graph is made over the batch at hand."""
        if self._fresh_runs != shape.runs:
            self._refresh(self._subject, shape.runs)
            self._reveal()

    def rehearse(self) -> None:
        """One batch of a baseline in a process of its own, audited, and how it is timed best. Raises Verdict."""
        try:
            self._rehearse()
        except OtherResultsError as error:  # in a way that it had just passed: no protocol is there to bar it
            raise Verdict(Status.RUNTIME_ERROR, f"timed as {error.mode}: {error.detail}") from None

    def _rehearse(self) -> None:
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

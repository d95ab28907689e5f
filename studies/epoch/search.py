"""The search: constants and streams are proposed, compiled side by side, and timed by epochs between two of today's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hone.compile.slots import compilers_at_a_time
from hone.core.csv_table import Row
from hone.core.errors import MachineError
from hone.tuning.search import Measured, Plan, Point, search, together
from studies.epoch.bench import Epoch, EpochBench
from studies.epoch.space import source_at, space

SHORT_BATCHES, REPETITIONS = 120, 3
"""Of the shortest timing; each rung doubles the batches. The last ones train whole epochs."""
SAME_LOSS = 0.005
"""So far from today's, as a share, a loss may be: sums in another order, but no other training."""
COLUMNS = ("step", "rung", "batches", *space().first, "us", "today_us", "speedup", "loss", "problem")


def searched(
    bench: EpochBench, source: str, *, evaluations: int, finalists: int, seed: int,
    note: Callable[[Sequence[Row]], None],
) -> list[Row]:  # fmt: skip
    """A row for each epoch that was timed; `note` gets all of them after each generation.

    `source` is the device system's. Raises ValueError where so few evaluations are not enough for one.
    """
    plan = Plan.within(evaluations, finalists)
    if plan is None:
        raise ValueError(f"{evaluations} evaluations are not enough to try and to judge one choice")
    rows: list[Row] = []
    choices = space()

    def measure(rung: int | None, points: dict[int, Sequence[Point]]) -> dict[int, list[Measured]]:
        batches = None if rung is None else SHORT_BATCHES << rung
        asked = points[0]
        built = _built(bench, [source_at(source, point) for point in (choices.first, *asked)])
        if isinstance(built[0], MachineError):
            raise built[0]
        before = bench.epoch(built[0], choices.first, batches, REPETITIONS)
        found = [
            it if isinstance(it, MachineError) else _tried(bench, it, point, batches)
            for point, it in zip(asked, built[1:], strict=True)
        ]
        after = bench.epoch(built[0], choices.first, batches, REPETITIONS)
        today = Epoch(before.batches, (before.us + after.us) / 2, before.loss)
        told = [_compared(each, today) for each in found]
        for point, each, (speedup, problem) in zip(asked, found, told, strict=True):
            ran = {"us": each.us, "loss": each.loss} if isinstance(each, Epoch) else {"us": None, "loss": None}
            of = {"step": len(rows), "rung": rung, "batches": today.batches, "today_us": today.us}
            rows.append({**of, **point, **ran, "speedup": speedup, "problem": problem})
        note(rows)
        return {
            0: [Measured(speedup, int(isinstance(each, Epoch))) for each, (speedup, _) in zip(found, told, strict=True)]
        }

    together([search(choices, plan, seed)], measure)
    return rows


def _built(bench: EpochBench, sources: Sequence[str]) -> list[Path | MachineError]:
    """The path of each library, or why there is none; equal sources are compiled once."""

    def build(source: str) -> Path | MachineError:
        try:
            return bench.build(source)
        except MachineError as error:
            return error

    distinct = list(dict.fromkeys(sources))
    with ThreadPoolExecutor(compilers_at_a_time()) as pool:
        found = dict(zip(distinct, pool.map(build, distinct), strict=True))
    return [found[source] for source in sources]


def _tried(bench: EpochBench, library: Path, point: Point, batches: int | None) -> Epoch | MachineError:
    """An error where the GPU refuses a kernel: its blocks may have too many threads for their registers.

    Raises MachineError where the GPU answers nothing any more: what comes after would be blamed for it.
    """
    try:
        return bench.epoch(library, point, batches, REPETITIONS)
    except (MachineError, RuntimeError) as error:  # PyTorch's: memory, or a capture that was broken off
        bench.check(point)
        return MachineError(str(error))


def _compared(found: Epoch | MachineError, today: Epoch) -> tuple[float | None, str]:
    """The speedup, or none and why: it does not compile, is refused, or learns something else."""
    if isinstance(found, MachineError):
        return None, str(found).splitlines()[0]
    if not abs(found.loss - today.loss) <= SAME_LOSS * abs(today.loss):  # NaN, too
        return None, f"another loss than today's {today.loss:.6g}"
    return today.us / found.us, ""

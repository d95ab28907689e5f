"""How far a training on the device is from what its memory and its arithmetic allow: a row for each kernel.

Floors are from bandwidth and arithmetic rate that are measured in the same run: the best copy, the best bfloat16
product. Kernels are timed by PyTorch's profiler over batches that run one after the other; the epoch, with its graphs
and its two streams, is timed by itself.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch

from hone.core.csv_table import Row, write_table
from hone.core.errors import MachineError
from hone.gnn.device.kernel_work import PRODUCT, BatchCounts, KernelWork, batch_work
from hone.gnn.seeds import Plan, shuffled
from hone.records.gnn import ALL_KERNELS, BOTH_PARTS, WHOLE_EPOCH

if TYPE_CHECKING:
    from hone.gnn.device.loop import DeviceLoop
    from hone.gnn.device.training import DeviceTrainer
    from hone.gnn.device.weights import Weights
    from hone.gnn.job import TrainingJob
    from hone.records import Environment

COLUMNS = (
    *("kernel", "bytes", "flops", "floor_us", "measured_us", "share", "part", "floor_share", "floor_source"),
    *("dataset", "training", "device", "driver", "torch"),
)
"""Of the CSV file; `share` is of the sum of all kernels, `floor_share` the floor over the time."""
BATCHES, EPOCHS = 20, 4
COPIED_BYTES = 1 << 30
PRODUCT_WIDTH = 8192
REPETITIONS = 10
OURS = re.compile(r"hone::(\w+)")


@dataclass(frozen=True)
class Machine:
    """What a GPU does best."""

    bytes_per_us: float
    """Read and written, by a copy."""
    flops_per_us: float
    """Of a bfloat16 product."""

    def floor_us(self, work: KernelWork) -> float:
        """Neither its bytes nor its arithmetic can take less."""
        return max(work.bytes / self.bytes_per_us, work.flops / self.flops_per_us)

    @property
    def source(self) -> str:
        """For the table."""
        return f"copy at {self.bytes_per_us / 1e3:.0f} GB/s, products at {self.flops_per_us / 1e6:.0f} TFLOP/s"


@dataclass(frozen=True)
class Launch:
    """One kernel as the profiler saw it."""

    name: str
    start_us: float
    lasted_us: float


def write_roofline(trainer: DeviceTrainer, job: TrainingJob, here: Environment, output: Path) -> None:
    """Measure a training's kernels on its GPU, which no other program may use, and write the rows at `output`.

    Raises MachineError when kernels ran in another order than `batch_work` has them.
    """
    machine = best_of(trainer.learner.device)
    plan = Plan(shuffled(trainer.graph.tensor("train"), job.seed, 0), job.hyper.batch_size)
    work, times_us = profiled(trainer.loop, plan, min(BATCHES, len(plan)))
    place: Row = {
        "dataset": job.graph, "training": job.training, "device": here.device, "driver": here.driver,
        "torch": here.torch,
    }  # fmt: skip
    rows = table_rows(work, times_us, batch_us(trainer.loop, plan), machine)
    write_table(output, COLUMNS, [{**row, **place} for row in rows])


def best_of(device: torch.device) -> Machine:
    """Measured: the fastest of some copies and products."""
    source = torch.empty(COPIED_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    left = torch.randn(PRODUCT_WIDTH, PRODUCT_WIDTH, device=device).bfloat16()
    out = torch.empty_like(left)
    copy_us = min(_elapsed_us(lambda: target.copy_(source)) for _ in range(REPETITIONS))
    product_us = min(_elapsed_us(lambda: torch.mm(left, left, out=out)) for _ in range(REPETITIONS))
    return Machine(2 * COPIED_BYTES / copy_us, 2 * PRODUCT_WIDTH**3 / product_us)


def _elapsed_us(work: Any) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    begin.record()
    work()
    end.record()
    end.synchronize()
    return 1e3 * float(begin.elapsed_time(end))


def profiled(loop: DeviceLoop, plan: Plan, batches: int = BATCHES) -> tuple[list[KernelWork], list[float]]:
    """What a batch has to do, on average over some, and how long each part of it took."""
    counts = [BatchCounts.of(room, loop.graph) for room in loop.one_by_one(plan, batches)]  # warms up, too
    weights = cast("Weights", loop.weights)  # of a SAGE: `stage.roofline` refuses the others
    widths, parameters = weights.widths, len(weights.parameters)
    work = batch_work(
        BatchCounts.mean(counts), widths, parameters, deterministic=loop.deterministic, noting=loop.noting,
        unread=loop.unread,
    )  # fmt: skip
    return work, attributed(work, watched(loop, plan, batches), batches)


def watched(loop: DeviceLoop, plan: Plan, batches: int) -> list[Launch]:
    """Every kernel of some batches."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in loop.one_by_one(plan, batches):
            pass
        torch.cuda.synchronize()
    return kernels_of(profiler.events() or [])


def kernels_of(events: Iterable[Any]) -> list[Launch]:
    """The kernels among a profiler's events, in the order in which they ran."""
    found = [
        Launch(event.name, event.time_range.start, event.time_range.elapsed_us())
        for event in events
        if event.device_type.name == "CUDA" and not getattr(event, "is_user_annotation", False)
    ]
    return sorted(found, key=lambda launch: launch.start_us)


def attributed(work: Sequence[KernelWork], launches: Sequence[Launch], batches: int) -> list[float]:
    """Microseconds of each piece of work, the mean over batches; what is not ours belongs to the product at hand.

    Raises MachineError when our kernels did not run in the order of `work`, over and over again.
    """
    sums, at = [0.0] * len(work), -1
    begun = 0
    for launch in launches:
        ours = OURS.search(launch.name)
        if ours is not None:
            at = next((i for i in _around(at, len(work)) if work[i].launch != PRODUCT), at)
            begun += at == 0
            if work[at].launch != ours[1]:
                said = f"{ours[1]} ran where {work[at].kernel} was expected"
                raise MachineError(
                    said, where=__name__, remedy="report this: batch_work does not say what the loop does"
                )
        elif begun == 0 or launch.name.startswith("Mem"):
            continue  # of what came before the first batch; copies of sizes to the host
        elif work[at].launch != PRODUCT:
            at = next((i for i in range(at + 1, len(work)) if work[i].launch == PRODUCT), at)
        sums[at] += launch.lasted_us
    if begun != batches:
        raise MachineError(f"the profiler saw {begun} batches of {batches}", where=__name__, remedy="run it again")
    return [total / batches for total in sums]


def _around(at: int, number: int) -> Iterable[int]:
    """Places behind `at`, from the first one again at the end."""
    return (i % number for i in range(at + 1, at + 1 + number))


def batch_us(loop: DeviceLoop, plan: Plan, epochs: int = EPOCHS) -> float:
    """An epoch as it is trained, over its batches: the median after the first."""
    found = []
    for _ in range(1 + epochs):
        begun_s = time.perf_counter()
        loop.run(plan)
        found.append(1e6 * (time.perf_counter() - begun_s) / len(plan))
    return statistics.median(found[1:])


def table_rows(work: Sequence[KernelWork], times_us: Sequence[float], epoch_us: float, machine: Machine) -> list[Row]:
    """A row for each piece of work, their sum, and the epoch, which is less where kernels ran beside each other."""
    nbytes, flops = sum(item.bytes for item in work), sum(item.flops for item in work)
    floor_us, all_us = sum(map(machine.floor_us, work)), sum(times_us)
    found = [
        (item.kernel, item.part, item.bytes, item.flops, machine.floor_us(item), time_us)
        for item, time_us in zip(work, times_us, strict=True)
    ]
    for name, lasted_us in ((ALL_KERNELS, all_us), (WHOLE_EPOCH, epoch_us)):
        found.append((name, BOTH_PARTS, nbytes, flops, floor_us, lasted_us))
    return [
        {
            "kernel": kernel, "part": part, "bytes": round(of_bytes), "flops": round(of_flops), "floor_us": least_us,
            "measured_us": lasted_us, "share": lasted_us / all_us, "floor_source": machine.source,
            "floor_share": least_us / lasted_us if lasted_us else None,
        }
        for kernel, part, of_bytes, of_flops, least_us, lasted_us in found
    ]  # fmt: skip

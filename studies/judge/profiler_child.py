"""Durations of a plain .cu's kernels by PyTorch's profiler: `python -m studies.judge.profiler_child REQUEST REPORT`.

An independent driver: it shares no code with the judge but the launcher's convention. Request: `artifact`, `definition`
(a record), `launches`, `flush_mib`. Needs a GPU; nothing confines the kernel, which runs in this very process.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from hone.records import Argument, Definition
from hone.sanitizer.calls import SCALARS

WARM_UP = 5
FLUSH_KERNEL = "at::native"
"""In the names of PyTorch's own kernels: between the flushes, all that a plain .cu can run is its own."""
KEPT_BYTES = 8 << 30
"""Copies of inputs and outputs are all made beforehand, as far as they fit into this; then they are used in turn."""

Event = tuple[str, float, float]
"""Name, start and end of what ran on the device, in microseconds."""


def main(request: Path, report: Path) -> None:
    """Measure and write the report; whatever goes wrong ends the process with a traceback."""
    asked = json.loads(request.read_text(encoding="utf-8"))
    definition = Definition.model_validate(asked["definition"])
    found: dict[str, float] = {}
    for name, alone in (("profiler_us", False), ("alone_us", True)):
        events, in_a_row = profile(
            Path(asked["artifact"]), definition, asked["launches"], asked["flush_mib"], alone=alone
        )
        launches = spans(events, in_a_row)
        found |= {"launches": len(launches), "kernels": median(count for count, _ in launches) if launches else 0}
        if launches:
            found[name] = median(span for _, span in launches)
    report.write_text(json.dumps(found), encoding="utf-8")


def spans(events: Sequence[Event], in_a_row: int) -> list[tuple[int, float]]:
    """(kernels, first start to last end in microseconds) of each launch; `in_a_row` of them between two flushes."""
    groups: list[list[Event]] = []
    for event in sorted(events, key=lambda one: one[1]):
        if FLUSH_KERNEL in event[0]:
            groups.append([])
        elif groups:
            groups[-1].append(event)
    parts = [group[at : at + size] for group in groups for size in [len(group) // in_a_row] if size
             for at in range(0, size * in_a_row, size)]  # fmt: skip
    return [(len(part), max(end for *_, end in part) - part[0][1]) for part in parts]


def profile(
    artifact: Path, definition: Definition, launches: int, flush_mib: int, *, alone: bool
) -> tuple[list[Event], int]:
    """What ran on the device, and how many launches there were between two flushes of the L2 cache.

    `alone`: one launch, and then a wait for the device. Else as many as there are buffers: the kernel's code and the
    clocks are warm and the data is cold, as in the judge's batches. The flush writes, as the judge's does. It leaves
    the cache full of lines that the kernel's own push out to memory.
    """
    import torch
    from torch._C._autograd import DeviceType
    from torch.profiler import ProfilerActivity

    values, order = make_arguments(definition)
    outputs = [torch.empty(definition.shape_of(item), dtype=getattr(torch, item.dtype)) for item in definition.outputs]
    size = sum(value.nbytes for value in (*values.values(), *outputs) if isinstance(value, torch.Tensor))
    copies = max(2, min(launches, KEPT_BYTES // max(size, 1)))
    sets = [_buffers(values, outputs, order, definition) for _ in range(copies)]
    library = ctypes.CDLL(str(artifact))
    library.launch.restype = None
    flush = torch.zeros(flush_mib << 18, dtype=torch.int32)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    in_a_row = 1 if alone else copies

    def rounds(count: int) -> None:
        for number in range(count):
            flush.add_(1)
            for place in range(in_a_row):
                library.launch(*sets[(number * in_a_row + place) % copies][0], stream)
            torch.cuda.synchronize()

    rounds(WARM_UP)
    with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        rounds(-(-launches // in_a_row))
    events = [
        (event.name, event.time_range.start, event.time_range.end)
        for event in profiler.events() or []
        if event.device_type == DeviceType.CUDA
    ]
    return events, in_a_row


def make_arguments(definition: Definition) -> tuple[dict[str, Any], list[Argument]]:
    """Values of inputs and parameters by name, made by the reference on the GPU, and their order in the launcher."""
    import torch

    torch.set_default_device("cuda")
    torch.manual_seed(0)
    module: dict[str, Any] = {"__name__": "reference"}
    exec(compile(definition.reference, "reference.py", "exec"), module)
    model = module["Model"](*module["get_init_inputs"]()).cuda()
    values = dict(zip((item.name for item in definition.inputs), module["get_inputs"](), strict=True))
    floating = [value for value in model.state_dict().values() if value.is_floating_point()]
    values.update(zip((item.name for item in definition.parameters), floating, strict=True))
    return values, [*definition.inputs, *definition.parameters]


def _buffers(
    values: Mapping[str, Any], outputs: Sequence[Any], order: Sequence[Argument], definition: Definition
) -> tuple[list[Any], list[Any]]:
    """The launcher's arguments without the stream, on copies of their own, and the copies, which must stay alive."""
    copies = {item.name: values[item.name].contiguous().clone() for item in order if item.kind == "tensor"}
    results = [output.clone() for output in outputs]
    arguments: list[Any] = []
    for item in order:
        if item.kind == "tensor":
            arguments.append(ctypes.c_void_p(copies[item.name].data_ptr()))
        else:
            arguments.append(SCALARS[item.dtype](values[item.name]))
    arguments += [ctypes.c_void_p(result.data_ptr()) for result in results]
    arguments += [ctypes.c_int64(size) for size in definition.axes.values()]
    return arguments, [*copies.values(), *results]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

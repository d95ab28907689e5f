"""What the two runners with PyTorch share: modules from source text, models from seeds, tensors over arenas."""

from __future__ import annotations

import mmap
import os
import random
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import torch

from hone.records.layout import Layout

TEXT_CHARACTERS = 8_000
TABLE_CHARACTERS = 20_000
INSTALLED = re.compile(r"/[^\s\"']*/site-packages/")
"""Where packages lie on a machine is nobody's business: traces and prompts quote errors."""
PACKAGE = __file__.rpartition("/judge/")[0] + "/"
"""Where this package lies: its own frames say nothing to the author of a solution."""
NO_MEMORY = (
    "can't allocate memory", "not enough memory", "bad_alloc", "CUDA out of memory", "CUDA error: out of memory",
    "nvmlInit_v2_() INTERNAL ASSERT",
)  # fmt: skip
"""What PyTorch says when memory is short; the last where it then cannot ask the driver how much is left."""

Arenas = Mapping[str, tuple[mmap.mmap, Layout]]


class UnexpectedOutput(Exception):
    """Number, shape or data type of outputs or inputs are not the definition's."""


class KeptStateError(Exception):
    """What a model gives depends on how often it has run."""


def silence() -> None:
    """Send what Python code prints to descriptor 1, which leads nowhere; 2 is a pipe that fills up."""
    sys.stderr = sys.stdout


def seed_all(seed: int) -> None:
    """Seed PyTorch, numpy and Python."""
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def build_model(
    reference: ModuleType, model_class: Any, seed: int, dtype: str, *, mode: str = "train", on_gpu: bool = False,
    own_types: bool = False,
) -> Any:  # fmt: skip
    """Seeded as KernelBench does: before `get_init_inputs`, and before the constructor.

    Built on the CPU and then moved, as there: weights that are drawn on the CPU are the same for everybody. Tensors
    among the constructor's arguments are moved before. `mode`: `train`, as KernelBench judges, or `eval`. `own_types`:
    what a solution keeps in half precision stays so where float32 is asked for, which is what everything begins as.
    """
    seed_all(seed)
    given = reference.get_init_inputs()
    named = given if isinstance(given, dict) else {}
    listed = [] if isinstance(given, dict) else given
    arguments = [_moved(value, on_gpu=on_gpu) for value in listed]
    others = {name: _moved(value, on_gpu=on_gpu) for name, value in named.items()}
    seed_all(seed)
    model = model_class(*arguments, **others)
    if not (own_types and dtype == "float32"):
        model = model.to(getattr(torch, dtype))
    if on_gpu:
        model = model.cuda()
    return model.eval() if mode == "eval" else model


def _moved(value: Any, *, on_gpu: bool) -> Any:
    return value.cuda() if on_gpu and isinstance(value, torch.Tensor) else value


def set_sizes(module: ModuleType, sizes: Mapping[str, int]) -> None:
    """Give the constants of a problem's module other values: those whose name, in lower case, is an axis."""
    for name, value in list(vars(module).items()):
        if name.lower() in sizes and type(value) is int:  # `F` is a module as a rule
            setattr(module, name, sizes[name.lower()])


def cast_inputs(values: Sequence[Any], message: Mapping[str, Any]) -> list[Any]:
    """What `get_inputs` gives, floating-point tensors in the workload's type but for those of fixed type.

    `message` names the `arguments`, those that are `fixed`, and the `dtype`. Raises UnexpectedOutput for too many or
    too few values.
    """
    names, dtype = message["arguments"], getattr(torch, message["dtype"])
    if len(values) != len(names):
        raise UnexpectedOutput(f"get_inputs gives {len(values)} values, the definition has {len(names)}")
    return [
        value.to(dtype)
        if isinstance(value, torch.Tensor) and value.is_floating_point() and name not in message["fixed"]
        else value
        for name, value in zip(names, values, strict=True)
    ]


def tensors_over(memory: mmap.mmap, layout: Layout) -> dict[str, torch.Tensor]:
    """Tensors whose storage is the arena itself, by name."""
    found = {}
    for slot in layout.slots:
        dtype = getattr(torch, slot.dtype)
        count = int(np.prod(slot.shape, dtype=np.int64))
        if count == 0:
            found[slot.name] = torch.empty(slot.shape, dtype=dtype)
        else:
            flat = torch.frombuffer(memory, dtype=dtype, count=count, offset=slot.offset)
            found[slot.name] = flat.reshape(slot.shape)
    return found


def flatten(outputs: Any) -> list[torch.Tensor]:
    """A forward's result as a list of tensors, none for None; raises UnexpectedOutput for anything else."""
    return [] if outputs is None else _tensors(outputs)


def _tensors(outputs: Any) -> list[torch.Tensor]:
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    if isinstance(outputs, (list, tuple)):
        return [tensor for item in outputs for tensor in _tensors(item)]
    raise UnexpectedOutput(f"forward returned a {type(outputs).__name__} instead of tensors")


def check_and_copy(outputs: Sequence[torch.Tensor], places: Sequence[torch.Tensor], names: Sequence[str]) -> None:
    """Copy outputs into the arena; raises UnexpectedOutput naming the first one that does not fit."""
    if len(outputs) != len(places):
        raise UnexpectedOutput(f"{len(outputs)} outputs, expected {len(places)}")
    for name, output, place in zip(names, outputs, places, strict=True):
        got, expected = (str(output.dtype)[6:], list(output.shape)), (str(place.dtype)[6:], list(place.shape))
        if got != expected:
            raise UnexpectedOutput(f"{name} is {got[0]} {got[1]}, expected {expected[0]} {expected[1]}")
        place.copy_(output)


def describe_error(error: BaseException, kind: str) -> dict[str, Any]:
    """An exception as an answer: `memory`, `shape`, or the kind that the caller gives; the traceback's last lines."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, (UnexpectedOutput, KeptStateError)):
        return {"error": {"kind": "shape" if isinstance(error, UnexpectedOutput) else "state", "text": str(error)}}
    if isinstance(error, MemoryError) or any(words in str(error) for words in NO_MEMORY):
        kind = "memory"
    elif isinstance(error, ModuleNotFoundError):
        return {"error": {"kind": kind, "text": text, "missing": error.name}}
    else:
        text = "".join(_own_frames(error))
    return {"error": {"kind": kind, "text": text[-TEXT_CHARACTERS:]}}


def _own_frames(error: BaseException) -> list[str]:
    """The traceback from the first frame of the executed source on, four frames at most, without our own."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next((at for at, frame in enumerate(frames) if frame.filename.startswith("<hone_")), len(frames))
    chosen = [frame for frame in frames[first:] if not frame.filename.startswith(PACKAGE)]
    lines = [*traceback.format_list(chosen[-4:]), *traceback.format_exception_only(error)]
    own = os.environ.get("HOME", "")  # the judge's scratch folder
    return [INSTALLED.sub("…/site-packages/", line.replace(own, "~") if own else line) for line in lines]


def profile_table(run: Any) -> str:
    """PyTorch's operator table of one call, the most expensive operators first."""
    # Not torch.profiler: importing that takes a second and writes to a cache folder.
    from torch.autograd.profiler import profile

    with profile() as profiler:
        run()
    table = profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=15)
    return str(table)[:TABLE_CHARACTERS]

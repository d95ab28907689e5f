"""What faster kernels are worth in a whole decoder layer: predicted from their own times, and measured.

A layer's forward is one CUDA graph (on a CPU plain calls). It runs with PyTorch's operators, with upstream's kernels,
with today's and with the winners, all through `hone.operators`, in turns, each time from a cold L2 cache.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hone.core.errors import ConfigError, MachineError
from hone.operators import Operator
from hone.records import Status, Trace, Workload
from studies.decoder.kernels import PlaceCalls, by_place, operator_kernels, record_calls
from studies.decoder.layer import SIZES, DecoderLayer, LayerSize, difference
from studies.decoder.rows import BASE, KernelTime, Point
from studies.decoder.timing import Timed, in_turns, timed

BY_TORCH = "torch"
CALLS = 20
"""Of one kernel in one graph, where the judge has no time of it."""
LARGEST_DIFFERENCE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 5e-2}
"""Relative, of a layer's results from those with PyTorch's operators."""

Sets = Mapping[str, Mapping[str, Operator]]
"""Kernel set -> place in the layer -> operator; PyTorch's where there is none."""


@dataclass(frozen=True)
class Setting:
    """What is measured, and how often."""

    size: LayerSize
    tokens: tuple[int, ...]
    dtype: str
    device: str
    turns: int

    @classmethod
    def of(cls, layer: str, tokens: Sequence[int], dtype: str, device: str, turns: int) -> Setting:
        """Raises ConfigError for an unknown layer or data type, MachineError where PyTorch finds no GPU."""
        if layer not in SIZES:
            raise ConfigError(f"no layer '{layer}'", where="--layer", remedy=f"choose one of {', '.join(SIZES)}")
        if dtype not in LARGEST_DIFFERENCE or (device == "cuda" and dtype == "float32"):
            remedy = "choose float16 or bfloat16; float32 on a CPU only, since PyTorch's flash attention lacks it"
            raise ConfigError(f"no layer in {dtype} on {device}", where="--dtype", remedy=remedy)
        if not tokens or min(tokens) < 1:
            raise ConfigError("a layer needs one token or more", where="--tokens")
        if device == "cuda" and not torch.cuda.is_available():
            raise MachineError("PyTorch finds no GPU", remedy="run this where there is one, or with --device cpu")
        return cls(SIZES[layer], tuple(tokens), dtype, device, turns)


@dataclass(frozen=True)
class KnownTimes:
    """Latencies of the judge's traces, by what was run."""

    timings_us: Mapping[tuple[str, str], float]
    """(solution id, workload id) -> median."""
    workloads: Sequence[Workload]

    @classmethod
    def of(cls, traces: Iterable[Trace], workloads: Sequence[Workload]) -> KnownTimes:
        """Times of kernels that passed."""
        passed = [item for item in traces if item.status is Status.PASSED]
        found = {
            (item.solution, item.workload): item.performance.solution.latency_ms * 1e3
            for item in passed
            if item.performance is not None
        }
        return cls(found, workloads)

    def kernel_us(self, operator: Operator, values: Sequence[Any]) -> float | None:
        """The judge's time of this kernel at the sizes and type of these values; None where it was not measured."""
        wanted = operator.definition.name, operator.contract.dtype(values), operator.contract.sizes(values)
        same = [item.id for item in self.workloads if (item.definition, item.dtype, item.axes) == wanted]
        known = (self.timings_us.get((operator.solution.id, key)) for key in same)
        return next((value for value in known if value is not None), None)


def measure(setting: Setting, kernel_sets: Mapping[str, Sequence[Operator]], known: KnownTimes) -> Iterator[Point]:
    """One for each number of tokens. Raises MachineError when none of the operators has a place in the layer.

    A place for which a set has no operator gets upstream's, and PyTorch's where upstream has none.
    """
    base = by_place(kernel_sets.get(BASE, ()), setting.dtype)
    others = {name: {**base, **by_place(found, setting.dtype)} for name, found in kernel_sets.items() if name != BASE}
    sets: Sets = {BY_TORCH: {}, BASE: base, **others}
    if not any(sets.values()):
        problem = f"no kernel that takes {setting.dtype} has a place in the layer"
        raise MachineError(problem, remedy="choose another --dtype, or post-process a config that has such kernels")
    layer = DecoderLayer(setting.size, getattr(torch, setting.dtype), setting.device)
    for tokens in setting.tokens:
        with torch.no_grad():
            layer.feed(tokens)
            yield _point(setting, layer, tokens, sets, known)


def _point(setting: Setting, layer: DecoderLayer, tokens: int, sets: Sets, known: KnownTimes) -> Point:
    differences = _differences(layer, sets)
    calls = {name: record_calls(layer, operators) for name, operators in sets.items()}
    judged = {
        (name, place): known.kernel_us(operators[place], calls[name][place].values)
        for name, operators in sets.items()
        for place in operators
    }
    runs = {name: _layer_run(setting, layer, operators) for name, operators in sets.items()}
    runs |= {
        f"{name}/{place}": _kernel_run(setting, sets[name][place], calls[name][place])
        for (name, place), found in judged.items()
        if found is None
    }
    samples = in_turns(runs, setting.turns)
    kernels: dict[str, dict[str, KernelTime]] = {name: {} for name in sets}
    for (name, place), found in judged.items():
        kernel_us = statistics.median(samples[f"{name}/{place}"]) if found is None else found
        title, source = sets[name][place].definition.title, "trial" if found is None else "trace"
        kernels[name][place] = KernelTime(title, calls[name][place].count, kernel_us, source)
    layers = {name: samples[name] for name in sets}
    return Point(tokens, setting.dtype, setting.device, layers, kernels, differences)


def _differences(layer: DecoderLayer, sets: Sets) -> dict[str, float]:
    results = {}
    for name, operators in sets.items():
        layer.reset()
        output, residual = layer.forward(operator_kernels(operators))
        results[name] = output, residual.clone()
    expected = results[BY_TORCH]
    return {name: difference(found, expected) for name, found in results.items()}


def _layer_run(setting: Setting, layer: DecoderLayer, operators: Mapping[str, Operator]) -> Timed:
    kernels = operator_kernels(operators)
    return timed(lambda: layer.forward(kernels), layer.reset, setting.device)


def _kernel_run(setting: Setting, operator: Operator, calls: PlaceCalls) -> Timed:
    """One kernel alone, on values of its own; what it writes in place is put back before each run."""
    mine = [value.clone() if isinstance(value, torch.Tensor) else value for value in calls.values]
    pairs = [(own, given) for own, given in zip(mine, calls.values, strict=True) if isinstance(own, torch.Tensor)]

    def reset() -> None:
        for own, given in pairs:
            own.copy_(given)

    return timed(lambda: operator(*mine), reset, setting.device, CALLS)

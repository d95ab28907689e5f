"""Inputs of many sets at once: what `get_inputs` does on the GPU as graphs, replayed with other seeds.

Launching the few small kernels behind each of 256 sets takes a tenth of a second, replaying their graphs milliseconds;
judging a kernel of microseconds asks for new inputs some seventy times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hone.judge.child.models import seed_all
from hone.judge.cuda import driver
from hone.judge.cuda.memory import DeviceArena
from hone.judge.cuda.models import captured_graph

LEAST_SETS = 8
"""For fewer it is not worth it."""
SETS_A_GRAPH = 32
TRIED_SEEDS = (11, 12)
WAITING = frozenset({torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape})
"""Of operators that wait for the GPU: they cannot be captured, and one that is tried spoils the capture."""

COPYING = (torch.tensor, torch.as_tensor, torch.asarray, torch.from_numpy)
"""Functions that bring the host's values to the GPU, and wait for that."""
FEW = 64
MASKS = (torch.bool, torch.uint8)

Places = Mapping[str, torch.Tensor]
Draw = Callable[[Places], dict[str, Any]]
"""Writes inputs to a set's tensors from the generators as they are; returns the arguments that are plain numbers."""


class DrawnSets:
    """Graphs over consecutive sets of an arena; none where inputs come from elsewhere than the GPU's generator."""

    def __init__(self, arena: DeviceArena, draw: Draw) -> None:
        """Capture them; what they give is then that of `draw` for some seeds, to the last bit."""
        self._graphs: list[Any] = []
        self._numbers: dict[str, Any] = {}
        if len(arena.sets) < LEAST_SETS or not _stays_on(arena.bytes.device, draw, arena.sets[0]):
            return
        graphs = _captured(arena.sets, draw)
        if graphs and all(self._agrees(graphs[0], draw, arena.sets[0], seed) for seed in TRIED_SEEDS):
            self._graphs = graphs

    def cover(self, count: int) -> bool:
        """Whether the first `count` sets are to be drawn so."""
        return bool(self._graphs) and count >= LEAST_SETS

    def draw(self, seed: int, count: int) -> list[dict[str, Any]]:
        """Put inputs into at least the first `count` sets, one after the other from one seed; as `Draw`, for each."""
        seed_all(seed)
        for graph in self._graphs[: -(-count // SETS_A_GRAPH)]:
            graph.replay()
        return [dict(self._numbers) for _ in range(count)]

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Around another capture: one that fails takes the generator along, and these graphs with it."""
        graphs, self._graphs = self._graphs, []
        yield
        self._graphs = graphs

    def _agrees(self, graph: Any, draw: Draw, places: Places, seed: int) -> bool:
        """What Python's own chance or a clock had a part in is in the graph for ever."""
        seed_all(seed)
        numbers = draw(places)
        wanted = {name: tensor.clone() for name, tensor in places.items()}
        known, self._numbers = self._numbers, numbers
        seed_all(seed)
        graph.replay()
        driver.synchronize()
        same = all(torch.equal(wanted[name], tensor) for name, tensor in places.items())
        return same and (seed == TRIED_SEEDS[0] or known == numbers)


def _captured(sets: Sequence[Places], draw: Draw) -> list[Any]:
    graphs = []
    try:
        for first in range(0, len(sets), SETS_A_GRAPH):
            with captured_graph() as graph:
                for places in sets[first : first + SETS_A_GRAPH]:
                    draw(places)
            graphs.append(graph)
    except Exception:  # noqa: BLE001  whatever cannot be captured is drawn one by one
        return []
    return graphs


class OnTheGpu(TorchFunctionMode):
    """Does on the GPU what PyTorch does on the host without saying so: tensors of few numbers, short permutations."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if len(args) == 1 and set(kwargs) <= {"dtype"}:
            if func is torch.randperm:
                return torch.rand(args[0]).argsort().to(kwargs.get("dtype", torch.int64))
            if func is torch.tensor and _few_numbers(args[0]):
                dtype = kwargs.get("dtype") or _dtype_of(args[0])
                return torch.stack([torch.full((), number, dtype=dtype) for number in args[0]])
        return func(*args, **kwargs)


def _few_numbers(data: Any) -> bool:
    return isinstance(data, list) and 0 < len(data) <= FEW and all(type(item) in (bool, int, float) for item in data)


def _dtype_of(numbers: Sequence[float]) -> torch.dtype:
    kinds = {type(number) for number in numbers}
    return torch.get_default_dtype() if float in kinds else torch.int64 if int in kinds else torch.bool


def _stays_on(device: torch.device, draw: Draw, places: Places) -> bool:
    """Whether drawing never leaves the GPU, nor waits for it."""
    with _Calls() as calls, _Operators(device) as operators:
        draw(places)
    return not calls.copies and operators.stay


class _Calls(TorchFunctionMode):
    """Looks at all calls inside: what `torch.tensor` does of its own is no operator."""

    copies = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.copies |= func in COPYING
        return func(*args, **(kwargs or {}))


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Looks at all operators inside."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._device = device
        self.stay = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves((args, kwargs, result)) if isinstance(leaf, torch.Tensor)]
        waits = not WAITING.isdisjoint(func.tags)
        if func is torch.ops.aten.index.Tensor:  # with masks it waits to know how many there are
            waits = any(tensor.dtype in MASKS for tensor in tensors[1:-1])
        self.stay &= not waits and all(tensor.device == self._device for tensor in tensors)
        return result

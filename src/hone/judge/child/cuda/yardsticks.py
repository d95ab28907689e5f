"""What a solution's precision is measured against, found in the trusted process: never silently nothing.

In this order: the reference in float64 (`exact`); the same for some rows, where the reference treats rows apart
(`sliced`); the reference without TF32 (`float32`). The last is no exact result, but its own error is some 1e-6,
while TF32 has 3e-4 and bfloat16 3e-3: it tells them apart. Where results are rounding errors alone there is none.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from hone.judge.child.cuda.reference_base import ReferenceBase
from hone.judge.child.models import flatten, seed_all
from hone.judge.device.cuda.checks import distance, rounding_slack
from hone.judge.device.cuda.models import without_tf32

EXACT_FLOPS = 2e13
"""Up to this size the reference is also computed in float64, which takes up to some seconds."""
EXACT_COPIES = 3
"""Times inputs and outputs in float64: what has to be free for that, beside the model's own copy."""
SLICES = 4
"""So many single rows are computed in float64 where all of them are too large."""
SEPARABLE = 1e-3
"""A row of the results and the result of a row may differ by this, relative to the row's size."""
ALIKE = 1e-2
"""Where float64 gives results further off than this, it is another function: chance, or a branch on the data type.

Where one rounding of the inputs moves the results so far, they are rounding errors themselves (the mean of what has
just been normalised), and nobody's precision can be told."""
ROUNDING = {torch.float64: 2.0**-52, torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}

Kind = Literal["exact", "sliced", "float32"]


@dataclass(frozen=True)
class Yardstick:
    """Results that errors are measured against."""

    kind: Kind
    values: list[torch.Tensor]
    """All results, or their `rows`."""
    rows: tuple[int, ...]
    """Of dimension 0; empty for all."""
    own_error: float | None
    """||reference - values|| / ||values||; of `float32`, at least how far one rounding of the inputs moves them."""
    slacks: list[float]
    """For each result what an element may be off for the order of operations alone."""

    def error_of(self, results: Sequence[torch.Tensor]) -> float | None:
        """The largest ||results - values|| / ||values||."""
        return distance([_rows(item, self.rows) for item in results], self.values)


class Yardsticks(ReferenceBase):
    """Finds the yardstick of set 0, whose results are `_expected`."""

    def _find_yardstick(self, scalars: Mapping[str, Any], forward_seed: int) -> tuple[Yardstick | None, bool]:
        """The best that there is; whether float64, where it was computed, is the same function."""
        alike = True
        for attempt in (self._exactly, self._by_rows):
            found = attempt(scalars, forward_seed)
            if found is not None and (found.own_error is None or found.own_error < ALIKE):
                return found, True
            alike = alike and found is None
        found = self._by_float32(scalars, forward_seed)
        if found is not None and found.own_error is not None and found.own_error >= ALIKE:
            return None, False
        return found, alike

    def _exactly(self, scalars: Mapping[str, Any], forward_seed: int) -> Yardstick | None:
        """Absent where that is too large or the reference insists on its own data type."""
        found = self._exact_results(0, scalars, forward_seed)
        return None if found is None else self._against("exact", found, ())

    def _exact_results(self, index: int, scalars: Mapping[str, Any], forward_seed: int) -> list[torch.Tensor] | None:
        """What float64 gives for a set of which `_expected` are the results."""
        wide_bytes = 2 * (self._inputs.region.layout.nbytes + self._outputs.region.layout.nbytes)
        if self._flops > EXACT_FLOPS or EXACT_COPIES * wide_bytes > _free_bytes():
            return None
        arguments = self._arguments_of(index, scalars, fresh=True)
        found = self._attempt(lambda: self._in_float64(arguments, forward_seed))
        if found is None or [item.shape for item in found] != [item.shape for item in self._expected]:
            return None
        return found

    def _by_rows(self, scalars: Mapping[str, Any], forward_seed: int) -> Yardstick | None:
        """Absent where results of a row depend on other rows."""
        shapes = [item.shape for item in self._expected]
        count = shapes[0][0] if shapes and shapes[0] else 0
        if count < SLICES or self._written or any(not shape or shape[0] != count for shape in shapes):
            return None
        arguments, rows = self._arguments_of(0, scalars, fresh=True), _spread(count)
        parts = [[_row(value, row, count) for value in arguments] for row in rows]
        plain = self._attempt(lambda: self._stacked(parts, self._in_own_type, forward_seed))
        if plain is None or (distance(plain, [_rows(item, rows) for item in self._expected]) or 0.0) > SEPARABLE:
            return None
        found = self._attempt(lambda: self._stacked(parts, self._in_float64, forward_seed))
        return None if found is None else self._against("sliced", found, rows)

    def _by_float32(self, scalars: Mapping[str, Any], forward_seed: int) -> Yardstick | None:
        """The reference without TF32; absent where nothing of it is a number."""
        arguments = self._arguments_of(0, scalars, fresh=True)
        with without_tf32():
            plain = self._attempt(lambda: self._in_own_type(arguments, forward_seed)) or self._expected
            moved = self._attempt(lambda: self._in_own_type(list(map(_one_rounding, arguments)), forward_seed)) or plain
        if distance(plain, plain) is None:
            return None
        own = max(distance(others, plain) or 0.0 for others in (moved, self._expected))
        slacks = [max(rounding_slack(want, one), rounding_slack(want, other)) for want, one, other in
                  zip(self._expected, plain, moved, strict=True)]  # fmt: skip
        return Yardstick("float32", plain, (), own, slacks)

    def _against(self, kind: Kind, values: list[torch.Tensor], rows: tuple[int, ...]) -> Yardstick:
        mine = [_rows(item, rows) for item in self._expected]
        slacks = [rounding_slack(want, exact) for want, exact in zip(mine, values, strict=True)]
        return Yardstick(kind, values, rows, distance(mine, values), slacks)

    def _in_float64(self, arguments: Sequence[Any], forward_seed: int) -> list[torch.Tensor]:
        if self._exact_model is None:
            self._exact_model = _model_in_double(self._models["torch_eager"])
        return self._results_of(self._exact_model, [_in_double(value) for value in arguments], forward_seed)

    def _in_own_type(self, arguments: Sequence[Any], forward_seed: int) -> list[torch.Tensor]:
        return self._results_of(self._models["torch_eager"], arguments, forward_seed)

    def _results_of(self, model: Any, arguments: Sequence[Any], forward_seed: int) -> list[torch.Tensor]:
        seed_all(forward_seed)
        returned = flatten(model(*arguments))
        return [out.contiguous() for out in (*returned, *self._written_of(arguments))]

    def _written_of(self, arguments: Sequence[Any]) -> list[torch.Tensor]:
        """Of forward's arguments those that it has written to."""
        return [value for name, value in zip(self._order, arguments, strict=True) if name in self._written]

    @staticmethod
    def _stacked(
        parts: Sequence[Sequence[Any]], run: Callable[[Sequence[Any], int], list[torch.Tensor]], forward_seed: int
    ) -> list[torch.Tensor]:
        """Results of single rows, one under the other."""
        results = [run(part, forward_seed) for part in parts]
        return [torch.cat(items) for items in zip(*results, strict=True)]

    @staticmethod
    def _attempt(work: Callable[[], list[torch.Tensor]]) -> list[torch.Tensor] | None:
        """None where the reference refuses: also for want of memory."""
        try:
            return work()
        except (RuntimeError, TypeError, ValueError):
            torch.cuda.empty_cache()
            return None


def _free_bytes() -> int:
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    return int(free)


def _spread(count: int) -> tuple[int, ...]:
    """Rows from the first to the last."""
    return tuple(sorted({round(part * (count - 1) / (SLICES - 1)) for part in range(SLICES)}))


def _rows(tensor: torch.Tensor, rows: Sequence[int]) -> torch.Tensor:
    return tensor[list(rows)] if rows else tensor


def _row(value: Any, row: int, count: int) -> Any:
    """One row of what has as many rows as the results; all of anything else."""
    has_rows = isinstance(value, torch.Tensor) and value.dim() > 0 and value.shape[0] == count
    return value[row : row + 1].contiguous() if has_rows else value


def _in_double(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _model_in_double(model: Any) -> Any:
    """A copy with all its numbers in float64: those too that are neither parameters nor buffers, as initial states."""
    exact = copy.deepcopy(model).double()
    for part in exact.modules():
        vars(part).update({name: _in_double(value) for name, value in vars(part).items()})
    return exact


def _one_rounding(value: Any) -> Any:
    """Every number moved by its last bit, up or down."""
    if not isinstance(value, torch.Tensor) or value.dtype not in ROUNDING:
        return value
    signs = torch.randint(0, 2, value.shape, device=value.device, dtype=torch.int8).to(value.dtype).mul_(2).sub_(1)
    return signs.mul_(ROUNDING[value.dtype]).add_(1).mul_(value)

"""Inputs of many sets at once: `get_inputs` under `torch.vmap`, so that a launch serves all of them.

A batch of a kernel that takes microseconds has 256 sets, and drawing them one by one took most of the judge's time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from hone.judge.child.models import seed_all

TRIED_SEEDS = (1, 2)
ROUNDING = 1e-3
"""What vmap may change where it does sums in another order."""


class Draws:
    """What a problem's `get_inputs` gives, for several sets at a time where that is possible."""

    def __init__(self, get_inputs: Callable[[], Sequence[Any]]) -> None:
        self._get_inputs = get_inputs
        self._together: bool | None = None

    def one(self, seed: int) -> list[Any]:
        """Of a seed, on the current device."""
        seed_all(seed)
        return list(self._get_inputs())

    def together(self, seed: int, count: int) -> list[Any] | None:
        """Of `count` sets: for each tensor one with a dimension more, for each plain number the number.

        None where `get_inputs` does what cannot be done for all sets at once, or does not draw from PyTorch's seed
        alone: sets would be the same, or differ where they should not.
        """
        if self._together is None:
            self._together = self._draws_alike()
        return self._drawn(seed, count) if self._together else None

    def _draws_alike(self) -> bool:
        """Whether a set alone is the same under vmap as without, and two together differ just where two alone do.

        Without comes first: what fails always says so, and what `get_inputs` keeps for the next call is of use there.
        """
        alone = []
        for seed in TRIED_SEEDS:
            seed_all(seed)
            others = _other_generators()
            alone.append(self.one(seed))
            if _other_generators() != others:
                return False
            mapped = self._drawn(seed, 1)
            if mapped is None or not all(map(_same, alone[-1], mapped)):
                return False
        two = self._drawn(TRIED_SEEDS[0], 2)
        return two is not None and all(map(_differ_alike, *alone, two))

    def _drawn(self, seed: int, count: int) -> list[Any] | None:
        """`together`, right or wrong; None where it fails, also for want of memory."""
        seed_all(seed)
        seen: list[list[Any]] = []

        def of_one_set(_: torch.Tensor) -> tuple[torch.Tensor, ...]:
            seen.append(list(self._get_inputs()))
            return tuple(value for value in seen[0] if _is_tensor(value))

        try:
            tensors = iter(torch.vmap(of_one_set, randomness="different")(torch.empty(count)))
        except Exception:  # noqa: BLE001  what fails only here is drawn one by one, and what fails there is told then
            return None
        return [next(tensors) if _is_tensor(value) else value for value in seen[0]]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _other_generators() -> tuple[Any, ...]:
    """The state of Python's and numpy's."""
    state: Any = np.random.get_state()
    return random.getstate(), state[1].tobytes(), state[2:]


def _same(alone: Any, mapped: Any) -> bool:
    """Whether what vmap gives for one set is what there is without it."""
    if not _is_tensor(alone):
        return bool(alone == mapped)
    if (mapped.dtype, mapped.shape) != (alone.dtype, (1, *alone.shape)):
        return False
    if not alone.is_floating_point():
        return torch.equal(alone, mapped[0])
    return torch.allclose(alone, mapped[0], rtol=ROUNDING, atol=ROUNDING, equal_nan=True)


def _differ_alike(first: Any, second: Any, two: Any) -> bool:
    """Whether two sets drawn together differ if two that are drawn alone do; numbers must not."""
    if not _is_tensor(first):
        return bool(first == second == two)
    return torch.equal(first, second) == torch.equal(two[0], two[1])

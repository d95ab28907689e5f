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

TRIED_SEED = 1


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

        None where `get_inputs` does what cannot be done for all sets at once, or draws from other generators than
        PyTorch's: those would give every set the same.
        """
        if self._together is None:
            self._together = self._draws_alike()
        return self._drawn(seed, seed, count) if self._together else None

    def _draws_alike(self) -> bool:
        """Whether PyTorch's seed decides everything, in draws together and one by one."""
        with_others = [self._drawn(TRIED_SEED, other, 2) for other in (1, 2)]
        one_by_one = [self.one(seed) for seed in (1, 2)]
        numbers = [[value for value in values if not _is_tensor(value)] for values in one_by_one]
        return (
            numbers[0] == numbers[1]
            and None not in with_others
            and all(_same(first, second) for first, second in zip(*with_others, strict=True))
        )

    def _drawn(self, seed: int, other_seed: int, count: int) -> list[Any] | None:
        """`together`, whatever `get_inputs` draws from; `other_seed` is for Python's and numpy's generators."""
        seed_all(seed)
        random.seed(other_seed)
        np.random.seed(other_seed % 2**32)
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


def _same(first: Any, second: Any) -> bool:
    if _is_tensor(first) and _is_tensor(second):
        return first.shape == second.shape and bool(torch.equal(first, second))
    return bool(first == second)

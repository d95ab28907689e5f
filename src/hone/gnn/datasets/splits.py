"""Splits for graphs that have none of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def stratified(labels: Array, train_share: float, valid_share: float, seed: int) -> dict[str, Array]:
    """train, valid, test -> ascending int64 node ids: every class is divided alike, at random.

    `labels` (n,) of integers. Of a class with n nodes, the first round(n * train_share) of a random order train, those
    up to round(n * (train_share + valid_share)) validate. The same seed gives the same split, whatever else changes.
    """
    generator = np.random.default_rng(seed)
    parts: dict[str, list[Array]] = {"train": [], "valid": [], "test": []}
    for label in np.unique(labels):
        nodes = generator.permutation(np.flatnonzero(labels == label))
        bounds = np.round(np.array([train_share, train_share + valid_share]) * len(nodes)).astype(int)
        for kept, part in zip(parts.values(), np.split(nodes, bounds), strict=True):
            kept.append(part)
    return {split: np.sort(np.concatenate(kept)).astype(np.int64) for split, kept in parts.items()}

"""What of the device system can be chosen while a training stays the same: constants of its kernels, its streams, and
how many multiprocessors cuBLAS leaves to others.

A kernel that is fastest alone may hold up others beside it, so what counts is an epoch.
"""

from __future__ import annotations

import re

from hone.gnn.device.loop import PRIORITIES, Priorities
from hone.tunables import Parameter, Tunable, Values

CONSTANTS: dict[str, tuple[int, ...]] = {
    "kFeatureThreads": (128, 64),  # of a block, here and in the next four
    "kDrawThreads": (64, 32, 128),
    "kThreads": (256, 128, 512),  # of sampling's other kernels and of the gradient of states
    "kMeanThreads": (128, 64, 256),
    "kLossThreads": (128, 64, 256),
    "kStatesAhead": (4, 2, 3),  # loads that a thread has under way
}
"""Of the CUDA sources: name -> values, the first of which stands there."""
STREAMS: dict[str, tuple[int, ...]] = {
    "sampling": (PRIORITIES.sampling, -4, -1),  # priorities
    "gathering": (PRIORITIES.gathering, -2),
    "spare": (0, 8, 16),  # multiprocessors that cuBLAS's products leave to others
}
RESERVED = {"reserved_kib": (0, 24, 36, 48)}
"""Shared memory that a block asks for and does not use when it gathers features: so fewer share a multiprocessor, and
small kernels of a step find room beside them."""
GATHERS = "void* out) {\n  const auto [row, column] = feature_cell(width / 8);\n"
"""Where such a block begins."""


def space() -> Tunable:
    """All of it; its `first` is what the device system does."""
    values = {**CONSTANTS, **STREAMS, **RESERVED}
    return Tunable("", tuple(Parameter(name, allowed, 0) for name, allowed in values.items()))


def source_at(source: str, values: Values) -> str:
    """The device system's whole source with these constants; raises ValueError for one that is not there once."""
    for name in CONSTANTS:
        source, found = re.subn(rf"\b({name} = )\d+", rf"\g<1>{values[name]}", source)
        if found != 1:
            raise ValueError(f"the device system's source sets {name} {found} times, not once")
    if not values["reserved_kib"]:
        return source
    if source.count(GATHERS) != 1:
        raise ValueError("the kernel that gathers features does not begin as this study knows it")
    size = 1024 * values["reserved_kib"]
    kept = f"  [[maybe_unused]] __shared__ volatile char reserved[{size}];\n  if (width < 0) reserved[0] = 1;\n"
    return source.replace(GATHERS, GATHERS + kept)


def priorities_at(values: Values) -> Priorities:
    """Of the streams."""
    return PRIORITIES._replace(sampling=values["sampling"], gathering=values["gathering"])

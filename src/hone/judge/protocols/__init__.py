"""Protocols of timing: which runs of which side are timed when. A further one is one more file here.

Such a file has `measure(stand, baselines, protocol) -> Performance` over `hone.judge.stand.Timed`, and is chosen by its
name: `judge.timing_protocol`. `hone`: turns of all sides, each in its best way, on new inputs, audited. `kernelbench`
is no such file: the public repository's loop, which stands beside any of them and earns nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path

from hone.core.errors import ConfigError
from hone.judge.stand import Timed
from hone.records import Performance, Protocol

Measure = Callable[[Timed, Sequence[str], Protocol], Performance]
"""Takes the times of a correct solution and its baselines; raises Verdict for what is wrong meanwhile."""


def measure_of(name: str) -> Measure:
    """The protocol of a name; raises ConfigError where there is none."""
    known = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    module = importlib.import_module(f"{__name__}.{name}") if name in known else None
    if not hasattr(module, "measure"):
        remedy = "name a file of hone/judge/protocols that has a function measure, such as hone"
        raise ConfigError(f"there is no timing protocol '{name}'", where="judge.timing_protocol", remedy=remedy)
    found: Measure = module.measure  # type: ignore[union-attr]
    return found

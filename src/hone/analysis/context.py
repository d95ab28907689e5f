"""What every table needs beside the records: the config, the provenance and the papers' numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hone.analysis.paper_numbers import Matcher
from hone.analysis.provenance import Provenance
from hone.config.settings import Settings
from hone.records import TORCH_BASELINES

Cells = dict[str, Any]
"""Cells of a row by the names of their columns: what several tables fill in alike, before it becomes a row."""


@dataclass(frozen=True)
class Context:
    """What every table needs beside the records."""

    settings: Settings
    provenance: Provenance
    matcher: Matcher
    baselines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Definition -> what it can be measured against beside PyTorch: its existing kernels."""

    def baselines_of(self, definitions: Iterable[str]) -> list[str]:
        """The config's baselines that one of the definitions has, in the config's order."""
        known = {*TORCH_BASELINES, *(name for item in definitions for name in self.baselines.get(item, ()))}
        return [baseline for baseline in self.settings.baselines if baseline in known]

    @property
    def confidence(self) -> float:
        """Confidence of the intervals."""
        return self.settings.analysis.confidence

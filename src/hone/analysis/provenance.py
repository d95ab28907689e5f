"""The columns that end every table: which config, code, machine, protocol and PyTorch stand behind a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hone.config.settings import Settings
from hone.records import Trace, digest

if TYPE_CHECKING:
    import pandas as pd

FROM_VERDICTS = ("device", "driver", "protocol", "torch")


@dataclass(frozen=True)
class Provenance:
    """What all rows of a run share."""

    config_digest: str
    commit: str
    """Commit of Hone, with `+` when the tree had changes."""

    @classmethod
    def of(cls, settings: Settings, commit: str) -> Provenance:
        """With a digest, twelve digits, of all that decides results: not how models are asked or where files lie."""
        return cls(digest(settings.model_dump(mode="json", exclude={"llm", "paths"}))[:12], commit)

    def columns(self, verdicts: pd.DataFrame | Mapping[str, Any] | None = None) -> dict[str, str]:
        """All provenance columns; several devices or versions behind one row are joined by a semicolon."""
        found = {"config_digest": self.config_digest, "commit": self.commit}
        for name in FROM_VERDICTS:
            values = [] if verdicts is None else verdicts[name]
            found[name] = joined([values] if isinstance(values, str) else values)
        return found


def joined(values: Iterable[str]) -> str:
    """Distinct values in order of the alphabet, empty ones left out."""
    return "; ".join(sorted({value for value in values if value}))


def on_gpu(trace: Trace) -> bool:
    """Whether a GPU gave the verdict: only then is there a driver."""
    return bool(trace.environment.driver)


def of_trace(trace: Trace) -> dict[str, str]:
    """Verdict columns of one trace."""
    return {
        "device": trace.environment.device,
        "driver": trace.environment.driver,
        "protocol": f"{trace.protocol.name} {trace.protocol.digest[:8]}",
        "torch": trace.environment.torch,
    }

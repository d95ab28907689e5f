"""Numbers that a paper printed, and how a row of ours finds its own.

`resources/published/*.csv` hold them as printed; `value` is read here as a share between 0 and 1.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hone.config import Settings, closest
from hone.errors import ConfigError, RecordError

FOLDER = Path("resources/published")
FIELDS = (
    *("paper", "table", "experiment", "model", "level", "metric", "p", "k_or_turn", "baseline"),
    *("value", "unit", "precision", "source"),
)
SCALE = {"percent": 0.01, "fraction": 1.0}


class Key(NamedTuple):
    """What a published number is about; names of experiment and model are the paper's."""

    experiment: str
    model: str
    level: str
    metric: str
    """`fast_p` (one answer), `fast_p@k` (best of k samples), `fast_p@turn` (best of N turns), `category:<category>`."""
    p: float | None = None
    k_or_turn: int | None = None
    """k samples, or N turns counted from 1."""
    baseline: str = ""
    """Empty where none is involved: at p = 0 and for categories."""


@dataclass(frozen=True)
class PublishedNumber:
    """One printed number."""

    paper: str
    table: str
    key: Key
    value: float
    """Share, 0 to 1."""
    precision: str
    """`exact`, or `read off ±1` for a number read from a figure to ± 1 percentage point."""
    source: str

    @property
    def label(self) -> str:
        """For the column `published_source`."""
        return f"{self.paper} {self.table} ({self.precision})"


class PaperNumbers:
    """All printed numbers, found by key; an exact one comes before one read off a figure, then the file's order."""

    def __init__(self, numbers: Iterable[PublishedNumber]) -> None:
        self._found: dict[Key, PublishedNumber] = {}
        for number in sorted(numbers, key=lambda number: number.precision != "exact"):
            self._found.setdefault(number.key, number)

    @property
    def experiments(self) -> list[str]:
        """Names that `published_as` may take."""
        return sorted({key.experiment for key in self._found})

    def find(self, key: Key) -> tuple[float, str]:
        """Share and source of the number; (NaN, "") where none was printed."""
        number = self._found.get(key)
        return (number.value, number.label) if number else (math.nan, "")

    def check(self, settings: Settings) -> None:
        """Raises ConfigError for a `published_as` that no file knows."""
        known = self.experiments
        for name, experiment in settings.experiments.items():
            wanted = experiment.published_as
            if wanted is not None and wanted not in known:
                raise ConfigError(
                    f"'{wanted}' is not an experiment of {FOLDER}{closest(wanted, iter(known))}",
                    where=f"experiments.{name}.published_as",
                )


def read_published(folder: Path = FOLDER) -> list[PublishedNumber]:
    """All numbers of the folder's CSV files, in order; raises RecordError naming file, line and field."""
    return [number for path in sorted(folder.glob("*.csv")) for number in _read_file(path)]


def _read_file(path: Path) -> list[PublishedNumber]:
    reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    if tuple(reader.fieldnames or ()) != FIELDS:
        raise RecordError(f"the columns must be {', '.join(FIELDS)}", where=str(path))
    return [_parse(row, f"{path}:{line}") for line, row in enumerate(reader, start=2)]


def _parse(row: dict[str, str], where: str) -> PublishedNumber:
    try:
        key = Key(
            row["experiment"],
            row["model"],
            row["level"],
            row["metric"],
            float(row["p"]) if row["p"] else None,
            int(row["k_or_turn"]) if row["k_or_turn"] else None,
            row["baseline"],
        )
        value = float(row["value"]) * SCALE[row["unit"]]
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"not a published number: {error}", where=where) from None
    return PublishedNumber(row["paper"], row["table"], key, value, row["precision"], row["source"])


@dataclass(frozen=True)
class Matcher:
    """Finds the printed number of a row of ours: config names become the paper's names."""

    settings: Settings
    numbers: PaperNumbers

    def find(
        self,
        experiment: str,
        model: str,
        level: str,
        metric: str,
        p: float | None = None,
        k_or_turn: int | None = None,
        baseline: str = "",
    ) -> dict[str, float | str]:
        """The columns `published` and `published_source` of a row; empty where nothing was printed.

        Experiments `repeated_<k>` are one experiment at different k: any of them finds the others' numbers.
        """
        name = self.settings.experiments[experiment].published_as or ""
        if name.startswith("repeated_") and k_or_turn is not None:
            name = f"repeated_{k_or_turn}"
        paper_model = self.settings.analysis.model_names.get(model, "")
        baseline = "" if p in (0, None) else baseline
        value, label = self.numbers.find(Key(name, paper_model, level, metric, p, k_or_turn, baseline))
        return {"published": value, "published_source": label}

"""Numbers that a paper printed, and how a row of ours finds its own.

`resources/published/*.csv` hold them as printed. `value` is read here as a share between 0 and 1 where its unit is
`percent` or `fraction`, and as printed where it is `ratio`, `us`, `lines` or `count`.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hone.analysis.salient_numbers import TRAINING_FIELDS
from hone.config.settings import Settings
from hone.core.errors import ConfigError, RecordError, closest

FOLDER = Path("resources/published")
FIELDS = (
    *("paper", "table", "experiment", "model", "level", "metric", "p", "k_or_turn", "baseline"),
    *("value", "unit", "precision", "source"),
)
PLACES = ("kernel", "workload")
"""Columns that only papers about single kernels need; a file may end with them."""
SCALE = {"percent": 0.01, "fraction": 1.0, "ratio": 1.0, "us": 1.0, "lines": 1.0, "count": 1.0}
ALL_KERNELS = "all"
"""`kernel` of the paper's mean over its kernels."""


class Key(NamedTuple):
    """What a published number is about; names of experiment and model are the paper's."""

    experiment: str
    model: str
    level: str
    metric: str
    """`fast_p` (one answer), `fast_p@k` (best of k samples), `fast_p@turn` (best of N turns), `category:<category>`;
    of a kernel `speedup`, `speedup_min`, `speedup_max`, `baseline_us`, `optimised_us`, `loc_before`, `loc_after`,
    `loc_change`, and `shape`: the paper measured it on this workload."""
    p: float | None = None
    k_or_turn: int | None = None
    """k samples, or N turns counted from 1."""
    baseline: str = ""
    """Empty where none is involved: at p = 0 and for categories."""
    kernel: str = ""
    """Title of the definition, or ALL_KERNELS."""
    workload: str = ""
    """Sizes as in a workload's name, and data type: `512x40x128 float16`; empty for a mean over workloads."""


@dataclass(frozen=True)
class PublishedNumber:
    """One printed number."""

    paper: str
    table: str
    key: Key
    value: float
    """Share, 0 to 1; or a ratio, microseconds, lines."""
    precision: str
    """`exact`, `read off ±1` for a number read from a figure to ± 1 percentage point, or `from public summaries`."""
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
        self._shapes = {(key.kernel, key.workload) for key in self._found if key.metric == "shape"}

    @property
    def experiments(self) -> list[str]:
        """Names that `published_as` may take."""
        return sorted({key.experiment for key in self._found})

    def kernels(self, experiment: str) -> set[str]:
        """Titles of the kernels whose speedup the paper printed for an experiment."""
        found = {key.kernel for key in self._found if key.experiment == experiment and key.metric == "speedup"}
        return found - {ALL_KERNELS, ""}

    def measured(self, kernel: str, workload: str) -> bool:
        """Whether the paper measured a kernel on a workload, whatever its number was."""
        return (kernel, workload) in self._shapes

    def find(self, key: Key) -> tuple[float, str]:
        """Value and source of the number; (NaN, "") where none was printed."""
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
    """All numbers of the folder's CSV files, in order; raises RecordError naming file, line and field.

    Files about training are left out: `salient_numbers` reads them.
    """
    return [number for path in sorted(folder.glob("*.csv")) for number in _read_file(path)]


def _read_file(path: Path) -> list[PublishedNumber]:
    reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    if tuple(reader.fieldnames or ()) == TRAINING_FIELDS:
        return []
    if tuple(reader.fieldnames or ()) not in (FIELDS, (*FIELDS, *PLACES)):
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
            row.get("kernel", ""),
            row.get("workload", ""),
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

    def kernels(self, experiment: str) -> set[str]:
        """Titles of the kernels for which the paper printed a speedup of an experiment of ours."""
        return self.numbers.kernels(self.settings.experiments[experiment].published_as or "")

    def of_kernel(self, experiment: str, kernel: str, metric: str, workload: str = "") -> tuple[float, str]:
        """Value and source of a printed number about a kernel, whatever model was asked; (NaN, "") without one.

        Raises KeyError for an experiment that the config lacks.
        """
        name = self.settings.experiments[experiment].published_as or ""
        baseline = "upstream" if metric.startswith("speedup") else ""
        return self.numbers.find(Key(name, "", "", metric, baseline=baseline, kernel=kernel, workload=workload))

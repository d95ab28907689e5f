"""Numbers about training that papers and artifacts printed, and how a run of ours finds its own.

A time stands beside a graph of the same size that was trained with the same settings, whatever the graph was made
from; an accuracy only beside the very data set.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hone.core.errors import RecordError
from hone.records import GraphInfo, TrainingRun

TRAINING_FIELDS = (
    *("paper", "table", "dataset", "system", "model", "fanouts", "batch_size", "hidden", "gpus", "hardware"),
    *("metric", "value", "std", "unit", "precision", "source"),
)
"""Header of a file of such numbers: by it the file is told from those of `paper_numbers`."""
SCALE = {"s": 1.0, "ms": 1e-3, "fraction": 1.0, "percent": 0.01}
PYG, SALIENT = "PyG", "SALIENT"
PAPER_SYSTEMS = {"pyg": PYG, "plain": PYG, "pipelined": SALIENT}
"""Our systems as the paper names them: its ladder starts from PyG's loader and ends with SALIENT."""


class DatasetSize(NamedTuple):
    """What a public data set holds, as OGB counts it."""

    nodes: int
    edges: int
    """As stored; a symmetrised graph has up to twice as many."""
    feature_dim: int


DATASETS = {
    "arxiv": DatasetSize(169_343, 1_166_243, 128),
    "products": DatasetSize(2_449_029, 61_859_140, 100),
    "papers100M": DatasetSize(111_059_956, 1_615_685_872, 128),
}
EDGE_TOLERANCE = 0.05
"""Symmetrising merges edges that are stored in both directions, and generators draw their number."""


class Setup(NamedTuple):
    """What two trainings must share for their times to be about the same work."""

    model: str
    fanouts: str
    """Of training, from the seeds outwards, with commas."""
    batch_size: int | None
    """Of one GPU; absent where it was not stated."""
    hidden: int | None

    @classmethod
    def of(cls, run: TrainingRun) -> Setup:
        """Of a training of ours."""
        return cls(run.model, fanouts_text(run.fanouts), run.batch_size, run.hidden)


@dataclass(frozen=True)
class TrainingNumber:
    """One printed number."""

    paper: str
    table: str
    dataset: str
    system: str
    setup: Setup
    gpus: int
    hardware: str
    metric: str
    """`epoch_s`, `train_s`, `waited_for_batch_s`, `waited_for_transfer_s`, `inference_s`, `valid_accuracy`,
    `test_accuracy`."""
    value: float
    """Seconds, or a share between 0 and 1."""
    std: float
    """Standard deviation in the same unit; NaN where none was printed."""
    precision: str
    source: str

    @property
    def label(self) -> str:
        """For the column `published_source`."""
        return f"{self.paper} {self.table}: {self.system}, {self.hardware} ({self.precision})"


@dataclass(frozen=True)
class TrainingNumbers:
    """All printed numbers, in the order of the files."""

    numbers: Sequence[TrainingNumber] = ()

    def find(self, info: GraphInfo | None, run: TrainingRun, metric: str) -> tuple[float, str]:
        """Value and source of the number printed for a run of ours; (NaN, "") without one."""
        dataset = dataset_of(info, exactly=metric.endswith("accuracy"))
        wanted = (dataset, PAPER_SYSTEMS.get(run.system, ""), Setup.of(run), run.gpus, metric)
        for number in self.numbers:
            if (number.dataset, number.system, number.setup, number.gpus, number.metric) == wanted:
                return number.value, number.label
        return math.nan, ""

    def epochs(self, dataset: str) -> list[TrainingNumber]:
        """Every printed epoch time on a data set."""
        return [number for number in self.numbers if number.dataset == dataset and number.metric == "epoch_s"]


def fanouts_text(fanouts: Sequence[int]) -> str:
    """`15,10,5`."""
    return ",".join(map(str, fanouts))


def dataset_of(info: GraphInfo | None, *, exactly: bool = False) -> str:
    """The public data set that a graph has the size of, or with `exactly` that it is; empty without one."""
    if info is None or (exactly and info.source.kind != "ogb"):
        return ""
    for name, size in DATASETS.items():
        edges = info.num_edges / (2 * size.edges)
        if (info.num_nodes, info.feature_dim) == (size.nodes, size.feature_dim) and abs(edges - 1) <= EDGE_TOLERANCE:
            return name
    return ""


def read_training_numbers(folder: Path) -> TrainingNumbers:
    """All numbers of the folder's CSV files that have this header; raises RecordError naming file, line and field."""
    found: list[TrainingNumber] = []
    for path in sorted(folder.glob("*.csv")):
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
        if tuple(reader.fieldnames or ()) == TRAINING_FIELDS:
            found += [_parse(row, f"{path}:{line}") for line, row in enumerate(reader, start=2)]
    return TrainingNumbers(found)


def _parse(row: dict[str, str], where: str) -> TrainingNumber:
    try:
        scale = SCALE[row["unit"]]
        batch_size, hidden = (int(row[name]) if row[name] else None for name in ("batch_size", "hidden"))
        return TrainingNumber(
            setup=Setup(row["model"], row["fanouts"], batch_size, hidden),
            gpus=int(row["gpus"]),
            value=float(row["value"]) * scale,
            std=float(row["std"]) * scale if row["std"] else math.nan,
            **{name: row[name] for name in ("paper", "table", "dataset", "system", "hardware", "metric")},
            **{name: row[name] for name in ("precision", "source")},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"not a published number: {error}", where=where) from None

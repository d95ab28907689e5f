"""Reading a run's records beside it: only the fields that are needed, and files that may vanish at any time.

Each view has fields of the record that it is named after; validating whole records would take four times as long, and a
campaign has tens of thousands.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from hone.config.models import GNNModel
from hone.core.errors import RecordError
from hone.core.files import read_record, read_records
from hone.records import BuildStatus, Status, Usage
from hone.records.gnn import System

V = TypeVar("V", bound=BaseModel)


class ProblemView(BaseModel):
    """Of a Definition."""

    name: str
    level: int
    number: int


class ArchivedView(BaseModel):
    """Of an ArchivedAnswer."""

    level: int
    number: int


class WorkloadView(BaseModel):
    """Of a Workload."""

    definition: str


class SolutionView(BaseModel):
    """Of a Solution."""

    definition: str


class CompletionView(BaseModel):
    """Of a Completion."""

    usage: Usage | None


class AnswerView(BaseModel):
    """Of an Answer."""

    completion: CompletionView


class BuildView(BaseModel):
    """Of a Build."""

    solution: str
    status: BuildStatus
    seconds: float = 0.0


class MachineView(BaseModel):
    """Of an Environment."""

    device: str


class ProtocolView(BaseModel):
    """Of a Protocol."""

    device: str = "cpu"


class TraceView(BaseModel):
    """Of a Trace."""

    definition: str
    status: Status
    environment: MachineView
    protocol: ProtocolView
    phase_s: dict[str, float] = {}


class EpochView(BaseModel):
    """Of EpochFigures."""

    epoch_s: float


class TrainingView(BaseModel):
    """Of a TrainingRun."""

    training: str
    graph: str
    model: GNNModel
    system: System
    gpus: int
    device: str
    seed: int
    epochs: tuple[EpochView, ...]
    environment: MachineView


class InferenceFiguresView(BaseModel):
    """Of InferenceFigures."""

    inference_s: float


class InferenceView(BaseModel):
    """Of an InferenceRun."""

    training: str
    graph: str
    model: GNNModel
    device: str
    results: tuple[InferenceFiguresView, ...]
    environment: MachineView


class Reader:
    """Files of records, each read once. A file that is not there, or goes while it is read, is None."""

    def __init__(self) -> None:
        self._known: dict[tuple[Path, type[BaseModel]], list[BaseModel] | None] = {}

    def rows(self, path: str | Path, view: type[V]) -> list[V] | None:
        """A file of one record a line; raises RecordError for a damaged one."""
        return self._read(Path(path), view, many=True)

    def count(self, path: str | Path) -> int | None:
        """Records of a file of one a line, without reading what they say."""
        try:
            with Path(path).open("rb") as file:
                return sum(1 for line in file if line.strip())
        except FileNotFoundError:
            return None

    def one(self, path: str | Path, view: type[V]) -> V | None:
        """A file that is one record; raises RecordError for a damaged one."""
        found = self._read(Path(path), view, many=False)
        return found[0] if found else None

    def _read(self, path: Path, view: type[V], *, many: bool) -> list[V] | None:
        if (path, view) not in self._known:
            self._known[path, view] = _read_file(path, view, many)
        return self._known[path, view]  # type: ignore[return-value]


def _read_file(path: Path, view: type[V], many: bool) -> list[V] | None:
    if not path.exists():
        return None
    try:
        return read_records(path, view) if many else [read_record(path, view)]
    except RecordError:
        if path.exists():
            raise
        return None  # Snakemake removes a job's outputs before it runs again

"""The records of one run that tables and pages are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hone.analysis.csv_records import KernelTime, Preparation, read_kernel_times, read_preparations
from hone.core.files import read_record, read_records
from hone.records import (
    Answer,
    Build,
    Candidate,
    Claim,
    Definition,
    GraphInfo,
    InferenceRun,
    OperatorShare,
    Record,
    SearchStep,
    SelectionReason,
    Solution,
    Trace,
    TrainingRun,
    UnsupportedProblem,
    Workload,
)

Suites = Mapping[tuple[str, str], Sequence[Workload]]
"""(experiment, slug of the model) -> the workloads that its roles asked for, of all its definitions."""


@dataclass(frozen=True)
class RunRecords:
    """All records of a run, or those of one experiment; the order within a list does not matter."""

    definitions: Sequence[Definition] = ()
    unsupported: Sequence[UnsupportedProblem] = ()
    workloads: Sequence[Workload] = ()
    candidates: Sequence[Candidate] = ()
    solutions: Sequence[Solution] = ()
    """Of the `files` experiments, whose comments say what is expected of them, and of Astra's."""
    searches: Sequence[SearchStep] = ()
    """Of experiments with `strategy: tuned`."""
    claims: Sequence[Claim] = ()
    """What archives say of the candidates of `archive` experiments."""
    builds: Sequence[Build] = ()
    traces: Sequence[Trace] = ()
    """Verdicts of all experiments but Astra's."""
    suites: Suites = field(default_factory=dict)
    suite_traces: Sequence[Trace] = ()
    """Verdicts of Astra's rounds on the suites: what the roles were told."""
    evaluations: Sequence[Trace] = ()
    """Verdicts of Astra's rounds on all workloads of the definitions: what tables are made of."""
    answers: Sequence[Answer] = ()
    """Of all methods and roles."""
    graphs: Sequence[GraphInfo] = ()
    trainings: Sequence[TrainingRun] = ()
    inferences: Sequence[InferenceRun] = ()
    preparations: Sequence[Preparation] = ()
    """Times of batch preparation alone, out of CSV files."""
    selections: Sequence[SelectionReason] = ()
    """What was chosen for the operators of training loops, and why."""
    shares: Sequence[OperatorShare] = ()
    rooflines: Sequence[KernelTime] = ()
    """Times of the device system's kernels, out of CSV files."""


KINDS: dict[str, type[Record]] = {
    "definitions": Definition,
    "unsupported": UnsupportedProblem,
    "workloads": Workload,
    "candidates": Candidate,
    "solutions": Solution,
    "searches": SearchStep,
    "claims": Claim,
    "builds": Build,
    "traces": Trace,
    "suite_traces": Trace,
    "evaluations": Trace,
    "answers": Answer,
    "graphs": GraphInfo,
    "trainings": TrainingRun,
    "inferences": InferenceRun,
    "preparations": Preparation,
    "selections": SelectionReason,
    "shares": OperatorShare,
    "rooflines": KernelTime,
}
ALONE = ("graphs", "trainings", "inferences")
"""Records that are files of their own."""
TABULAR: dict[str, Callable[[Path], Sequence[Record]]] = {
    "preparations": read_preparations,
    "rooflines": read_kernel_times,
}
"""Records that are rows of CSV files."""


def read_run(files: Mapping[str, Iterable[Path]]) -> RunRecords:
    """The records of a run's files, which go by the field that they belong to; what is not named stays empty.

    A suite's experiment and model are those of its path, `<experiment>/<slug of the model>/<batch>.jsonl`. Raises
    KeyError for an unknown name, RecordError naming file, line and field.
    """
    found: dict[str, list[Record]] = {
        name: [record for path in paths for record in _read(path, name)]
        for name, paths in files.items()
        if name != "suites"
    }
    suites: dict[tuple[str, str], list[Workload]] = {}
    for path in files.get("suites", ()):
        suites.setdefault((path.parts[-3], path.parts[-2]), []).extend(read_records(path, Workload))
    return RunRecords(suites=suites, **found)  # type: ignore[arg-type]


def _read(path: Path, name: str) -> Sequence[Record]:
    if name in TABULAR:
        return TABULAR[name](path)
    return [read_record(path, KINDS[name])] if name in ALONE else read_records(path, KINDS[name])

"""What one call, build, verdict or training took where it was measured: in results/, else in ledger and store."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from hone.config.settings import model_slug
from hone.config.trainings import TrainingKey
from hone.file_map import FileMap
from hone.file_map.paths import Paths, training_job
from hone.llm.ledger import Ledger, read_entry
from hone.llm.names import config_name
from hone.records import Usage
from hone.records.trace import spent_s
from hone.status.reading import AnswerView, BuildView, InferenceView, Reader, TraceView, TrainingView

V = TypeVar("V", bound=BaseModel)

SAMPLE = 2000
"""Entries of ledger or store that are read at most. Their names are digests, so that the first ones are a random
sample."""


@dataclass
class Mean:
    """Of a number of measurements."""

    total: float = 0.0
    n: int = 0
    machines: set[str] = field(default_factory=set)
    """Models of the CPU or GPU that measured."""

    def add(self, value: float, machine: str = "") -> None:
        """One more measurement."""
        self.total += value
        self.n += 1
        self.machines |= {machine} - {""}

    @property
    def value(self) -> float:
        """The mean; there must be a measurement."""
        return self.total / self.n


@dataclass
class Tokens:
    """Tokens of a number of calls, as far as their servers counted them."""

    input: Mean = field(default_factory=Mean)
    cached: Mean = field(default_factory=Mean)
    output: Mean = field(default_factory=Mean)
    uncounted: int = 0
    """Calls whose tokens nobody counted: in no mean."""

    def add(self, usage: Usage | None) -> None:
        """One more call."""
        if usage is None:
            self.uncounted += 1
            return
        self.input.add(usage.input_tokens)
        self.cached.add(usage.cached_input_tokens)
        self.output.add(usage.output_tokens)

    @property
    def n(self) -> int:
        """Calls whose tokens are known."""
        return self.input.n

    @property
    def mean(self) -> Usage:
        """Of one call; there must be one."""
        return Usage(
            input_tokens=round(self.input.value), cached_input_tokens=round(self.cached.value),
            output_tokens=round(self.output.value),
        )  # fmt: skip


class Rates:
    """Measured rates of a folder's results, its ledger and its store, each looked up when it is asked for."""

    def __init__(self, files: FileMap, reader: Reader) -> None:
        self._settings = files.settings
        self._paths = files.paths
        self._reader = reader
        self._tokens: dict[tuple[str, str], Tokens] = {}
        self._in_ledger: dict[str, Tokens] | None = None
        self._builds: dict[tuple[str, ...], Mean] = {}
        self._own_verdicts: dict[str, dict[tuple[str, str], Mean]] = {}
        self._verdicts: dict[tuple[str, str], Mean] | None = None
        self._in_store: dict[tuple[str, str], Mean] | None = None
        self._trainings: dict[tuple[str | int, ...], Mean | None] = {}
        self._inferences: dict[tuple[str, ...], Mean | None] = {}

    def tokens(self, experiment: str, model: str) -> Tokens | None:
        """Of a call: of this experiment, else of all experiments with the model, else of the ledger."""
        for name in (experiment, "*"):
            if (found := self._in_results(name, model)).n:
                return found
        known = self._ledger().get(model)
        return known if known is not None and known.n else None

    def uncounted(self, model: str) -> int:
        """Calls of the model in results/, whichever the run, whose tokens nobody counted."""
        return self._in_results("*", model).uncounted

    def _in_results(self, experiment: str, model: str) -> Tokens:
        if (experiment, model) not in self._tokens:
            self._tokens[experiment, model] = self._answers(experiment, model)
        return self._tokens[experiment, model]

    def build(self, experiment: str, others: Sequence[str]) -> Mean | None:
        """Seconds of a build: of this experiment, else over the `others` named."""
        for names in ((experiment,), tuple(others)):
            if names not in self._builds:
                self._builds[names] = self._built(names)
            if self._builds[names].n:
                return self._builds[names]
        return None

    def verdict(self, experiment: str) -> Mean | None:
        """Seconds of a verdict on the config's kind of device: of this experiment, else on its source's problems."""
        if experiment not in self._own_verdicts:
            self._own_verdicts[experiment] = _by_source(self._traces(f"{experiment}/**/*.jsonl"))
        if self._verdicts is None:
            self._verdicts = _by_source(self._traces("**/*.jsonl"))
        key = (self._settings.experiments[experiment].source, self._settings.judge.device)
        return self._own_verdicts[experiment].get(key) or self._verdicts.get(key) or self._store().get(key)

    def training(self, key: TrainingKey) -> Mean | None:
        """Seconds of a job for each of its epochs: same graph, model, system and GPUs, on the same kind of device."""
        device = self._settings.trainings[key.training].device
        like = (key.graph, key.model, key.system, key.gpus, device)
        if like not in self._trainings:
            self._trainings[like] = self._training(key, device)
        return self._trainings[like]

    def _training(self, key: TrainingKey, device: str) -> Mean | None:
        mean = Mean()
        for path in self._files("training", f"*/{key.graph}/{key.model}/{key.system}/gpus{key.gpus}/*.json"):
            run = self._reader.one(path, TrainingView)
            if run is not None and run.device == device and run.epochs:
                # A job that went on after an interrupt was shorter than its epochs.
                measured_s = max(_job_s(path, run), sum(epoch.epoch_s for epoch in run.epochs))
                mean.add(measured_s / len(run.epochs), run.environment.device)
        return mean if mean.n else None

    def inference(self, key: TrainingKey) -> Mean | None:
        """Seconds of all ways of inference of a training's entry, with the same graph and model."""
        like = (key.training, key.graph, key.model)
        if like not in self._inferences:
            self._inferences[like] = self._inference(key)
        return self._inferences[like]

    def _inference(self, key: TrainingKey) -> Mean | None:
        mean = Mean()
        for path in self._files("inference", f"{key.training}/{key.graph}/{key.model}/*/*/*.json"):
            run = self._reader.one(path, InferenceView)
            if run is not None and run.device == self._settings.trainings[key.training].device:
                mean.add(sum(result.inference_s for result in run.results), run.environment.device)
        return mean if mean.n else None

    def _answers(self, experiment: str, model: str) -> Tokens:
        """Of the answers in results/; the experiment is `*` for all of them together."""
        found = Tokens()
        place = f"{experiment}/{model_slug(model)}/turn*"
        for path in [*self._files("answers", f"{place}/*.jsonl"), *self._files("roles", f"{place}/*/*.answers.jsonl")]:
            for row in self._reader.rows(path, AnswerView) or ():
                found.add(row.completion.usage)
        return found

    def _built(self, experiments: Iterable[str]) -> Mean:
        mean = Mean()
        for path in [path for name in experiments for path in self._files("builds", f"{name}/**/*.jsonl")]:
            for row in self._reader.rows(path, BuildView) or ():
                mean.add(row.seconds)
        return mean

    def _traces(self, pattern: str) -> Iterator[TraceView]:
        for path in [*self._files("traces", pattern), *self._files("evaluations", pattern)]:
            yield from self._reader.rows(path, TraceView) or ()

    def _ledger(self) -> dict[str, Tokens]:
        if self._in_ledger is None:
            found: dict[str, Tokens] = defaultdict(Tokens)
            for path in islice(Ledger(Path(self._settings.paths.ledger)).paths(), SAMPLE):
                entry = read_entry(path)
                found[config_name(entry.request)].add(entry.usage)
            self._in_ledger = dict(found)
        return self._in_ledger

    def _store(self) -> dict[tuple[str, str], Mean]:
        if self._in_store is None:
            paths = islice((Path(self._settings.paths.store) / "traces").glob("??/*.json"), SAMPLE)
            rows = (self._reader.one(path, TraceView) for path in paths)
            self._in_store = _by_source(row for row in rows if row is not None)
        return self._in_store

    def _files(self, stage: str, pattern: str) -> list[Path]:
        """Of all runs in `results/`: what one has measured serves the others."""
        return sorted(Path(self._paths.results).parent.glob(f"*/{stage}/{pattern}"))


def _by_source(rows: Iterable[TraceView]) -> dict[tuple[str, str], Mean]:
    """(source, kind of device) -> seconds of the verdicts that were reached."""
    found: dict[tuple[str, str], Mean] = defaultdict(Mean)
    for row in rows:
        if row.status.resolved:
            source = row.definition.partition("/")[0]
            found[source, row.protocol.device].add(spent_s(row.phase_s), row.environment.device)
    return dict(found)


def _job_s(file: Path, run: TrainingView) -> float:
    """Wall seconds of the job that wrote a training's record, by Snakemake's own clock; 0 where it was not taken."""
    job = training_job(TrainingKey(run.training, run.graph, run.model, run.system, run.gpus, run.seed))
    folder = file.parents[len(Path(job).parts)]
    try:
        with Path(Paths(str(folder)).benchmark(f"train/{job}")).open(encoding="utf-8", newline="") as times:
            return max((float(row["s"]) for row in csv.DictReader(times, delimiter="\t")), default=0.0)
    except (OSError, ValueError, KeyError):
        return 0.0

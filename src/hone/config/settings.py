"""The typed config: what `config/*.yaml` may say. The JSON schema and the docs are generated from it.

Reading a config needs neither torch nor pandas, because every cluster job parses the Snakefile again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError, field_validator, model_validator

from hone.config.archives import Archive
from hone.config.errors import explain
from hone.config.experiments import ASTRA, IDENTIFIER, UNPROMPTED, UPSTREAM, Experiment, Method
from hone.config.files import read_values
from hone.config.graphs import GraphEntry
from hone.config.judge import check_judges
from hone.config.llm import LLM
from hone.config.section import Section
from hone.config.sources import KernelsSource, Source
from hone.config.strategy import Tuned
from hone.config.trainings import Training, check_trainings
from hone.core.errors import ConfigError, closest
from hone.records import Protocol, TorchBaseline

RUN_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$"


class Paths(Section):
    """What outlives `results/`: both hold work that was paid for in money or time."""

    ledger: str = ".hone/ledger"
    store: str = ".hone/store"
    """Builds and traces by content."""
    recorded: str = "resources/recorded"
    """Committed transcripts."""


class Analysis(Section):
    """What the tables show."""

    thresholds: tuple[float, ...] = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0)
    """p of fast_p."""
    confidence: float = Field(0.95, gt=0, lt=1)
    model_names: dict[str, str] = Field(default_factory=dict)
    """Model, as the experiments name it -> the name that the paper's tables use."""


class Settings(Section):
    """The whole config."""

    run: str | None = Field(None, pattern=RUN_NAME, exclude=True)
    """Name of the folder in `results/` that all of it is made in; absent: the config file's name."""
    sources: dict[str, Source] = Field(default_factory=dict)
    """Where problems and existing kernels come from; a config with trainings alone needs none."""
    archives: dict[str, Archive] = Field(default_factory=dict, exclude_if=lambda value: not value)
    """Public repositories with answers of models, for experiments with `method: archive`."""
    experiments: dict[str, Experiment] = Field(default_factory=dict)
    """Methods and models that are tried on them."""
    batch_size: int = Field(25, ge=1)
    """Problem numbers to a job."""
    llm: LLM = LLM()
    gpu: str | None = Field(None, exclude_if=lambda value: value is None)
    """The GPU that CUDA is compiled for, an entry of resources/hardware/gpus.yaml; absent: that of the machine which
    compiles, and an H200 where it has none."""
    judge: Protocol = Protocol(name="default")
    """The protocol of correctness and timing; to be given where there are experiments."""
    baselines: tuple[Literal[TorchBaseline, "upstream", "current"], ...] = ("torch_eager",)
    """What speedup is measured against; one that a definition does not have is left out for it."""
    graphs: dict[str, GraphEntry] = Field(default_factory=dict)
    """Graphs that neural networks are trained on."""
    trainings: dict[str, Training] = Field(default_factory=dict)
    """Neural networks that are trained on them."""
    analysis: Analysis = Analysis()
    paths: Paths = Paths()

    @field_validator("sources", "archives", "experiments", "graphs", "trainings")
    @classmethod
    def _names(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in value:
            if not re.match(IDENTIFIER, name):
                raise ValueError(f"'{name}' must start with a letter and hold only a-z, 0-9 and _")
        return value

    @model_validator(mode="after")
    def _something_to_do(self) -> Self:
        if not self.experiments and not self.trainings:
            raise ValueError("there is nothing to do: write sources and experiments, or graphs and trainings, or both")
        if self.experiments and "judge" not in self.model_fields_set:
            raise ValueError("judge: is missing: experiments need a protocol; write at least `judge: {name: <name>}`")
        return self

    @model_validator(mode="after")
    def _references(self) -> Self:
        of_experiments = {f"experiments.{name}.judge": self.protocol(name) for name in self.experiments}
        check_judges({"judge": self.judge} | of_experiments, self.baselines)
        for name, experiment in self.experiments.items():
            source = self.sources.get(experiment.source)
            if source is None:
                hint = closest(experiment.source, self.sources)
                raise ValueError(f"experiments.{name}.source: '{experiment.source}' is not in sources{hint}")
            self._check_problems(name, experiment, source)
            if self.protocol(name).device != self.judge.device:
                raise ValueError(f"experiments.{name}.judge.device must be the config's: {self.judge.device}")
            self._check_rounds(name, experiment)
            if isinstance(experiment.strategy, Tuned) and not self.protocol(name).timing:
                raise ValueError(f"experiments.{name}: strategy: tuned needs judge.timing: true")
            self._check_archive(name, experiment, source)
            for model in experiment.models:
                self._check_model(name, experiment.method, model)
        kernels = [name for name, source in self.sources.items() if isinstance(source, KernelsSource)]
        check_trainings(self.trainings, self.graphs, kernels)
        return self

    def _check_problems(self, name: str, experiment: Experiment, source: Source) -> None:
        for level in experiment.levels:
            if level not in source.levels:
                known = sorted(source.levels)
                raise ValueError(f"experiments.{name}.levels: {level} is not among the levels {known} of the source")
        for problem in experiment.problems:
            level, number = (int(part) for part in problem.removeprefix("level").split("/"))
            if level not in experiment.levels or not 1 <= number <= source.levels[level]:
                there = "; ".join(f"level {n} has problems 1 to {source.levels[n]}" for n in experiment.levels)
                raise ValueError(f"experiments.{name}.problems: there is no '{problem}': {there}")

    def _check_archive(self, name: str, experiment: Experiment, source: Source) -> None:
        if experiment.archive is None:
            return
        if experiment.archive not in self.archives:
            hint = closest(experiment.archive, self.archives)
            raise ValueError(f"experiments.{name}.archive: '{experiment.archive}' is not in archives{hint}")
        if isinstance(source, KernelsSource):
            raise ValueError(f"experiments.{name}.source: archive needs a source of kind: kernelbench or local")

    def _check_rounds(self, name: str, experiment: Experiment) -> None:
        if experiment.method not in ASTRA:
            return
        where = f"experiments.{name}"
        if not isinstance(self.sources[experiment.source], KernelsSource):
            raise ValueError(f"{where}.source: {experiment.method} needs a source of kind: kernels")
        if UPSTREAM not in self.baselines:
            raise ValueError(f"{where}: {experiment.method} needs baselines: [..., {UPSTREAM}]")
        if not self.protocol(name).timing:
            raise ValueError(f"{where}: {experiment.method} needs judge.timing: true")
        if experiment.astra.notes and len(self.batches(name)) < 2:
            raise ValueError(f"{where}.astra.notes: notes go from job to job, and there is one: set batch_size: 1")

    def _check_model(self, name: str, method: Method, model: str) -> None:
        provider, _, rest = model.partition("/")
        where = f"experiments.{name}.models: '{model}'"
        if method in UNPROMPTED:
            return
        if provider not in ("openai", "openai-api", "recorded") or not rest:
            raise ValueError(f"{where}: write openai/<model>, openai-api/<service>/<model> or recorded/<transcript>")
        if provider == "openai-api" and not all(rest.partition("/")):
            raise ValueError(f"{where}: write openai-api/<service>/<model>")

    def problems(self, source: str) -> list[tuple[int, int]]:
        """(level, number) of every problem of a source, in order."""
        levels = self.sources[source].levels
        return [(level, number) for level in sorted(levels) for number in range(1, levels[level] + 1)]

    def protocol(self, experiment: str) -> Protocol:
        """How an experiment's solutions are judged."""
        return self.experiments[experiment].judge or self.judge

    def batch(self, experiment: str, batch: str) -> list[tuple[int, int]]:
        """The (level, number) pairs of one job: `batch_size` neighbours in the source's order."""
        chosen = self.experiments[experiment]
        size = chosen.batch_size or self.batch_size
        return self.problems(chosen.source)[int(batch) * size : (int(batch) + 1) * size]

    def batch_of(self, experiment: str, level: int, number: int) -> str:
        """Name of the experiment's job that has a problem."""
        chosen = self.experiments[experiment]
        return f"{self.problems(chosen.source).index((level, number)) // (chosen.batch_size or self.batch_size):03d}"

    def batches(self, experiment: str) -> list[str]:
        """Names of the experiment's jobs, `000`, `001` …, those without a selected problem left out.

        A job's problems depend on source and `batch_size` alone: `limit` and `problems` do not reshuffle what is done.
        """
        chosen = self.experiments[experiment]
        size = chosen.batch_size or self.batch_size
        found = {
            f"{index // size:03d}"
            for index, (level, number) in enumerate(self.problems(chosen.source))
            if chosen.selects(level, number)
        }
        return sorted(found)


def model_slug(model: str) -> str:
    """A model's name as part of a path."""
    return model.replace("/", "--")


def load(values: Mapping[str, Any], where: str = "config") -> Settings:
    """Validate a config that has been read; raises ConfigError naming every wrong field at once."""
    try:
        return Settings.model_validate(dict(values))
    except ValidationError as error:
        problem, remedy = explain(error, Settings.model_json_schema())
        raise ConfigError(problem, where=where, remedy=remedy) from None


def read(path: Path) -> Settings:
    """Read and validate a YAML config; raises ConfigError for anything wrong in it."""
    return load(read_values(path), where=str(path))


def json_schema() -> str:
    """The JSON schema of the config, for editors and other programs."""
    return json.dumps(Settings.model_json_schema(), indent=2) + "\n"


def parse_graph(values: Mapping[str, Any]) -> GraphEntry:
    """One entry of `graphs` that has been validated before."""
    return TypeAdapter[GraphEntry](GraphEntry).validate_python(values)


def parse_archive(values: Mapping[str, Any]) -> Archive:
    """One entry of `archives` that has been validated before."""
    return TypeAdapter[Archive](Archive).validate_python(values)


def parse_source(values: Mapping[str, Any]) -> Source:
    """One entry of `sources` that has been validated before."""
    return TypeAdapter[Source](Source).validate_python(values)

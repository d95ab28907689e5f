"""Where the pipeline's files lie. A part of a path that is left out is the wildcard of its name: `{experiment}`, …"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hone.config.settings import model_slug
from hone.config.trainings import TrainingKey

GRAPH_ARRAYS = ("indptr", "indices", "features", "labels", "train", "valid", "test")


@dataclass(frozen=True)
class Shard:
    """One job's kernels: a batch of problems in one turn of one model."""

    results: str
    experiment: str = "{experiment}"
    model: str = "{model}"
    """As the config names it."""
    turn: int | str = "{turn}"
    batch: str = "{batch}"

    def records(self, stage: str) -> str:
        """The records of a stage, such as `feedback`, `answers`, `solutions`, `builds`, `traces` or `evaluations`."""
        return f"{self._folder(stage)}/turn{self.turn}/{self.batch}.jsonl"

    def role(self, kind: str, role: str = "{role}") -> str:
        """What a role of rounds is asked (`prompts`) or says (`answers`)."""
        return f"{self._folder('roles')}/turn{self.turn}/{role}/{self.batch}.{kind}.jsonl"

    @property
    def suites(self) -> str:
        """The workloads that a role chose, for all turns."""
        return f"{self._folder('suites')}/{self.batch}.jsonl"

    @property
    def suite_origins(self) -> str:
        """Where each suite came from."""
        return f"{self._folder('suites')}/{self.batch}.origin.jsonl"

    @property
    def winners(self) -> str:
        """The solutions that are evaluated where not all of an experiment are."""
        return f"{self._folder('winners')}/{self.batch}.jsonl"

    @property
    def winner_builds(self) -> str:
        """The builds of `winners`."""
        return f"{self._folder('winners')}/{self.batch}.builds.jsonl"

    @property
    def evaluated_winners(self) -> str:
        """The verdicts on `winners`."""
        return f"{self._folder('evaluations')}/winner/{self.batch}.jsonl"

    def _folder(self, stage: str) -> str:
        return f"{self.results}/{stage}/{self.experiment}/{model_slug(self.model)}"


@dataclass(frozen=True)
class Paths:
    """The files of one run of the pipeline."""

    results: str
    """The folder that holds them, such as `results/paper`."""

    def shard(self, *place: Any, **parts: Any) -> Shard:
        """Experiment, model, turn and batch, by place or by name."""
        return Shard(self.results, *place, **parts)

    def log(self, job: str) -> str:
        """What a job said; `job` starts with the rule's name."""
        return f"{self.results}/logs/{job}.log"

    def benchmark(self, job: str) -> str:
        """Snakemake's own clock of a job; `job` starts with the rule's name."""
        return f"{self.results}/benchmarks/{job}.tsv"

    def gate(self, name: str) -> str:
        """The mark that a gate has been passed."""
        return f"{self.results}/gates/{name}.done"

    def problems(self, source: str = "{source}") -> str:
        """A source's problem files or existing kernels, as they were fetched."""
        return f"{self.results}/sources/{source}.jsonl"

    def level(self, stage: str, source: str = "{source}", level: int | str = "{level}") -> str:
        """A level's `definitions`, `workloads` or `visible_workloads`."""
        return f"{self.results}/{stage}/{source}/level{level}.jsonl"

    def unsupported(self, source: str = "{source}", level: int | str = "{level}") -> str:
        """Problems of a level that cannot become a definition."""
        return f"{self.results}/definitions/{source}/level{level}.unsupported.jsonl"

    def existing(self, source: str = "{source}", level: int | str = "{level}") -> str:
        """Builds of a level's existing kernels."""
        return f"{self.results}/existing/{source}/level{level}.jsonl"

    def archive(self, archive: str = "{archive}") -> str:
        """An archive's answers."""
        return f"{self.results}/archives/{archive}.jsonl"

    def skipped_answers(self, archive: str = "{archive}") -> str:
        """Those of an archive's answers that are left out."""
        return f"{self.results}/archives/{archive}.skipped.jsonl"

    def batch(self, stage: str, experiment: str = "{experiment}", batch: str = "{batch}") -> str:
        """A batch's own `definitions`, or all its `workloads`, those held out included."""
        return f"{self.results}/batches/{stage}/{experiment}/{batch}.jsonl"

    def prompts(self, experiment: str = "{experiment}", batch: str = "{batch}") -> str:
        """First prompts of a method that writes kernels from scratch, the same for every model."""
        return f"{self.results}/prompts/{experiment}/{batch}.jsonl"

    def graph(self, graph: str = "{graph}") -> str:
        """The record of a prepared graph, with the checksum of each array."""
        return f"{self.results}/graphs/{graph}/graph.json"

    def graph_arrays(self, graph: str = "{graph}") -> list[str]:
        """Its arrays."""
        return [f"{self.results}/graphs/{graph}/{array}.npy" for array in GRAPH_ARRAYS]

    def downloaded_graph(self, graph: str = "{graph}") -> str:
        """The mark that a graph has been downloaded."""
        return f"{self.results}/graphs/{graph}.downloaded"

    def training(self, stage: str, key: TrainingKey | None = None, suffix: str = "json") -> str:
        """A training job's record: `training` or `inference`."""
        return f"{self.results}/{stage}/{training_job(key)}.{suffix}"

    @property
    def sampler_build(self) -> str:
        """The build of the compiled sampler."""
        return f"{self.results}/sampler/build.json"

    def sampler_study(self, graph: str = "{graph}") -> str:
        """Times of the sampler's designs."""
        return f"{self.results}/sampler/{graph}/salient_sampler_study.csv"

    def preparation(self, graph: str = "{graph}") -> str:
        """Times of batch preparation alone."""
        return f"{self.results}/sampler/{graph}/salient_threads.csv"

    def roofline(self, graph: str = "{graph}") -> str:
        """Times of the device system's kernels."""
        return f"{self.results}/device/{graph}/device_roofline.csv"

    def shares(self, training: str = "{training}", graph: str = "{graph}", model: str = "{model}") -> str:
        """The share of each operator in the preparation of a training's batches."""
        return f"{self.results}/shares/{training}/{graph}/{model}.jsonl"

    def selection(self, source: str = "{source}", operator: str = "{operator}") -> str:
        """The kernel that trainings run for an operator."""
        return f"{self.results}/selected/{source}/{operator}.json"

    def selection_reasons(self, source: str = "{source}", operator: str = "{operator}") -> str:
        """Why it was chosen, with its times."""
        return f"{self.results}/selected/{source}/{operator}.reasons.jsonl"

    def sanitized(self, source: str = "{source}", operator: str = "{operator}") -> str:
        """What compute-sanitizer says of the kernels that would be chosen, where a GPU judges."""
        return f"{self.results}/selected/{source}/{operator}.sanitized.jsonl"

    def table(self, table: str = "{table}", suffix: str = "csv") -> str:
        """A table; `md` is its twin for readers."""
        return f"{self.results}/tables/{table}.{suffix}"

    @property
    def table_pages(self) -> str:
        """The folder of the tables' web pages."""
        return f"{self.results}/pages/tables"

    @property
    def papers(self) -> str:
        """The folder of the papers' tables and figures in their own shapes."""
        return f"{self.results}/papers"

    @property
    def figures(self) -> str:
        """The folder of the figures, as SVG and PDF."""
        return f"{self.results}/figures"

    def pages(self, experiment: str = "{experiment}") -> str:
        """The folder of an experiment's trajectory pages."""
        return f"{self.results}/pages/astra/{experiment}"

    @property
    def report(self) -> str:
        """The folder of the pages that `snakemake --report` takes up."""
        return f"{self.results}/report"

    @property
    def site(self) -> str:
        """The folder of the explorer, a static site."""
        return f"{self.results}/site"

    @property
    def report_landing(self) -> str:
        """What the report begins with."""
        return f"{self.report}/landing.rst"

    @property
    def summary(self) -> str:
        """The page that lists tables, figures and pages."""
        return f"{self.results}/summary.md"


def training_job(key: TrainingKey | None = None) -> str:
    """What all files of a training job are named by."""
    parts = {name: f"{{{name}}}" for name in TrainingKey._fields} if key is None else key._asdict()
    return "{training}/{graph}/{model}/{system}/gpus{gpus}/seed{seed}".format(**parts)

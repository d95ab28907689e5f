"""The files that a config's campaign is made of, as workflow/rules/common.smk and common_gnn.smk name them.

The rules speak Snakemake's language and cannot be imported, so that names stand here again; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hone.config import ASTRA, UNPROMPTED, Settings, model_slug
from hone.config_trainings import TrainingKey

RESULTS = Path("results")


@dataclass(frozen=True)
class Shard:
    """One job's kernels: a batch of problems in one turn of one model."""

    experiment: str
    model: str
    turn: int
    batch: str

    def path(self, stage: str) -> Path:
        """The file of a stage: `feedback`, `answers`, `solutions`, `builds`, `traces` or `evaluations`."""
        return RESULTS / stage / self.experiment / model_slug(self.model) / f"turn{self.turn}" / f"{self.batch}.jsonl"

    @property
    def suite(self) -> Path:
        """The workloads that a role of the experiment chose."""
        return RESULTS / "suites" / self.experiment / model_slug(self.model) / f"{self.batch}.jsonl"

    @property
    def winners(self) -> Path:
        """The solutions that are evaluated where not all of an experiment are."""
        return RESULTS / "winners" / self.experiment / model_slug(self.model) / f"{self.batch}.jsonl"

    @property
    def evaluated_winners(self) -> Path:
        """Their verdicts."""
        return RESULTS / "evaluations" / self.experiment / model_slug(self.model) / "winner" / f"{self.batch}.jsonl"

    def role(self, kind: str, role: str) -> Path:
        """What a role is asked (`prompts`) or says (`answers`)."""
        folder = RESULTS / "roles" / self.experiment / model_slug(self.model) / f"turn{self.turn}" / role
        return folder / f"{self.batch}.{kind}.jsonl"


@dataclass(frozen=True)
class Questions:
    """One job's prompts and the answers to them."""

    shard: Shard
    prompts: Path
    answers: Path
    samples: int
    """Answers to each prompt."""


def shards(settings: Settings, experiment: str) -> Iterator[Shard]:
    """Every job that builds and judges kernels."""
    item = settings.experiments[experiment]
    for model in item.models:
        for turn in range(item.turns):
            for batch in settings.batches(experiment):
                yield Shard(experiment, model, turn, batch)


def questions(settings: Settings, experiment: str) -> Iterator[Questions]:
    """Every job that asks a model."""
    item = settings.experiments[experiment]
    if item.method in UNPROMPTED:
        return
    in_rounds = item.method in ASTRA
    for shard in shards(settings, experiment):
        if shard.turn == 0 and in_rounds:
            continue  # the existing kernel
        first = RESULTS / "prompts" / experiment / f"{shard.batch}.jsonl"
        prompts = first if shard.turn == 0 else shard.path("feedback")
        # Samples are asked in the first turn with one prompt, later each with its own.
        yield Questions(shard, prompts, shard.path("answers"), item.samples)
    if in_rounds:
        for model in item.models:
            yield from _role_questions(settings, experiment, model)


def _role_questions(settings: Settings, experiment: str, model: str) -> Iterator[Questions]:
    """Of the roles of `astra` that do not write kernels."""
    item = settings.experiments[experiment]
    several = item.method == "astra"
    batches = settings.batches(experiment)
    asked = [(0, "testing" if several else "single")]
    if several:
        asked += [(turn, role) for turn in range(1, item.turns) for role in ("profiling", "planning")]
    places = [(turn, role, batch) for turn, role in asked for batch in batches]
    if item.astra.notes:  # the last batch's note would be read by nobody
        places += [(item.turns, "experience", batch) for batch in batches[:-1]]
    for turn, role, batch in places:
        shard = Shard(experiment, model, turn, batch)
        yield Questions(shard, shard.role("prompts", role), shard.role("answers", role), 1)


def definition_files(settings: Settings, experiment: str, stage: str) -> list[Path]:
    """The files of `definitions` or `workloads` that an experiment reads."""
    item = settings.experiments[experiment]
    return [RESULTS / stage / item.source / f"level{level}.jsonl" for level in sorted(set(item.levels))]


def archive_file(archive: str) -> Path:
    """The answers of an archive."""
    return RESULTS / "archives" / f"{archive}.jsonl"


def training_file(key: TrainingKey, folder: str, suffix: str = "json") -> Path:
    """A training's file: `training`, `inference`, or `benchmarks/train`."""
    place = Path(key.training, key.graph, key.model, key.system, f"gpus{key.gpus}", f"seed{key.seed}.{suffix}")
    return RESULTS / folder / place


def graph_file(graph: str) -> Path:
    """The record of a prepared graph."""
    return RESULTS / "graphs" / graph / "graph.json"

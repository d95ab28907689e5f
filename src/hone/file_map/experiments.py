"""The jobs of experiments and their files: who is asked in which turn, and what is built and judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hone.config.experiments import Experiment
from hone.config.settings import Settings
from hone.file_map.kinds import Kinds
from hone.file_map.paths import Paths, Shard
from hone.sources.solution_files import source_files
from hone.teams import TEAMS, Team

ATTEMPTED = ("attempts", "solutions", "builds", "traces")
"""The stages of a turn that later rounds are told of."""


@dataclass(frozen=True)
class Questions:
    """One job's prompts and the answers to them."""

    shard: Shard
    prompts: str
    answers: str
    samples: int
    """Answers to each prompt."""


class ExperimentFiles:
    """Jobs and files of a config's experiments."""

    def __init__(self, settings: Settings, paths: Paths, kinds: Kinds) -> None:
        self._settings = settings
        self._paths = paths
        self._kinds = kinds

    def _item(self, experiment: str) -> Experiment:
        return self._settings.experiments[experiment]

    def shards(self, experiment: str) -> Iterator[Shard]:
        """Every job that builds and judges kernels: by model, turn and batch."""
        for model in self._item(experiment).models:
            yield from self._shards_of(experiment, model)

    def _shards_of(self, experiment: str, model: str) -> Iterator[Shard]:
        for turn in range(self._item(experiment).turns):
            for batch in self._settings.batches(experiment):
                yield self._paths.shard(experiment, model, turn, batch)

    def batches(self, experiment: str) -> Iterator[Shard]:
        """Once for each model and batch what all turns have in common: the job of turn 0."""
        return (shard for shard in self.shards(experiment) if shard.turn == 0)

    def questions(self, experiment: str) -> Iterator[Questions]:
        """Every job that asks a model."""
        if experiment not in self._kinds.prompted:
            return
        item, in_rounds = self._item(experiment), experiment in self._kinds.rounds
        for model in item.models:
            for shard in self._shards_of(experiment, model):
                if shard.turn == 0 and in_rounds:
                    continue  # the existing kernel
                # Samples are asked in the first turn with one prompt, later each with its own.
                yield Questions(shard, self.coder_prompts(shard), shard.records("answers"), item.candidates)
            if in_rounds:
                yield from self._role_questions(experiment, model)

    def _role_questions(self, experiment: str, model: str) -> Iterator[Questions]:
        """Of the roles that do not write kernels."""
        item, team = self._item(experiment), self.team(experiment)
        batches = self._settings.batches(experiment)
        asked = [(0, team.first)]
        asked += [(turn, role.name) for turn in range(1, item.turns) for role in team.roles[:-1]]
        found = [(turn, role, batch) for turn, role in asked for batch in batches]
        if item.astra.notes and team.notes:  # the last batch's note would be read by nobody
            found += [(item.turns, team.notes.name, batch) for batch in batches[:-1]]
        for turn, role, batch in found:
            shard = self._paths.shard(experiment, model, turn, batch)
            each = item.width if turn in range(1, item.turns) else 1
            yield Questions(shard, shard.role("prompts", role), shard.role("answers", role), each)

    def coder_prompts(self, shard: Shard) -> str:
        """What a job asks for kernels."""
        if int(shard.turn) == 0:
            return self._paths.prompts(shard.experiment, shard.batch)
        several = shard.experiment in self._kinds.several_roles
        return shard.role("prompts", self.team(shard.experiment).coder) if several else shard.records("feedback")

    def told(self, role: str, experiment: str, turn: int, batch: str) -> dict[str, list[str]]:
        """The other roles' answers that a role is told in a turn, by their names in its prompt."""
        this = self._paths.shard(turn=turn)
        before = [self._paths.shard(turn=earlier) for earlier in range(1, turn)]
        asked = self.team(experiment).asked[role]
        return {
            **{name: [this.role("answers", other)] for name, other in asked.told.items()},
            **{name: [shard.role("answers", other) for shard in before] for name, other in asked.told_before.items()},
            **{name: self._notes_before(experiment, batch, other) for name, other in asked.told_of_others.items()},
        }

    def team(self, experiment: str) -> Team:
        """Who improves kernels in an experiment's rounds."""
        return TEAMS[self._item(experiment).method]

    def first_prompts(self, experiment: str) -> list[str]:
        """All prompts that depend on no answer."""
        return sorted({asked.prompts for asked in self.questions(experiment) if asked.shard.turn == 0})

    def every(self, stage: str, experiments: Iterable[str]) -> list[str]:
        """A stage's files of all jobs; `answers` includes those of roles."""
        return [path for name in experiments for path in self._every_of(stage, name)]

    def _every_of(self, stage: str, experiment: str) -> Iterator[str]:
        if stage == "answers":
            return (asked.answers for asked in self.questions(experiment))
        if stage == "suites":
            return (shard.suites for shard in self.batches(experiment))
        if stage == "evaluations" and experiment in self._kinds.winner_alone:
            return (shard.evaluated_winners for shard in self.batches(experiment))
        return (shard.records(stage) for shard in self.shards(experiment))

    def of_problem(self, stage: str, experiments: Iterable[str], source: str, number: int) -> list[str]:
        """A stage's files of all experiments that may have a solution for a problem of level 1."""
        names = [
            name for name in experiments if self._item(name).source == source and self._item(name).selects(1, number)
        ]
        return [
            path
            for name in names
            for path in self._every_of(stage, name)
            if Path(path).stem == self._settings.batch_of(name, 1, number)
        ]

    def turns(self, number: int) -> dict[str, list[str]]:
        """Stage -> its patterns for the first so many turns: what a round is told of."""
        shards = [self._paths.shard(turn=turn) for turn in range(number)]
        return {stage: [shard.records(stage) for shard in shards] for stage in ATTEMPTED}

    def _notes_before(self, experiment: str, batch: str, role: str) -> list[str]:
        """Patterns of what a role writes after the rounds about the kernels of the batches before."""
        item, batches = self._item(experiment), self._settings.batches(experiment)
        earlier = batches[: batches.index(batch)] if item.astra.notes else []
        return [self._paths.shard(turn=item.turns, batch=name).role("answers", role) for name in earlier]

    def level_files(self, stage: str, experiment: str, batch: str | None = None) -> list[str]:
        """The files of a source's levels that hold an experiment's problems, or those of one batch."""
        item = self._item(experiment)
        levels = item.levels if batch is None else [level for level, _ in self._settings.batch(experiment, batch)]
        return [self._paths.level(stage, item.source, level) for level in sorted(set(levels))]

    def source_files(self, source: str) -> list[str]:
        """The files of our own that a source is made of."""
        item = self._settings.sources[source]
        if item.kind == "local":
            return sorted(map(str, Path(item.path).glob("level*/*.py")))
        if item.kind != "kernels":
            return []
        packages = [package for package in item.packages.values() if package.kind == "folder"]
        folders = [Path(package.path, part) for package in packages for part in package.include]
        inside = (path for folder in folders for path in folder.rglob("*") if path.is_file())
        return sorted(map(str, [*Path(item.path).glob("*.yaml"), *inside]))

    def solution_files(self, experiment: str) -> list[str]:
        """The solutions that lie in the experiment's folder."""
        return [str(path) for path in source_files(Path(self._item(experiment).files or ""))]

    def transcript(self, model: str) -> list[str]:
        """The committed transcript behind a `recorded` model, whose name is part of a path."""
        provider, _, name = model.partition("--")
        return [f"{self._settings.paths.recorded}/{name}.jsonl"] if provider == "recorded" else []

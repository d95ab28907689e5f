"""The method `files`: candidates are the solutions of a folder, instead of a model's answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from hone.config.experiments import Experiment
from hone.config.strategy import Tuned
from hone.core.errors import ConfigError, closest
from hone.records import Candidate, Definition, Solution
from hone.sources.solution_files import SourceFile, read_file, source_files, tunable_of


def chosen_files(experiment: Experiment) -> list[SourceFile]:
    """The folder's solutions of problems that the experiment selects, by file name; raises ConfigError."""
    files = [read_file(path) for path in source_files(Path(experiment.files or ""))]
    return [file for file in files if file.source == experiment.source and experiment.selects(file.level, file.number)]


def check_files(experiment: Experiment, problems: Collection[tuple[int, int]]) -> None:
    """Every file is readable, names a (level, number) that the source has, and can be tuned; raises ConfigError."""
    for file in chosen_files(experiment):
        if isinstance(experiment.strategy, Tuned):
            tunable_of(file.path)
        if (file.level, file.number) not in problems:
            problem = f"the source has no problem level{file.level}/{file.number}"
            raise ConfigError(problem, where=str(file.path), remedy="correct its line `definition:`")


def candidates(
    name: str, model: str, experiment: Experiment, batch: Collection[tuple[int, int]], definitions: Iterable[Definition]
) -> tuple[list[Candidate], list[Solution]]:
    """A candidate for each file of the batch's problems, and the distinct solutions sorted by id.

    Samples of a definition count its files by name; the candidate's label is the file's name. Raises ConfigError for
    a file whose definition is not there.
    """
    known = {item.name for item in definitions}
    rows: list[Candidate] = []
    solutions: dict[str, Solution] = {}
    samples: Counter[str] = Counter()
    for file in chosen_files(experiment):
        if (file.level, file.number) not in batch:
            continue
        solution = file.solution
        if solution.definition not in known:
            problem = f"no definition '{solution.definition}'{closest(solution.definition, iter(known))}"
            remedy = "correct its line `definition:`; problems without a definition are in *.unsupported.jsonl"
            raise ConfigError(problem, where=str(file.path), remedy=remedy)
        solutions[solution.id] = solution
        rows.append(
            Candidate(
                experiment=name, method="files", model=model, definition=solution.definition, turn=0,
                sample=samples[solution.definition], prompt_digest="", completion_key="", solution=solution.id,
                label=file.path.name,
            )
        )  # fmt: skip
        samples[solution.definition] += 1
    return rows, [solutions[key] for key in sorted(solutions)]

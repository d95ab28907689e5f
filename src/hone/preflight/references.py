"""Names in a config that only other files can confirm: checked before the DAG is built, so before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hone.analysis.paper_numbers import PaperNumbers, read_published
from hone.config.experiments import ASTRA, UNPROMPTED
from hone.config.files import read_values
from hone.config.graphs import PublishedGraph
from hone.config.settings import Settings, load
from hone.config.sources import LocalSource
from hone.config.strategy import Budget
from hone.config.trainings import OPERATORS
from hone.core.errors import ConfigError, closest, located
from hone.llm.names import parse_model
from hone.llm.recorded import read_transcript, transcript_path
from hone.machine.hardware import gpu
from hone.methods.files import check_files
from hone.sources.extraction.names import numbers_in
from hone.sources.fetch import check_local


def checked(values: Mapping[str, Any], where: str) -> Settings:
    """A config that has been read, validated whole, with all that it names; raises as `load` and `check_references`."""
    settings = load(values, where)
    with located(where):
        check_references(settings)
    return settings


def read_checked(path: Path) -> Settings:
    """As `checked`, of a YAML file; raises ConfigError also where it is none."""
    return checked(read_values(path), str(path))


def check_references(settings: Settings) -> None:
    """Folders, problems, addresses, transcripts, turns, GPUs, published experiments, solutions and operators are there.

    Raises ConfigError, SourceError or ProviderError with the nearest name or what is there, RecordError for a damaged
    transcript.
    """
    _check_folders(settings)
    if settings.gpu:
        with located("gpu"):
            gpu(settings.gpu)
    for name, experiment in settings.experiments.items():
        if experiment.method not in UNPROMPTED:
            for model in experiment.models:
                _check_model(settings, name, model)
        if experiment.hardware:
            with located(f"experiments.{name}.hardware"):
                gpu(experiment.hardware)
        if experiment.method == "files":
            with located(f"experiments.{name}.files"):
                check_files(experiment, settings.problems(experiment.source))
    PaperNumbers(read_published()).check(settings)
    for name in settings.trainings:
        _check_operators(settings, name)


def _check_folders(settings: Settings) -> None:
    for field, folder in _folders(settings):
        if not Path(folder).is_dir():
            remedy = "make the folder or correct the path, which counts from where the command runs"
            raise ConfigError(f"no such folder: {folder}", where=field, remedy=remedy)
    for name, source in settings.sources.items():
        if isinstance(source, LocalSource):
            with located(f"sources.{name}"):
                check_local(source)
    for name, graph in settings.graphs.items():
        if isinstance(graph, PublishedGraph) and graph.local is not None and not graph.local.exists():
            remedy = "correct the path, which counts from where the command runs: a folder, a zip archive or a URL"
            raise ConfigError(f"no such folder: {graph.raw_dir}", where=f"graphs.{name}.raw_dir", remedy=remedy)


def _folders(settings: Settings) -> Iterator[tuple[str, str]]:
    """(field, path) of every folder with problems or kernels that is to be there already."""
    for name, source in settings.sources.items():
        if source.kind == "kernelbench":
            continue
        yield f"sources.{name}.path", source.path
        if source.kind == "kernels":
            packages = source.packages.items()
            yield from ((f"sources.{name}.packages.{key}.path", p.path) for key, p in packages if p.kind == "folder")


def _check_model(settings: Settings, name: str, model: str) -> None:
    """A model's service has an address, in the config or the environment; a transcript is there with its turns."""
    with located(f"experiments.{name}.models"):
        target = parse_model(model, settings.llm)
        if target.provider != "recorded":
            return
        transcript_path(target.model, Path(settings.paths.recorded))
    if settings.experiments[name].method in {*ASTRA, "refine"}:
        _check_turns(settings, name, target.model)


def _check_turns(settings: Settings, name: str, transcript: str) -> None:
    """A transcript has as many turns of each problem as the experiment, where none can end early."""
    experiment, rows = settings.experiments[name], read_transcript(transcript, Path(settings.paths.recorded))
    for level, number in settings.problems(experiment.source):
        if not experiment.selects(level, number):
            continue
        last = rows.last_turn(experiment.source, level, number)
        if last is None:
            problem, remedy = f"'{transcript}' answers nothing of", rows.problems_of(experiment.source)
            raise ConfigError(f"{problem} level{level}/{number}", where=f"experiments.{name}.models", remedy=remedy)
        early = experiment.astra.enough_share is not None or experiment.strategy.budget != Budget()
        if last + 1 < experiment.turns and not early:
            problem = f"'{transcript}' answers level{level}/{number} up to turn {last}"
            raise ConfigError(problem, where=f"experiments.{name}.turns", remedy=f"write turns: {last + 1} or less")


def _check_operators(settings: Settings, name: str) -> None:
    training = settings.trainings[name]
    if training.kernels_from is None:
        return
    folder = Path(settings.sources[training.kernels_from].path)  # type: ignore[union-attr]
    known = numbers_in(folder)
    needed = {operator for system in training.systems for operator in OPERATORS[system]}
    if missing := sorted(needed - set(known)):
        problem = f"the source has no operator '{missing[0]}'{closest(missing[0], iter(known))}"
        remedy = f"{', '.join(training.systems)} need {folder}/<number>_{missing[0]}.yaml"
        raise ConfigError(problem, where=f"trainings.{name}.kernels_from", remedy=remedy)

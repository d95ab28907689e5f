"""Names in a config that only other files can confirm: checked before the DAG is built, so before anything is spent."""

from __future__ import annotations

from pathlib import Path

from hone.analysis.paper_numbers import PaperNumbers, read_published
from hone.config import UNPROMPTED, Settings, closest
from hone.config_trainings import OPERATORS
from hone.errors import ConfigError, located
from hone.llm.recorded import transcript_path
from hone.methods.files import check_files
from hone.methods.hardware import gpu
from hone.sources.kernels.names import numbers_in


def check_references(settings: Settings) -> None:
    """Transcripts, GPUs, published experiments, solutions in folders and operators of trainings exist.

    Raises ConfigError or ProviderError with the nearest name.
    """
    for name, experiment in settings.experiments.items():
        for model in experiment.models:
            if model.startswith("recorded/") and experiment.method not in UNPROMPTED:
                with located(f"experiments.{name}.models"):
                    transcript_path(model.removeprefix("recorded/"), Path(settings.paths.recorded))
        if experiment.hardware:
            with located(f"experiments.{name}.hardware"):
                gpu(experiment.hardware)
        if experiment.method == "files":
            with located(f"experiments.{name}.files"):
                check_files(experiment, settings.problems(experiment.source))
    PaperNumbers(read_published()).check(settings)
    for name in settings.trainings:
        _check_operators(settings, name)


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

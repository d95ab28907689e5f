"""Names in a config that only other files can confirm: checked before the DAG is built, so before anything is spent."""

from __future__ import annotations

from pathlib import Path

from hone.analysis.paper_numbers import PaperNumbers, read_published
from hone.config import UNPROMPTED, Settings
from hone.errors import located
from hone.llm.recorded import transcript_path
from hone.methods.files import check_files
from hone.methods.hardware import gpu


def check_references(settings: Settings) -> None:
    """Transcripts, GPUs, published experiments and solutions in folders exist.

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

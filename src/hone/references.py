"""Names in a config that only other files can confirm: checked before the DAG is built, so before anything is spent."""

from __future__ import annotations

from pathlib import Path

from hone.analysis.paper_numbers import PaperNumbers, read_published
from hone.config import Settings
from hone.errors import located
from hone.llm.recorded import transcript_path
from hone.methods.hardware import gpu


def check_references(settings: Settings) -> None:
    """Transcripts, GPUs and published experiments exist; raises ConfigError or ProviderError with the nearest name."""
    for name, experiment in settings.experiments.items():
        for model in experiment.models:
            if model.startswith("recorded/") and experiment.method != "gold":
                with located(f"experiments.{name}.models"):
                    transcript_path(model.removeprefix("recorded/"), Path(settings.paths.recorded))
        if experiment.hardware:
            with located(f"experiments.{name}.hardware"):
                gpu(experiment.hardware)
    PaperNumbers(read_published()).check(settings)

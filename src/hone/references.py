"""Names in a config that only other files can confirm: checked before the DAG is built, so before anything is spent."""

from __future__ import annotations

from pathlib import Path

from hone.analysis.paper_numbers import PaperNumbers, read_published
from hone.config import Settings
from hone.llm.recorded import transcript_path
from hone.methods.hardware import gpu


def check_references(settings: Settings) -> None:
    """Transcripts, GPUs and published experiments exist; raises ConfigError or ProviderError with the nearest name."""
    for name in settings.transcripts():
        transcript_path(name, Path(settings.paths.recorded))
    for experiment in settings.experiments.values():
        if experiment.hardware:
            gpu(experiment.hardware)
    PaperNumbers(read_published()).check(settings)

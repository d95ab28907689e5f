"""What several commands share: options, and how an expected failure ends."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hone.config.runs import run_folder
from hone.core.errors import HoneError

RUN = Path("<run>")
"""The first part of a default path: the folder of the command's config in results/."""


def in_run(context: typer.Context, path: Path) -> Path:
    """A path with `RUN` replaced: the callback of options with such a default, of commands that have `ConfigFile`."""
    if context.resilient_parsing or not path.is_relative_to(RUN):
        return path
    return run_folder(Path(context.params["config"])) / path.relative_to(RUN)


ConfigFile = Annotated[
    Path,
    typer.Option(
        "--config",
        "--configfile",
        is_eager=True,  # other options' defaults depend on it
        help="The config: sources, experiments, trainings, protocol, paths.",
    ),
]
DEFAULT_CONFIG = Path("config/config.yaml")

Definitions = Annotated[Path, typer.Option(callback=in_run, help="File or folder of definitions.")]
Workloads = Annotated[Path, typer.Option(callback=in_run, help="File or folder of workloads.")]
Solutions = Annotated[Path, typer.Option(callback=in_run, help="File or folder of solutions.")]
Evaluations = Annotated[Path, typer.Option(callback=in_run, help="File or folder of traces.")]
Choices = Annotated[Path, typer.Option(callback=in_run, help="The file that `hone operator choose` writes.")]
Sanitized = Annotated[Path, typer.Option(callback=in_run, help="File or folder of compute-sanitizer's verdicts.")]
Output = Annotated[Path, typer.Option(callback=in_run, help="The file to write.")]
DEFAULT_DEFINITIONS = RUN / "definitions"
DEFAULT_WORKLOADS = RUN / "workloads"
DEFAULT_SOLUTIONS = RUN / "solutions"
DEFAULT_EVALUATIONS = RUN / "evaluations"
DEFAULT_SANITIZED = RUN / "selected"
DEFAULT_CHOICES = RUN / "operators/choices.jsonl"


def run_app(app: typer.Typer) -> None:
    """Run a command; an expected failure is one message on stderr and exit status 1."""
    try:
        app()
    except HoneError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(1) from None

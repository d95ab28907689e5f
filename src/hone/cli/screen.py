"""`hone screen`: what the text of answers says, before anything is built or run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hone.config.runs import DEFAULT_RUN, RESULTS


def screen(
    paths: Annotated[list[Path] | None, typer.Argument(help="Files, or folders with everything below them.")] = None,
    experiment: Annotated[str, typer.Option(help="Solutions of these experiments of a run, by comma.")] = "",
    run: Annotated[str, typer.Option(help="A folder of results/, for experiments and definitions.")] = DEFAULT_RUN.name,
    problems: Annotated[
        Path | None, typer.Option(help="Folder of problems, level<n>/<number>_<title>.py, to be held against.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write a CSV file, a row for each source.")] = None,
    json: Annotated[Path | None, typer.Option(help="Also write a file of JSON lines, one for each source.")] = None,
) -> None:
    """Say what the text of answers shows, without running them.

    It tells kinds of kernel, builds that cannot be, launches, switches, packages and arguments. Nothing is executed: no
    compiler, no GPU, no PyTorch; an archive takes seconds. A source is held against the problem that its path or its
    line `definition:` names, out of --problems, else out of the run's definitions.
    """
    import sys
    import time

    from rich.console import Console

    from hone.core.files import write_records, write_text
    from hone.screen import gather
    from hone.screen.show import as_csv, show
    from hone.solutions.bench import read_definitions

    start, results = time.perf_counter(), RESULTS / run
    names = [word.strip() for word in experiment.split(",") if word.strip()]
    sources = gather.file_sources(paths or []) if paths or not names else []
    sources += gather.experiment_sources(names, results)
    known = gather.read_problems(problems) if problems else {}
    found = list(gather.screen_all(sources, read_definitions(results / "definitions"), known))
    if csv:
        write_text(csv, as_csv(found))
    if json:
        write_records(json, found)
    # A file or a pipe has no width of its own.
    console = Console(width=None if sys.stdout.isatty() else 140)
    show(found, time.perf_counter() - start, console)

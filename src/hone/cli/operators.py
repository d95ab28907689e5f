"""`hone operator …`: winning kernels as PyTorch operators, listed and checked against the upstream packages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hone.cli.options import (
    DEFAULT_CHOICES,
    DEFAULT_CONFIG,
    DEFAULT_DEFINITIONS,
    DEFAULT_EVALUATIONS,
    DEFAULT_SANITIZED,
    DEFAULT_SOLUTIONS,
    DEFAULT_WORKLOADS,
    RUN,
    Choices,
    ConfigFile,
    Definitions,
    Evaluations,
    Output,
    Sanitized,
    Solutions,
    Workloads,
    in_run,
)

if TYPE_CHECKING:
    from hone.config.settings import Settings

app = typer.Typer(no_args_is_help=True, help="Kernels as PyTorch operators: choose, list, check; select for trainings.")


@app.command()
def choose(
    config: ConfigFile = DEFAULT_CONFIG,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    workloads: Workloads = DEFAULT_WORKLOADS,
    solutions: Solutions = DEFAULT_SOLUTIONS,
    evaluations: Evaluations = DEFAULT_EVALUATIONS,
    sanitized: Sanitized = DEFAULT_SANITIZED,
    output: Output = DEFAULT_CHOICES,
) -> None:
    """Choose, for each existing kernel, upstream's, today's and the best one that was written, and build them."""
    from hone.config.settings import read
    from hone.core.files import read_records
    from hone.machine.hardware import gpu
    from hone.operators import stages
    from hone.operators.choice import KernelChoice
    from hone.selection.choices import choose as choose_kernels

    settings = read(config)
    known = [stages.existing_files(path, _written_by(config)) for path in (definitions, workloads)]
    written = [stages.record_files(path) if path.exists() else [] for path in (solutions, evaluations)]
    if missing := [str(path) for path in (solutions, evaluations) if not path.exists()]:
        typer.echo(f"no winners: there is no {' and no '.join(missing)}", err=True)
    choose_kernels(
        *known, *written,
        store=Path(settings.paths.store), timeout_s=settings.judge.build_timeout_s,
        workers=len(os.sched_getaffinity(0)), gpu=gpu(settings.gpu) if settings.gpu else None, output=output,
        sanitized=_sanitizer_files(sanitized),
    )  # fmt: skip
    for choice in read_records(output, KernelChoice):
        speedup = f", {choice.speedup:.3f} times as fast as upstream" if choice.speedup else ""
        typer.echo(f"{choice.solution.definition}  {choice.kernel_set}  {choice.solution.id[:12]}{speedup}")


@app.command(name="list")
def list_(
    config: ConfigFile = DEFAULT_CONFIG,
    choices: Choices = DEFAULT_CHOICES,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    workloads: Workloads = DEFAULT_WORKLOADS,
) -> None:
    """Name and schema of each operator, and the functions that it can replace; or why a kernel is none."""
    from hone.config.settings import read
    from hone.operators import stages

    settings = read(config)
    lines = stages.describe(
        choices, stages.record_files(definitions), stages.record_files(workloads),
        store=Path(settings.paths.store), entries=entries_of(settings),
    )  # fmt: skip
    for line in lines:
        typer.echo(line)


@app.command()
def check(
    config: ConfigFile = DEFAULT_CONFIG,
    choices: Choices = DEFAULT_CHOICES,
    definitions: Definitions = DEFAULT_DEFINITIONS,
    workloads: Workloads = DEFAULT_WORKLOADS,
    kernels: Annotated[str, typer.Option(help="Which, by comma: upstream, current, winner.")] = "upstream,winner",
    library: Annotated[
        Path | None, typer.Option(help="Library of the packages' own compiled functions, to compare with these, too.")
    ] = None,
    output: Output = RUN / "operators/operator_check.csv",
) -> None:
    """Compare operators with the upstream package's own functions and the reference, on every workload."""
    from hone.config.settings import read
    from hone.operators import stages

    settings = read(config)
    problems = stages.check(
        choices, stages.record_files(definitions), stages.record_files(workloads),
        store=Path(settings.paths.store), entries=entries_of(settings),
        kernel_sets=_words(kernels), library=library, output=output,
    )  # fmt: skip
    for problem in problems:
        typer.echo(f"failed: {problem}")
    if not problems:
        typer.echo(f"held: all that was compared agrees, see {output}")
    raise typer.Exit(1 if problems else 0)


@app.command()
def select(
    operator: Annotated[str, typer.Argument(help="Title of its definition, as training loops call it.")],
    config: ConfigFile = DEFAULT_CONFIG,  # default paths are in its run
    definitions: Definitions = DEFAULT_DEFINITIONS,
    workloads: Workloads = DEFAULT_WORKLOADS,
    solutions: Solutions = DEFAULT_SOLUTIONS,
    evaluations: Evaluations = DEFAULT_EVALUATIONS,
    builds: Annotated[Path, typer.Option(callback=in_run, help="File or folder of builds.")] = RUN / "builds",
    sanitized: Sanitized = DEFAULT_SANITIZED,
    output: Output = RUN / "operators/selected.json",
) -> None:
    """Select the kernel that trainings run for an operator, on each kind of machine that judged one, and say why."""
    from hone.core.files import read_records
    from hone.operators import stages
    from hone.records import SelectionReason
    from hone.selection.stages import select as choose_kernel

    reasons = output.with_suffix(".reasons.jsonl")
    files = [stages.record_files(path) for path in (definitions, workloads, solutions, evaluations, builds)]
    choose_kernel(operator, *files, output=output, reasons=reasons, sanitized=_sanitizer_files(sanitized))
    for item in read_records(reasons, SelectionReason):
        gain = f"{item.speedup:.3f} times as fast as the builtin" if item.speedup else ""
        typer.echo("  ".join(filter(None, (item.where, item.used, item.solution[:12], gain, item.reason))))


def _sanitizer_files(path: Path) -> list[Path]:
    """None where no GPU has watched a kernel."""
    return sorted(path.rglob("*.sanitized.jsonl")) if path.is_dir() else [path] if path.exists() else []


def entries_of(settings: Settings) -> dict[str, Path]:
    """Source of existing kernels -> folder of its config entries."""
    return {name: Path(source.path) for name, source in settings.sources.items() if source.kind == "kernels"}


def _written_by(config: Path) -> str:
    """What to do where definitions or workloads are missing."""
    return f"`snakemake definitions --cores 2 --configfile {config}` writes it"


def _words(text: str) -> list[str]:
    """What stands between commas."""
    return [word.strip() for word in text.split(",")]

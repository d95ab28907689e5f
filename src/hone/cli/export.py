"""`hone export`: a run in the forms of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hone.cli.options import DEFAULT_CONFIG, ConfigFile

if TYPE_CHECKING:
    from hone.site.run import SiteRun

app = typer.Typer(no_args_is_help=True)
OUTPUT = "The folder to write into."


@app.command(name="inspect")
def inspect_(output: Annotated[Path, typer.Argument(help=OUTPUT)], config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Write Inspect's logs, one for each experiment and model.

    `inspect view --log-dir <folder>` shows them. It takes `pip install -e '.[export]'`.
    """
    from hone.config.runs import run_folder
    from hone.export.inspect_log import export_logs

    for path in export_logs(_run_of(config), output, run_folder(config).name):
        typer.echo(str(path))


@app.command(name="flashinfer-bench")
def flashinfer_bench(output: Annotated[Path, typer.Argument(help=OUTPUT)], config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Write definitions, workloads, solutions and traces for flashinfer-bench.

    `TraceSet.from_path(<folder>)` reads them. What its schema cannot say stands in left_out.json.
    """
    from hone.export.flashinfer import export_trace_set

    count = export_trace_set(_run_of(config), output)
    typer.echo(", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in count.items()))


@app.command()
def answers(
    output: Annotated[Path, typer.Argument(help="The file to write: .csv or .parquet.")],
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Write one table of all answers, as CSV or Parquet."""
    from hone.export.answers import write_answers

    typer.echo(f"{write_answers(_run_of(config), output)} answers in {output}")


def _run_of(config: Path) -> SiteRun:
    from hone.site.stages import open_run

    return open_run(config)

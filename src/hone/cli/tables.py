"""`hone tables`: the tables, figures and explorer of what a run has so far."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hone.cli.options import DEFAULT_CONFIG, RUN, ConfigFile, in_run


def tables(
    config: ConfigFile = DEFAULT_CONFIG,
    output: Annotated[Path, typer.Option(callback=in_run, help="The folder to write.")] = RUN / "so_far",
) -> None:
    """Write tables, figures and explorer of what a run has so far, for example when a GPU has to be given back.

    The pipeline writes those of whole runs by itself. A verdict counts once its batch is judged.
    """
    from hone.analysis.paper_numbers import FOLDER
    from hone.config.runs import run_folder
    from hone.config.settings import read
    from hone.core.code import commit
    from hone.core.errors import RecordError
    from hone.file_map import FileMap
    from hone.site.stages import make_site, read_site_run
    from hone.tables.stages import make_figures, make_tables

    settings, folder = read(config), run_folder(config)
    files = FileMap(settings, str(folder)).table_records()
    there = {kind: [path for path in map(Path, paths) if path.exists()] for kind, paths in files.items()}
    if not any(there[kind] for kind in ("traces", "trainings", "evaluations", "rooflines")):
        raise RecordError(
            "no verdict and no training yet", where=str(folder), remedy=f"snakemake --cores 2 --configfile {config}"
        )
    for kind, paths in files.items():
        if len(there[kind]) < len(paths):
            typer.echo(f"{kind}: {len(there[kind])} of {len(paths)} files")
    site = read_site_run(settings, there, commit(), FOLDER)
    make_tables(site.run, output, output / "pages")
    typer.echo(f"tables: {output}")
    make_figures(output, output / "figures")
    typer.echo(f"figures: {output / 'figures'}")
    make_site(site, output, output / "site", folder.name, [str(config)])
    typer.echo(f"explorer: hone view {output / 'site'}")

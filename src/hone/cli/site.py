"""`hone view`, `hone site` and `hone papers`: pages of a run, served or made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hone.config.runs import DEFAULT_RUN, known_run


def view(
    run: Annotated[str, typer.Argument(help="A folder of results/, or the folder of a site.")] = DEFAULT_RUN.name,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 0,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Show the explorer of a run in a browser.

    Serves the pipeline's results/<run>/site on this machine alone, until Ctrl-C; of an unfinished run the one that
    `hone tables` has written. The folder also works when a browser opens its index.html from the disk, and on any
    web host.
    """
    import webbrowser

    from hone.site.serve import server

    folder = Path(run) if (Path(run) / "index.html").is_file() else _site_of(known_run(run))
    with server(folder, port) as served:
        address = f"http://127.0.0.1:{served.server_address[1]}/"
        typer.echo(f"{folder} is at {address} (Ctrl-C ends it)")
        if open_browser:
            webbrowser.open(address)
        try:
            served.serve_forever()
        except KeyboardInterrupt:
            typer.echo("")


def _site_of(folder: Path) -> Path:
    """The site of the whole run, else that of its finished batches."""
    whole, so_far = folder / "site", folder / "so_far/site"
    return so_far if so_far.is_dir() and not whole.is_dir() else whole


def site(
    source: Annotated[Path, typer.Argument(help="A config, or a folder of CSV tables such as docs/results/h200.")],
    output: Annotated[Path, typer.Argument(help="The folder to write: new, or an older site.")],
    against: Annotated[str, typer.Option(help="Configs of other runs to compare with, by comma.")] = "",
    name: Annotated[str, typer.Option(help="What the pages are headed with; else the run or folder.")] = "",
) -> None:
    """Make a site by hand: of a run beside other runs, or of published tables alone.

    The pipeline makes that of each run by itself: `snakemake` writes results/<run>/site.
    """
    from hone.config.runs import run_folder
    from hone.site.stages import make_site, make_site_of_tables, open_run

    if source.is_dir():
        make_site_of_tables(source, output, name or source.resolve().name)
    else:
        folder = run_folder(source)
        configs = [Path(word.strip()) for word in against.split(",") if word.strip()]
        others = {run_folder(config).name: open_run(config) for config in configs}
        of_run = (open_run(source), folder / "tables", output, name or folder.name, [str(source)], others)
        make_site(*of_run, papers=folder / "papers")
    typer.echo(f"{output / 'index.html'}")


def papers(
    configs: Annotated[list[Path], typer.Argument(help="A config, or several whose runs were judged on several GPUs.")],
    output: Annotated[Path | None, typer.Option(help="The folder to write; else results/<first run>/papers.")] = None,
    tables: Annotated[Path | None, typer.Option(help="A folder of CSV tables in the place of the first run's.")] = None,
) -> None:
    """Write the KernelBench paper's tables in its own shapes, with the numbers of several runs.

    The pipeline writes those of each run by itself. Where several runs have a number, the first one counts.
    """
    from hone.config.runs import run_folder
    from hone.config.settings import read
    from hone.tables.paper.write import data_of, read_run, write_pages

    folders = [run_folder(config) for config in configs]
    places = [tables or folders[0] / "tables", *(folder / "tables" for folder in folders[1:])]
    found = zip(configs, folders, places, strict=True)
    runs = [read_run(folder.name, read(config), place) for config, folder, place in found]
    written = write_pages(data_of(runs), output or folders[0] / "papers")
    typer.echo(str(written[-1]) if written else "no run here asked a model, so there is no page")

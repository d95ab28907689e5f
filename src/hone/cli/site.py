"""`hone view` and `hone site`: the explorer of a run, served or made of tables alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hone.config.runs import DEFAULT_RUN, RESULTS


def view(
    run: Annotated[str, typer.Argument(help="A folder of results/, or the folder of a site.")] = DEFAULT_RUN.name,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 0,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Show the explorer of a run in a browser.

    Serves the pipeline's results/<run>/site on this machine alone, until Ctrl-C. The folder also works when a browser
    opens its index.html from the disk, and on any web host.
    """
    import webbrowser

    from hone.site.serve import server

    folder = Path(run) if (Path(run) / "index.html").is_file() else RESULTS / run / "site"
    with server(folder, port) as served:
        address = f"http://127.0.0.1:{served.server_address[1]}/"
        typer.echo(f"{folder} is at {address} (Ctrl-C ends it)")
        if open_browser:
            webbrowser.open(address)
        try:
            served.serve_forever()
        except KeyboardInterrupt:
            typer.echo("")


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
        make_site(open_run(source), folder / "tables", output, name or folder.name, [str(source)], others)
    typer.echo(f"{output / 'index.html'}")

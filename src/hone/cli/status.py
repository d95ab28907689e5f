"""`hone status`: what is done, what is pending, and what that will cost."""

from __future__ import annotations

import typer

from hone.cli.options import DEFAULT_CONFIG, ConfigFile


def status(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Say what is done, what is left, and what the rest will cost.

    Costs are tokens, dollars and GPU hours at measured rates. Reads only: it can look at a running pipeline, and needs
    neither PyTorch nor a GPU. What is wrong in a config is said with its line or field. So is a missing key or price.
    """
    from hone.config.runs import run_folder
    from hone.file_map import FileMap
    from hone.preflight.references import read_checked
    from hone.preflight.requirements import lacking_models
    from hone.status.screen import show

    settings = read_checked(config)
    show(FileMap(settings, str(run_folder(config))), str(config))
    for error in lacking_models(settings):
        typer.echo(f"A run that has to ask will stop: {error}")

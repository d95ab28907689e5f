"""`hone status`: what is done, what is pending, and what that will cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[Path, typer.Option("--config", "--configfile", help="The config whose campaign is looked at.")]
DEFAULT_CONFIG = Path("config/config.yaml")


def status(config: Config = DEFAULT_CONFIG) -> None:
    """What is done, what is pending, and what that will cost in tokens, dollars and GPU hours, at measured rates.

    Reads only: it can look at a running pipeline, and needs neither PyTorch nor a GPU.
    """
    from hone.config import read
    from hone.status.screen import show

    show(read(config), str(config))

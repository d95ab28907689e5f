"""Options that several commands of `hone` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[
    Path, typer.Option("--config", "--configfile", help="The config: sources, experiments, trainings, protocol, paths.")
]
DEFAULT_CONFIG = Path("config/config.yaml")

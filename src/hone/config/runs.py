"""Runs: each config has a folder of its own in `results/`, so that the results of several stand side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hone.core.errors import ConfigError, closest

if TYPE_CHECKING:
    from hone.config.settings import Settings

RESULTS = Path("results")
DEFAULT_RUN = RESULTS / "config"
"""The folder of config/config.yaml."""


def run_name(settings: Settings, configs: Sequence[str | Path]) -> str:
    """The config's `run:`, else the names of its files without `.yaml`; raises ConfigError where these are unfit."""
    from hone.config.settings import RUN_NAME

    if settings.run is not None:
        return settings.run
    name = "+".join(Path(config).stem for config in configs) or DEFAULT_RUN.name
    if not re.fullmatch(RUN_NAME, name):
        remedy = "write `run: <name>` in it, of letters, digits and _ . + -"
        where = " ".join(map(str, configs))
        raise ConfigError(f"'{name}' cannot name a folder of results/", where=where, remedy=remedy)
    return name


def run_folder(config: Path) -> Path:
    """Where a config's results lie; raises ConfigError."""
    from hone.config.settings import read

    return RESULTS / run_name(read(config), [config])


def known_run(name: str) -> Path:
    """The folder of a run that was made; raises ConfigError naming those that were."""
    if not (RESULTS / name).is_dir():
        made = (path.name for path in RESULTS.glob("[!.]*") if path.is_dir())
        remedy = "run the pipeline first, or go to the folder of the checkout, where results/ is"
        raise ConfigError(f"no such run{closest(name, made)}", where=str(RESULTS / name), remedy=remedy)
    return RESULTS / name


def options_file(folder: Path) -> Path:
    """The config that `hone run` writes when options differ from the config's own values."""
    return folder / "config.yaml"


def remember(configs: Sequence[str], folder: Path) -> None:
    """Note the config files of a run that starts."""
    from hone.core.files import write_text

    write_text(folder / "made_with.txt", "".join(f"{name}\n" for name in configs))


def made_with_others(configs: Sequence[str], folder: Path) -> str:
    """A warning where the run was last made with other config files; empty where with these, or nothing is known."""
    record = folder / "made_with.txt"
    if not record.is_file() or (before := record.read_text(encoding="utf-8").split("\n")[:-1]) == list(configs):
        return ""
    own = str(options_file(folder)) in configs
    named = "`hone run --run <name>`" if own else "`--config run=<name>`"
    return (
        f"{folder} was last made with {_words(before, folder)}; this is {_words(configs, folder)}. Tables, figures and "
        "summary are replaced, and experiments, graphs and trainings that have a name in common are made again. To "
        f"keep both, give this one a name: {named}, or `run: <name>` in the config."
    )


def _words(configs: Sequence[str], folder: Path) -> str:
    own = str(options_file(folder))
    return ", ".join(f"{name} (options of `hone run`)" if name == own else name for name in configs) or "no config"

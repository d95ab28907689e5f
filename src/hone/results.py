"""Which config `results/` was made with: it has room for one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hone.files import write_text

RECORD = Path("results/made_with.txt")
OF_OPTIONS = "results/config.yaml"
"""The config that `hone run` writes when options differ from the config's own values."""


def remember(configs: Sequence[str], record: Path = RECORD) -> None:
    """Note the config files of a run that starts."""
    write_text(record, "".join(f"{name}\n" for name in configs))


def made_with_others(configs: Sequence[str], record: Path = RECORD) -> str:
    """A warning where the last run had other config files; empty where it had these, or nothing is known."""
    if not record.is_file() or (before := record.read_text(encoding="utf-8").split("\n")[:-1]) == list(configs):
        return ""
    return (
        f"results/ was last made with {_words(before)}; this is {_words(configs)}. Tables, figures and summary are "
        "replaced, and experiments, graphs and trainings that have a name in common are made again. To keep both, use "
        "a second clone, whose `paths:` may name the same ledger and store."
    )


def _words(configs: Sequence[str]) -> str:
    return (
        ", ".join(f"{name} (options of `hone run`)" if name == OF_OPTIONS else name for name in configs) or "no config"
    )

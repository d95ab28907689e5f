"""All tables of a run, by name. A new table is a module and its name in `names.py`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hone.tables.names import NAMES
from hone.tables.table import Figure, RunTable

TABLES: dict[str, RunTable[Any]] = {name: import_module(f"hone.tables.{name}").TABLE for name in NAMES}
"""Name -> table; the table of two runs, judge_repeatability, is made by `hone repeatability`."""
FIGURES: dict[str, tuple[RunTable[Any], Figure]] = {
    figure.name: (table, figure) for table in TABLES.values() for figure in table.figures
}
"""Name -> the table that a figure is drawn from, and the figure."""


def caption_of(name: str) -> str:
    """What a table or figure shows, in sentences of Markdown; raises KeyError for an unknown name."""
    if name in FIGURES:
        table, figure = FIGURES[name]
        return figure.caption or table.caption
    return TABLES[name].caption

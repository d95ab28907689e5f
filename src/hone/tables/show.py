"""The fast_p table in the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

from hone.analysis.plotting import distinct
from hone.tables.files import read_table
from hone.tables.kernelbench_fast_p import TABLE

SHOWN_P = (0.0, 1.0, 1.5)


def fast_p_table(table: pd.DataFrame) -> Table:
    """A compact view of `kernelbench_fast_p`: all problems, three thresholds, intervals in brackets."""
    title = "fast_p, percent of problems (interval): correct and over p times as fast"
    found = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, show_edge=False)
    several = table["baseline"].nunique() > 1
    keys = ["experiment", "model", "level", *(["baseline"] if several else [])]
    for name in keys:
        found.add_column(name, overflow="fold")
    found.add_column("n", justify="right")
    thresholds = [p for p in SHOWN_P if p in distinct(table["p"])]
    for p in thresholds:
        found.add_column(f"fast_{p:g}", justify="right")
    chosen = table[(table["subset"] == "all") & table["p"].isin(thresholds)]
    for key, rows in chosen.groupby(keys, sort=False):
        cells = {row.p: _cell(row) for row in rows.itertuples()}
        found.add_row(*(str(part) for part in key), str(rows["n"].max()), *(cells[p] for p in thresholds))
    unresolved = int(chosen.groupby(keys, sort=False)["unresolved"].max().sum()) if len(chosen) else 0
    if unresolved:
        found.caption = f"? = {unresolved} answers without a verdict: only bounds can be given"
    return found


def _cell(row: Any) -> str:
    bounds = f"({100 * row.ci_low:.0f}–{100 * row.ci_high:.0f})"
    return f"? {bounds}" if row.unresolved else f"{100 * row.fast_p:.0f}% {bounds}"


def show(tables_dir: Path, console: Console | None = None) -> None:
    """Print the table of the folder; raises RecordError when it is not there."""
    table = read_table(TABLE, tables_dir)
    # A file or a pipe has no width of its own: wide enough for the names of models.
    console = console or Console(width=None if sys.stdout.isatty() else 100)
    if len(table):
        console.print(fast_p_table(table))
    else:
        console.print(
            f"fast_p has no rows; verdicts on kernels of your own: {tables_dir}/own_kernels.md", soft_wrap=True
        )

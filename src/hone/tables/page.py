"""The pages of a table, Markdown and HTML: a few columns in a paper's own shape, rounded for people."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from hone.analysis.render import escape, number, pipe_table
from hone.tables.row import PROVENANCE
from hone.tables.table import Table

DETAIL_LENGTH = 160
PAGE_ROWS = 2000
"""The page of a longer table shows its first rows and says so; the CSV has all."""


def markdown(table: Table[Any], frame: pd.DataFrame, said: str = "") -> str:
    """Title, caption, what is `said` of this run, the shown columns, the provenance, and what each column means.

    `frame` is one of `files.to_frame`. Pipes and HTML in cells are escaped.
    """
    shown = shown_columns(table, frame)
    lines = [f"# {table.title}", "", table.caption, ""]
    lines += [said, ""] if said else []
    lines += [_pipes(table, shown.head(PAGE_ROWS)), ""] if len(shown) else ["No rows.", ""]
    if len(shown) > PAGE_ROWS:
        lines += [f"The first {PAGE_ROWS} of {len(shown)} rows; all are in the CSV file.", ""]
    if told := provenance(frame):
        lines += [f"In all rows: {told}.", ""]
    lines += [f"`{table.name}.csv` has all {len(table.columns)} columns:", ""]
    lines += [f"- `{name}`: {html.escape(column.meaning, quote=False)}" for name, column in table.columns.items()]
    return "\n".join([*lines, ""])


def shown_columns(table: Table[Any], frame: pd.DataFrame) -> pd.DataFrame:
    """The rows and columns of the page, by the names of the columns."""
    arranged = table.layout(frame) if table.layout is not None else frame
    return arranged[list(table.shown)]


def web_page(table: Table[Any], frame: pd.DataFrame, said: str = "") -> str:
    """The same as a page that opens by itself in a browser and in the report: the same bytes for the same rows."""
    from great_tables import GT

    shown = shown_columns(table, frame)
    numbers = [name for name in shown.columns if is_number(shown[name])]
    cells = pd.DataFrame(_cells(shown.head(PAGE_ROWS)), columns=list(shown.columns), dtype="object")
    page = GT(cells, id=table.name).tab_header(table.title, _plain(said)).cols_label({**table.shown})
    page = page.cols_align("left").cols_align("right", columns=numbers)
    for note in _notes(table, frame, len(shown)):
        page = page.tab_source_note(_plain(note))
    return page.as_raw_html(make_page=True)


def _notes(table: Table[Any], frame: pd.DataFrame, rows: int) -> Iterator[str]:
    yield table.caption
    if rows > PAGE_ROWS:
        yield f"The first {PAGE_ROWS} of {rows} rows; all are in the CSV file."
    if told := provenance(frame):
        yield f"In all rows: {html.unescape(told)}. {table.name}.csv has all {len(table.columns)} columns."


def _plain(text: str) -> str:
    """Markdown's marks left out."""
    return text.replace("`", "").replace("*", "")


def _pipes(table: Table[Any], shown: pd.DataFrame) -> str:
    align = ["right" if is_number(shown[name]) else "left" for name in shown.columns]
    cells = [[escape(text) for text in row] for row in _cells(shown)]
    return pipe_table(list(table.shown.values()), cells, align)


def _cells(shown: pd.DataFrame) -> list[list[str]]:
    rows = shown.itertuples(index=False, name=None)
    return [[cell(name, value) for name, value in zip(shown.columns, row, strict=True)] for row in rows]


def is_number(column: pd.Series[Any]) -> bool:
    """Whether a column is to be aligned by its last digit."""
    return bool(pd.api.types.is_numeric_dtype(column)) and not pd.api.types.is_bool_dtype(column)


def provenance(frame: pd.DataFrame) -> str:
    """The columns about provenance that have one value in all rows."""
    shared = [name for name in PROVENANCE if frame[name].nunique() == 1 and frame[name].iloc[0]]
    return ", ".join(f"{name}: {escape(cell(name, frame[name].iloc[0]))}" for name in shared)


def cell(column: str, value: Any) -> str:
    """One value for people: rounded, empty when absent, long digests and details cut."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "" if math.isnan(value) else number(value)
    text = " ".join(str(value).split())
    if column == "solution":
        text = text[:12]
    return text if len(text) <= DETAIL_LENGTH else text[:DETAIL_LENGTH] + "…"

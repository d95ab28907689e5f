"""Rows as a CSV file, and as a few lines for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from hone.core.files import write_text

Cell = str | int | float | bool | None
Row = Mapping[str, Cell]
SHOWN_CHARACTERS = 48


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Write all rows or nothing; a column that a row lacks is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([cell(row.get(column)) for column in columns] for row in rows)
    write_text(path, text.getvalue())


def table_lines(columns: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """The rows under each other, cells padded to the width of their column and cut where they are long."""
    shown = [list(columns), *([cell(row.get(column))[:SHOWN_CHARACTERS] for column in columns] for row in rows)]
    widths = [max(len(line[index]) for line in shown) for index in range(len(columns))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in shown]


def cell(value: Cell) -> str:
    """Numbers with six digits, yes or no, and nothing for what is absent."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)

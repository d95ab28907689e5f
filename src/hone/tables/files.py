"""Tables as CSV files, with full precision: rows -> file, and back exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hone.core.errors import RecordError
from hone.core.files import write_text
from hone.tables.row import Kind, TableRow
from hone.tables.table import Table

DTYPES: dict[Kind, str] = {"text": "str", "int": "int64", "float": "float64", "bool": "bool"}


def to_frame(table: Table[Any], rows: Sequence[TableRow]) -> pd.DataFrame:
    """Rows as a frame with exactly the table's columns and types."""
    frame = pd.DataFrame([dict(row) for row in rows], columns=list(table.columns))
    typed: pd.DataFrame = frame.astype({name: DTYPES[column.kind] for name, column in table.columns.items()})
    return typed


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame of `to_frame`."""
    write_text(path, frame.to_csv(index=False, lineterminator="\n"))


def read_table(table: Table[Any], folder: Path) -> pd.DataFrame:
    """A table as `to_frame` made it; raises RecordError for a file that is missing or is not that table."""
    path = folder / f"{table.name}.csv"
    try:
        frame = pd.read_csv(path, dtype="str", keep_default_na=False, lineterminator="\n")
    except FileNotFoundError:
        remedy = "run the pipeline first; it writes results/<run>/tables"
        raise RecordError("no such table", where=str(path), remedy=remedy) from None
    except ValueError as error:
        raise RecordError(f"not a CSV table: {error}", where=str(path)) from None
    if list(frame.columns) != list(table.columns):
        raise RecordError(f"the columns must be {', '.join(table.columns)}", where=str(path))
    for name, column in table.columns.items():
        try:
            frame[name] = _parsed(frame[name], column.kind)
        except ValueError as error:
            raise RecordError(f"{name}: {error}", where=str(path)) from None
    return frame


def _parsed(texts: pd.Series[str], kind: Kind) -> pd.Series[Any]:
    """A column of texts in its type, exactly as Python reads numbers; raises ValueError."""
    values = [PARSE[kind](text) for text in texts]
    return pd.Series(values, index=texts.index, dtype=DTYPES[kind])


def _truth(text: str) -> bool:
    if text not in ("True", "False"):
        raise ValueError(f"'{text}' is neither True nor False")
    return text == "True"


PARSE: dict[Kind, Callable[[str], Any]] = {
    "text": str,
    "int": int,
    "float": lambda text: float(text or "nan"),
    "bool": _truth,
}

"""The CSV files of a run as data: cells by type, what each column means, and which answer a row is about."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from hone.core.errors import RecordError
from hone.site.run import page_id
from hone.tables.judge_repeatability import TABLE as REPEATABILITY
from hone.tables.registry import TABLES
from hone.tables.row import PROVENANCE
from hone.tables.summary import finding_of
from hone.tables.table import Table

KNOWN: Mapping[str, Table[Any]] = {**TABLES, REPEATABILITY.name: REPEATABILITY}
PLACE = ("experiment", "model", "definition", "turn", "sample")


@dataclass(frozen=True)
class ReadTable:
    """A CSV file with rows."""

    name: str
    frame: pd.DataFrame
    said: str
    """What its rows come to, in a sentence; empty for a table of another version of Hone."""
    file: Path

    @property
    def title(self) -> str:
        """What it shows, in a line."""
        return KNOWN[self.name].title if self.name in KNOWN else self.name


def read_tables(folder: Path) -> list[ReadTable]:
    """All CSV files of a folder that have rows, those of the registry first, in its order.

    Files that are no table of Hone, or of another version of it, are read as they are. Raises RecordError for a folder
    without any.
    """
    files = {path.stem: path for path in sorted(folder.glob("*.csv"))}
    if not files:
        remedy = "run the pipeline first; it writes results/<run>/tables"
        raise RecordError("no tables", where=str(folder), remedy=remedy)
    order = [*(name for name in KNOWN if name in files), *(name for name in files if name not in KNOWN)]
    found = [_read(name, files[name]) for name in order]
    return [table for table in found if len(table.frame)]


def _read(name: str, path: Path) -> ReadTable:
    frame = pd.read_csv(path, dtype="str", keep_default_na=False, lineterminator="\n")
    columns = KNOWN[name].columns if name in KNOWN else {}
    for column in frame.columns:
        numeric = columns[column].kind in ("int", "float") if column in columns else None
        frame[column] = _typed(frame[column], numeric)
    whole = list(frame.columns) == list(columns)
    said = finding_of(TABLES[name], _flags(frame, columns)) if whole and name in TABLES else ""
    return ReadTable(name, frame, said, path)


def _typed(texts: pd.Series[Any], numeric: bool | None) -> pd.Series[Any]:
    """Numbers where the table says so, or where it does not know the column and all cells are numbers."""
    numbers = pd.to_numeric(texts.where(texts != ""), errors="coerce")
    fits = bool((numbers.notna() | (texts == "")).all()) and bool(numbers.notna().any())
    if numeric is True or (numeric is None and fits):
        return numbers.fillna(math.nan).astype("float64")
    return texts


def _flags(frame: pd.DataFrame, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The types that the table's own rows have."""
    found = frame.copy()
    for name, column in columns.items():
        if column.kind == "bool":
            found[name] = frame[name] == "True"
        elif column.kind == "int":
            found[name] = frame[name].astype("int64")
    return found


def as_data(table: ReadTable, answers: Mapping[str, str]) -> dict[str, Any]:
    """All rows, with the columns' kinds and meanings, and the page of the answer that each row is about.

    `answers`: id of each answer's page -> anything; a row that names an answer which is not there has no link.
    """
    known = KNOWN.get(table.name)
    columns = known.columns if known else {}
    shown = known.shown if known and known.layout is None else {}
    frame = table.frame
    return {
        "name": table.name,
        "title": table.title,
        "caption": known.caption if known else "",
        "said": table.said,
        "file": f"tables/{table.name}.csv",
        "source": str(table.file),
        "columns": [
            {
                "name": name,
                "kind": "number" if pd.api.types.is_numeric_dtype(frame[name]) else "text",
                "meaning": columns[name].meaning if name in columns else "",
                "shown": name in shown if shown else name not in PROVENANCE,
                "heading": shown.get(name, name),
            }
            for name in frame.columns
        ],
        "rows": frame.to_numpy(dtype="object").tolist(),
        "links": _links(frame, answers),
    }


def _links(frame: pd.DataFrame, answers: Mapping[str, str]) -> list[str | None]:
    """Of each row the page of its answer; rows that name no turn are about the first one."""
    if not {"experiment", "model", "definition", "sample"} <= set(frame.columns):
        return []
    names = [name for name in PLACE if name in frame.columns]
    rows: Sequence[Mapping[Any, Any]] = frame[names].to_dict("records")
    found = [
        page_id(row["experiment"], row["model"], row["definition"], int(row.get("turn", 0)), int(row["sample"]))
        for row in rows
    ]
    return [name if name in answers else None for name in found]

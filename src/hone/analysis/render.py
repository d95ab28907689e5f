"""Tables as files: CSV with full precision, and a Markdown twin with rounded numbers that explains itself."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hone.analysis.schema import COLUMNS, PROVENANCE, TABLES, Kind
from hone.errors import RecordError
from hone.files import write_text

DTYPES: dict[Kind, str] = {"text": "str", "int": "int64", "float": "float64", "bool": "bool"}
DETAIL_LENGTH = 160
MARKDOWN_ROWS = 2000
"""The Markdown twin of a longer table shows its first rows and says so; the CSV has all."""
CAPTIONS = Path("workflow/report")
"""What each table and figure shows, `<name>.rst`: the captions of Snakemake's report."""


def to_frame(name: str, rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Rows as a frame with exactly the table's columns and types; what a row lacks is empty."""
    columns = TABLES[name].columns
    frame = pd.DataFrame([{column: row.get(column) for column in columns} for row in rows], columns=list(columns))
    kinds = {column: COLUMNS[column].kind for column in columns}
    text = {column: "" for column, kind in kinds.items() if kind == "text"}
    typed: pd.DataFrame = frame.fillna(text).astype({column: DTYPES[kind] for column, kind in kinds.items()})
    return typed


def caption(name: str, folder: Path = CAPTIONS) -> str:
    """What a table or figure shows, in sentences that are Markdown as well; raises RecordError where it is missing."""
    path = folder / f"{name}.rst"
    try:
        return path.read_text(encoding="utf-8").strip().replace("``", "`")
    except FileNotFoundError:
        raise RecordError("no such caption", where=str(path), remedy="describe the table or figure there") from None


def write_table(name: str, rows: Sequence[dict[str, Any]], folder: Path, said: str) -> list[Path]:
    """Write `<name>.csv` and `<name>.md`, which begins with what is `said`; returns both paths."""
    frame = to_frame(name, rows)
    csv_path, md_path = folder / f"{name}.csv", folder / f"{name}.md"
    write_text(csv_path, frame.to_csv(index=False, lineterminator="\n"))
    write_text(md_path, markdown(name, frame, said))
    return [csv_path, md_path]


def read_table(name: str, folder: Path) -> pd.DataFrame:
    """A table as `to_frame` made it; raises RecordError for a file that is missing or is not that table."""
    path = folder / f"{name}.csv"
    columns = TABLES[name].columns
    try:
        frame = pd.read_csv(path, dtype="str", keep_default_na=False, lineterminator="\n")
    except FileNotFoundError:
        raise RecordError(
            "no such table", where=str(path), remedy="run the pipeline first; it writes results/<run>/tables"
        ) from None
    except ValueError as error:
        raise RecordError(f"not a CSV table: {error}", where=str(path)) from None
    if tuple(frame.columns) != columns:
        raise RecordError(f"the columns must be {', '.join(columns)}", where=str(path))
    for column in columns:
        try:
            frame[column] = _parsed(frame[column], COLUMNS[column].kind)
        except ValueError as error:
            raise RecordError(f"{column}: {error}", where=str(path)) from None
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


def markdown(name: str, frame: pd.DataFrame, said: str) -> str:
    """Title, what is `said`, table, the provenance that all rows share, and what each column means.

    Pipes and HTML in cells are escaped.
    """
    shared = [column for column in PROVENANCE if len(frame) and frame[column].nunique() == 1]
    shown = [column for column in frame.columns if column not in shared]
    cells = [
        [cell(column, value) for column, value in zip(shown, row, strict=True)]
        for row in _rows(frame.head(MARKDOWN_ROWS), shown)
    ]
    align = ["left" if COLUMNS[column].kind in ("text", "bool") else "right" for column in shown]
    lines = [f"# {TABLES[name].title}", "", said, "", pipe_table(shown, cells, align), ""]
    if not len(frame):
        lines += ["No rows.", ""]
    if len(frame) > MARKDOWN_ROWS:
        lines += [f"The first {MARKDOWN_ROWS} of {len(frame)} rows; all are in the CSV file.", ""]
    told = [f"{column}: {cell(column, frame[column].iloc[0])}" for column in shared if frame[column].iloc[0]]
    if told:
        lines += ["In all rows: " + ", ".join(told) + ".", ""]
    lines += ["## Columns", "", *(f"- `{name}`: {meaning(name)}" for name in frame.columns), ""]
    return "\n".join(lines)


def meaning(column: str) -> str:
    """What a column holds, safe in Markdown."""
    return html.escape(COLUMNS[column].meaning, quote=False)


def pipe_table(header: Sequence[str], cells: Sequence[Sequence[str]], align: Sequence[str]) -> str:
    """A Markdown table; `align` says `left` or `right` for each column."""
    rules = ["---:" if side == "right" else ":---" for side in align]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rules, *cells])


def _rows(frame: pd.DataFrame, columns: list[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(frame[column].tolist() for column in columns), strict=True))


def cell(column: str, value: Any) -> str:
    """One value for people: rounded, empty when absent, long digests and details cut."""
    if isinstance(value, float):
        return "" if math.isnan(value) else number(value)
    text = " ".join(str(value).split())
    if column == "solution":
        text = text[:12]
    return escape(text if len(text) <= DETAIL_LENGTH else text[:DETAIL_LENGTH] + "…")


def number(value: float) -> str:
    """Three decimals, or three digits where that would lose more."""
    if value and abs(value) < 0.1:
        return f"{value:.3g}"
    return f"{value:.3f}".rstrip("0").rstrip(".")


def escape(text: str) -> str:
    """Text that neither Markdown tables nor a browser take for markup."""
    return "".join(f"&#{ord(mark)};" if mark in "|*`[]\\" else mark for mark in html.escape(text, quote=False))

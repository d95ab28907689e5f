"""Rows of CSV files that other stages of the pipeline wrote, as records."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from hone.errors import RecordError
from hone.records import Record

R = TypeVar("R", bound=Record)


def read_csv_records(path: Path, kind: type[R], what: str) -> list[R]:
    """The rows of a file, where an empty cell stands for an absent field; `what` a row should be.

    Raises RecordError naming file, line and field.
    """
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise RecordError("no such file", where=str(path)) from None
    return [_parsed(row, kind, what, f"{path}:{line}") for line, row in enumerate(reader, start=2)]


def _parsed(row: dict[str, Any], kind: type[R], what: str, where: str) -> R:
    try:
        return kind.model_validate({name: value for name, value in row.items() if name and value})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise RecordError(f"not {what}: {first['loc'][0]}: {first['msg']}", where=where) from None

"""What a row of a table is: a frozen record whose field docstrings are the meanings of its columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import model_validator

from hone.analysis.provenance import joined
from hone.records import Record

Kind = Literal["text", "int", "float", "bool"]
KINDS: dict[Any, Kind] = {str: "text", int: "int", float: "float", bool: "bool"}
EMPTY = math.nan
"""A number that was not measured, or that nobody published: an empty cell."""


@dataclass(frozen=True)
class Column:
    """Type and meaning of a column."""

    kind: Kind
    meaning: str


class TableRow(Record):
    """Base of all rows: which config, code, machine, protocol and PyTorch stand behind one.

    The columns of this class end every table.
    """

    config_digest: str = ""
    """First digits of the digest of the whole config."""
    commit: str = ""
    """Commit of Hone that made the table."""
    device: str = ""
    """Model name of the CPU or GPU that gave the verdicts or trained."""
    driver: str = ""
    """Its driver."""
    protocol: str = ""
    """Name and first digits of the digest of the judging protocol, or of the training."""
    torch: str = ""
    """Version of PyTorch that gave the verdicts or trained."""

    @model_validator(mode="before")
    @classmethod
    def _none_is_empty(cls, values: Any) -> Any:
        """What is None is left out, so that the cell has the field's default."""
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def columns(cls) -> dict[str, Column]:
        """Name -> type and meaning, in the order of the file: the table's own columns, then the provenance."""
        fields = cls.model_fields
        names = [*(name for name in fields if name not in PROVENANCE), *PROVENANCE]
        return {name: Column(KINDS[fields[name].annotation], _line(fields[name].description)) for name in names}

    @classmethod
    def pick(cls, values: Mapping[Any, Any], **given: Any) -> Self:
        """Of `values` those that the table has a column for, such as of a wider frame; `given` goes before them."""
        return cls(**{name: values[name] for name in cls.model_fields if name in values} | given)


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


PROVENANCE = tuple(TableRow.model_fields)
"""Columns that end every table."""


def behind(rows: Sequence[TableRow], *more: str) -> dict[str, str]:
    """What stands behind a row that sums up others: all that stands behind these, joined by a semicolon.

    `more`: columns beside those that end every table.
    """
    names = (*PROVENANCE, *more)
    return {name: joined(part for row in rows for part in getattr(row, name).split("; ")) for name in names}

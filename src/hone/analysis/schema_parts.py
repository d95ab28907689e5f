"""What a table and a column are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "int", "float", "bool"]
PROVENANCE = ("config_digest", "commit", "device", "driver", "protocol", "torch")
"""Columns that end every table."""


@dataclass(frozen=True)
class Column:
    """Type and meaning of a column."""

    kind: Kind
    meaning: str


@dataclass(frozen=True)
class Table:
    """Title and columns of a table; the leading columns are those of the design, the rest add to them."""

    title: str
    leading: tuple[str, ...]
    further: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in the order of the file."""
        return (*self.leading, *self.further, *PROVENANCE)

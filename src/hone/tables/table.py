"""What a table is: a row record, and functions from a run to rows and from rows to pictures and sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from hone.tables.row import Column, TableRow

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

    from hone.tables.run import Run

Category = Literal["KernelBench", "Astra", "SALIENT", "Kernels in training", "Judge", "Cost"]
"""Where the report shows a table and its figures."""
R = TypeVar("R", bound=TableRow)


@dataclass(frozen=True)
class Figure:
    """A picture of one table."""

    name: str
    title: str
    draw: Callable[[pd.DataFrame], Drawn]
    """From the table as it stands in the CSV file, with at least one row; may raise plotting.NothingToShow."""
    caption: str = ""
    """What it shows, in sentences; empty where the table's caption says it."""


@dataclass(frozen=True, kw_only=True)
class Table(Generic[R]):
    """A table as files: `<name>.csv` has all columns of `row`, the page beside it those that are `shown`."""

    name: str
    title: str
    caption: str
    """What it shows, in sentences of Markdown."""
    row: type[R]
    shown: Mapping[str, str]
    """Column of the page, five to eight of them -> its heading."""
    layout: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    """Table as it stands in the CSV file -> the page's own rows and columns; None: rows as they are."""

    @cached_property
    def columns(self) -> dict[str, Column]:
        """Name -> type and meaning, in the order of the file."""
        return self.row.columns()


@dataclass(frozen=True, kw_only=True)
class RunTable(Table[R]):
    """A table of a run, which its summary and report show."""

    category: Category
    rows: Callable[[Run], Sequence[R]]
    finding: Callable[[Sequence[R]], str]
    """What at least one row comes to, in a sentence or two; empty where they say nothing together."""
    figures: tuple[Figure, ...] = ()

"""A progress bar on stderr, for people only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    """Called after each finished item."""

    def __call__(self) -> None:
        """One more item is done."""


@contextmanager
def progress_bar(title: str, total: int, *, wanted: bool) -> Iterator[Advance]:
    """Show `total` items being done; does nothing when not wanted or when stderr is not a terminal."""
    if not wanted or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)

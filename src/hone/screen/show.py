"""Screenings for people: one table of counts, one of files; and as CSV."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from hone.screen.screening import Screening

SHOWN_FILES = 50
NOTES: dict[str, Callable[[Screening], bool]] = {
    "cannot be parsed": lambda item: bool(item.parse_error),
    "empty, or the word None": lambda item: item.stands_for == "no_text",
    "the reference's own text": lambda item: item.stands_for == "reference",
    "no class ModelNew": lambda item: _is_python(item) and not item.has_model,
    "constructor does not fit": lambda item: item.constructor_fits is False,
    "forward does not fit": lambda item: item.forward_fits is False,
    "no kernel of its own": lambda item: _is_python(item) and not item.kinds,
    "cannot be built": lambda item: bool(item.unbuildable),
    "hides a failed build": lambda item: item.build_failure_is_hidden,
    "builds in forward alone": lambda item: item.build_places == ("forward",),
    "kernels that nothing reaches": lambda item: bool(item.unreached),
    "default stream alone": lambda item: item.default_stream_only,
    "stream of its own": lambda item: item.own_stream,
    "CUDA graph of its own": lambda item: item.own_graph,
    "returns kept memory": lambda item: item.returns_kept_memory,
    "waits in forward": lambda item: item.synchronises,
    "waits in C++": lambda item: item.synchronises_in_cpp,
    "autocast": lambda item: "autocast" in item.switches,
    "16 bits": lambda item: "half" in item.switches,
    "TF32": lambda item: "tf32" in item.switches,
    "cuDNN's search": lambda item: "cudnn_benchmark" in item.switches,
    "legacy constructors": lambda item: item.legacy_constructors > 0,
}
"""What is counted and shown, in the order of the checks."""


def notes(item: Screening) -> list[str]:
    """What the checks say of one source."""
    return [note for note, holds in NOTES.items() if holds(item)]


def show(screenings: Sequence[Screening], seconds: float, console: Console) -> None:
    """Print counts, and a line for each source where there are 50 or fewer."""
    console.print(counts_table(screenings, seconds))
    if len(screenings) <= SHOWN_FILES:
        console.print(files_table(screenings))


def counts_table(screenings: Sequence[Screening], seconds: float) -> Table:
    """How many sources each check, kind and package concerns, out of all and out of the distinct ones."""
    table = _table(
        f"{len(screenings)} source{'s' if len(screenings) != 1 else ''} screened in {seconds:.1f} s",
        "what",
        "sources",
        "distinct",
    )
    distinct = list({item.sha256: item for item in screenings}.values())
    every, single = Counter(_labels(screenings)), Counter(_labels(distinct))
    table.add_row("sources", str(len(screenings)), str(len(distinct)))
    order = [*NOTES, *sorted(label for label in every if label not in NOTES)]
    for label in order:
        if every[label]:
            table.add_row(label, str(every[label]), str(single[label]))
    return table


def files_table(screenings: Sequence[Screening]) -> Table:
    """A row for each source: kinds of kernel, packages, and what the checks say."""
    table = _table("", "source", "kernels", "packages", "notes")
    for item in screenings:
        said = [item.parse_error or item.unbuildable, *notes(item)]
        table.add_row(item.name, ", ".join(item.kinds), ", ".join(item.packages), "; ".join(filter(None, said)))
    return table


def as_csv(screenings: Sequence[Screening]) -> str:
    """A column a field; several values of a field stand with `; ` between them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Screening.model_fields)
    writer.writerows([_cell(value) for value in item.model_dump().values()] for item in screenings)
    return text.getvalue()


def _labels(screenings: Sequence[Screening]) -> Iterator[str]:
    for item in screenings:
        yield from notes(item)
        yield from (f"kernels: {kind}" for kind in item.kinds)
        yield from (f"package: {package}" for package in item.packages)


def _is_python(item: Screening) -> bool:
    """Whether it is a Python module that could be read."""
    return item.stands_for != "no_text" and not item.parse_error and not {*item.kinds} & {"cuda", "cpp"}


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title or None, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, column in enumerate(columns):
        table.add_column(
            column, justify="right" if column in ("sources", "distinct") and index else "left", overflow="fold"
        )
    return table


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "; ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)

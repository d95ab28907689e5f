"""The status as one screen of text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from hone.config.settings import Settings
from hone.file_map import FileMap
from hone.llm.ledger import Ledger
from hone.status.estimate import Estimate, estimate
from hone.status.progress import Work, progress
from hone.status.rates import Rates
from hone.status.reading import Reader

NOTE = (
    "at most: turns may stop early, and what ledger or store have is not paid again. A job's builds and verdicts count "
    "when it ends."
)
STALE = "A changed config, prompt or module makes finished work stale: `snakemake -n` says which."


def show(files: FileMap, name: str, console: Console | None = None) -> None:
    """Print what is done, pending and needed; `name` is the config's. Raises RecordError, ProviderError."""
    settings, reader = files.settings, Reader()
    rates = Rates(files, reader)
    rows = [(work, estimate(work, settings, rates)) for work in progress(files, reader)]
    # A file or a pipe has no width of its own.
    console = console or Console(width=None if sys.stdout.isatty() else 140)
    console.print(status_table(name, settings, rows))
    for line in (total_line(settings, rows), price_line(rows), kept_line(settings), NOTE, STALE):
        if line:
            console.print(line, highlight=False)


Rows = Sequence[tuple[Work, Estimate]]


def status_table(name: str, settings: Settings, rows: Rows) -> Table:
    """A row for each kind of work of each section; calls by model."""
    table = Table(title=f"Campaign of {name}", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for header in ("section", "work"):
        table.add_column(header, overflow="fold")
    for header in ("done", "pending"):
        table.add_column(header, justify="right")
    table.add_column("the pending part takes")
    table.add_column("measured", overflow="fold")
    section = ""
    for work, found in rows:
        shown = work.section if work.section != section else ""
        section = work.section
        table.add_row(
            shown, label(work, settings), done(work), pending(work), taken(work, found), "; ".join(found.basis)
        )
    return table


def label(work: Work, settings: Settings) -> str:
    """What is done; a model by the name that tables of the paper use, else by the end of its own."""
    if not work.model:
        return work.kind
    short = work.model if work.model.startswith("recorded/") else work.model.rpartition("/")[2]
    return f"calls {settings.analysis.model_names.get(work.model, short)}"


def done(work: Work) -> str:
    """Number of finished items, and how many of them say nothing."""
    return f"{work.done:,}" + (f" ({work.unresolved:,} without a verdict)" if work.unresolved else "")


def pending(work: Work) -> str:
    """Number of pending items; `at most` where results that are not there yet decide."""
    number = work.pending.total()
    parts = [f"{'at most ' if work.at_most and number else ''}{number:,}"] if number or not work.unsized else []
    if work.unsized:
        parts.append(f"those of {work.unsized:,} kernels")
    return " + ".join(parts)


def taken(work: Work, found: Estimate) -> str:
    """Tokens, dollars and hours, and for how many items they are unknown."""
    if not work.pending.total() and not work.unsized:
        return ""
    if found.free:
        return "nothing is paid"
    if found.output_bound_usd:
        return f"unknown; output at most ${found.output_bound_usd:,.2f}"
    parts = _amounts(found)
    if found.unknown:
        parts.append(f"unknown for {found.unknown:,}" if parts else "unknown")
    amount = " + ".join(parts)
    return f"at most {amount}" if work.at_most and _amounts(found) else amount


def total_line(settings: Settings, rows: Rows) -> str:
    """Everything that is pending, together, and what is missing from the sum."""
    if not any(work.pending.total() or work.unsized for work, _ in rows):
        return "Nothing is pending."
    total = Estimate()
    for _, found in rows:
        total.add(found)
    amounts = ", ".join(_amounts(total))
    at_most = any(work.at_most for work, found in rows if _amounts(found))
    unknown: dict[str, list[str]] = {}
    for work, found in rows:
        if found.unknown:
            unknown.setdefault(work.section, []).append(label(work, settings))
    missing = "; ".join(f"{section}: {', '.join(labels)}" for section, labels in unknown.items())
    parts = [f"{'at most ' if at_most else ''}{amounts}"] if amounts else []
    parts += [f"unknown are {missing}"] if missing else []
    return f"All that is pending: {'; '.join(parts) or 'nothing is paid'}."


def kept_line(settings: Settings) -> str:
    """What outlives results/."""
    answers = Ledger(Path(settings.paths.ledger)).count()
    store = Path(settings.paths.store)
    builds = sum(1 for _ in store.glob("builds/??/[!.]*"))
    traces = sum(1 for _ in store.glob("traces/??/[!.]*.json"))
    kept = f"{answers:,} answers in {settings.paths.ledger}, {builds:,} builds and {traces:,} verdicts in {store}"
    return f"Kept for any run: {kept}."


def price_line(rows: Rows) -> str:
    """Where the prices are from."""
    sources = sorted({found.price_source for _, found in rows if found.price_source})
    return f"Prices of input and output: {'; '.join(sources)}." if sources else ""


def _amounts(found: Estimate) -> list[str]:
    parts = []
    if found.input_tokens or found.output_tokens:
        parts.append(f"{_short(found.input_tokens)} + {_short(found.output_tokens)} tokens, ${found.usd:,.2f}")
    if found.gpu_s:
        parts.append(f"{_hours(found.gpu_s)} GPU h")
    if found.cpu_s:
        parts.append(f"{_hours(found.cpu_s)} CPU h")
    return parts


def _short(number: float) -> str:
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{suffix}"
    return f"{number:.0f}"


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours:,.1f}" if hours >= 10 else f"{hours:.2g}"

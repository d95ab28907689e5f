"""Verdicts that several machines gave, one after the other, as the tables of one run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hone.analysis.archives import UNRESOLVED
from hone.analysis.plotting import NothingToShow, save
from hone.config.settings import Analysis
from hone.core.errors import RecordError
from hone.core.files import write_text
from hone.tables import (
    judge_agreement,
    judge_agreement_summary,
    judge_exploits,
    judge_gold,
    judge_idioms,
    published_claims,
    published_claims_summary,
    published_fast_p,
)
from hone.tables.files import read_table, to_frame, write_csv
from hone.tables.page import markdown
from hone.tables.row import TableRow
from hone.tables.stages import draw
from hone.tables.table import RunTable

R = TypeVar("R", bound=TableRow)
FIGURE = "published_speedups"
OWN: tuple[tuple[RunTable[Any], Callable[[Any], Hashable]], ...] = (
    (judge_exploits.TABLE, lambda row: (row.experiment, row.exploit)),
    (judge_gold.TABLE, lambda row: (row.experiment, row.definition, row.baseline)),
    (judge_idioms.TABLE, lambda row: (row.experiment, row.idiom)),
)
"""Tables of the judge's own tests, and what a row is about."""


def unite(folders: Sequence[Path], output: Path) -> dict[str, int]:
    """Write the tables that the folders have; returns name -> number of rows.

    `folders`: what `hone tables` or `unite` wrote, oldest first. A verdict takes the place of an older one of the same
    thing; a row without verdict takes no place, and one that nobody has judged is left out of the judge's own tests.
    Raises RecordError for tables of other columns, and where there is no row at all.
    """
    tables = [judge_agreement.TABLE, *(table for table, _ in OWN)]
    for folder in folders:
        if not any(_with([folder], table) for table in tables):
            remedy = "name folders that `hone tables` wrote"
            raise RecordError(
                f"no such table: {', '.join(table.name for table in tables)}", where=str(folder), remedy=remedy
            )
    written = _unite_own(folders, output) | _unite_published(_with(folders, judge_agreement.TABLE), output)
    if not written:
        raise RecordError("no row", where=", ".join(map(str, folders)), remedy="write them with `hone tables` first")
    return written


def _unite_own(folders: Sequence[Path], output: Path) -> dict[str, int]:
    written: dict[str, int] = {}
    for table, place in OWN:
        rows = [row for row in _united(_with(folders, table), table, place, _status) if _status(row) not in UNRESOLVED]
        if rows:
            _write(table, rows, output)
            written[table.name] = len(rows)
    return written


def _with(folders: Sequence[Path], table: RunTable[Any]) -> list[Path]:
    return [folder for folder in folders if (folder / f"{table.name}.csv").is_file()]


def _unite_published(folders: Sequence[Path], output: Path) -> dict[str, int]:
    """The two tables of published answers, their summaries and the figure of claims.

    What the archive's harness said is left out, and so are lines of the answers in messages: the tables can be
    published where the answers can not.
    """
    answers = _united(folders, judge_agreement.TABLE, _answer, lambda row: row.status_hone or row.status_kernelbench)
    claims = _united(folders, published_claims.TABLE, lambda row: (_answer(row), row.baseline), _status)
    answers = sorted((_without_text(row) for row in answers), key=judge_agreement.order)
    claims = [_without_text(row) for row in claims]
    if not answers:
        return {}
    written: dict[str, int] = {}
    for table, rows in (
        (judge_agreement.TABLE, answers),
        (judge_agreement_summary.TABLE, judge_agreement_summary.summed(answers)),
        (published_fast_p.TABLE, published_fast_p.counted(answers, _printed(folders), Analysis())),
        (published_claims.TABLE, claims),
        (published_claims_summary.TABLE, published_claims_summary.summed(claims)),
    ):
        _write(table, rows, output)
        written[table.name] = len(rows)
    _draw(output)
    return written


def _printed(folders: Sequence[Path]) -> published_fast_p.Published:
    """The papers' numbers, which depend on each run's config, as its own table has them."""
    known = {
        (row["experiment"], row["model"], row["level"], row["p"]): row
        for folder in _with(folders, published_fast_p.TABLE)
        for row in read_table(published_fast_p.TABLE, folder).to_dict("records")
    }

    def find(experiment: str, model: str, level: str, p: float) -> dict[str, float | str]:
        row = known.get((experiment, model, level, p), {})
        return {name: row[name] for name in ("published", "published_source") if name in row}

    return find


def _united(
    folders: Sequence[Path], table: RunTable[R], place: Callable[[R], Hashable], verdict: Callable[[R], str]
) -> list[R]:
    """The newest row with a verdict of each place, or its newest row."""
    found: dict[Hashable, R] = {}
    for folder in folders:
        for values in read_table(table, folder).to_dict("records"):
            row = table.row(**{str(name): value for name, value in values.items()})
            if place(row) not in found or verdict(row) not in UNRESOLVED:
                found[place(row)] = row
    return list(found.values())


def _answer(row: judge_agreement.Row | published_claims.Row) -> Hashable:
    return row.archive, row.model, row.definition, row.sample


def _status(row: Any) -> str:
    return str(row.status)


def _without_text(row: R) -> R:
    """Without what others wrote. A message's first line quotes nothing; in a traceback that is the last one."""
    lines = str(getattr(row, "detail", "")).strip().splitlines() or [""]
    traceback = any(line.lstrip().startswith("File ") for line in lines)
    changed = {"detail": lines[-1 if traceback else 0]}
    return row.model_copy(update=changed | ({"archive_error": ""} if hasattr(row, "archive_error") else {}))


def _write(table: RunTable[Any], rows: Sequence[TableRow], folder: Path) -> None:
    frame = to_frame(table, rows)
    write_csv(frame, folder / f"{table.name}.csv")
    write_text(folder / f"{table.name}.md", markdown(table, frame, table.finding(rows)))


def _draw(folder: Path) -> None:
    frame = read_table(published_claims.TABLE, folder)
    try:
        save(draw(FIGURE, frame), folder / f"{FIGURE}.svg")
    except NothingToShow:
        (folder / f"{FIGURE}.svg").unlink(missing_ok=True)

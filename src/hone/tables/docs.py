"""The page `docs/tables.md`: all tables and columns, generated from the modules; a test fails when it drifts."""

from __future__ import annotations

import html
from typing import Any

from hone.tables import judge_repeatability
from hone.tables.registry import TABLES
from hone.tables.row import PROVENANCE, TableRow
from hone.tables.table import Table

HEAD = """# Tables

What each CSV file of `results/<run>/tables` holds. The page beside it, `<name>.md`, shows the columns with a mark (✓).
A table is a module of `src/hone/tables`: rows, caption, page, figures and finding. `make generated` writes this page.
"""


def tables_page() -> str:
    """Markdown."""
    tables: list[Table[Any]] = [*TABLES.values(), judge_repeatability.TABLE]
    lines = [HEAD, *(f"- [{table.name}](#{table.name}): {html.escape(table.title, quote=False)}" for table in tables)]
    for table in tables:
        own = [name for name in table.columns if name not in PROVENANCE]
        lines += ["", f"## {table.name}", "", table.caption, "", *_rows(table, own)]
    shared = [f"- `{name}`: {TableRow.columns()[name].meaning}" for name in PROVENANCE]
    return "\n".join(
        [*lines, "", "## Where a row comes from", "", "Every table ends with these columns.", "", *shared, ""]
    )


def _rows(table: Table[Any], names: list[str]) -> list[str]:
    lines = ["| column | type | page | meaning |", "| --- | --- | --- | --- |"]
    for name in names:
        column = table.columns[name]
        meaning = html.escape(column.meaning, quote=False).replace("|", "\\|")
        lines.append(f"| `{name}` | {column.kind} | {'✓' if name in table.shown else ''} | {meaning} |")
    return lines

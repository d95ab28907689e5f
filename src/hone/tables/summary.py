"""The page that a reader opens first: what came out, in sentences, then every table and figure that has rows."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hone.core.files import write_text
from hone.tables.files import read_table
from hone.tables.registry import FIGURES, TABLES, caption_of
from hone.tables.table import RunTable


def write_summary(
    tables_dir: Path, figures_dir: Path, path: Path, trajectories: Sequence[Path] = (), papers: Path | None = None
) -> None:
    """A Markdown page with findings, tables and figures, and links relative to itself.

    Tables without rows and figures that were not drawn are left out.

    `trajectories` are the folders of trajectory pages, each with an `index.md`; `papers` is the index of the paper's
    tables, which may not be there.
    """
    found = {name: read_table(table, tables_dir) for name, table in TABLES.items()}
    filled = {name: frame for name, frame in found.items() if len(frame)}
    lines = ["# Results", "", *_findings(filled, tables_dir, path)]
    if papers is not None and papers.is_file():
        lines += [
            f"[The paper's tables and figures]({_link(papers, path)}) have these numbers beside the printed ones.",
            "",
        ]
    lines += _tables(filled, tables_dir, path)
    lines += _figures(figures_dir, path)
    if trajectories:
        lines += ["## Trajectories", "", "Every version of every kernel: what changed, why, and what it gave.", ""]
        lines += [f"- [{folder.name}]({_link(folder / 'index.md', path)})" for folder in trajectories] + [""]
    write_text(path, "\n".join(lines))


def finding_of(table: RunTable[Any], frame: pd.DataFrame) -> str:
    """What the rows of a CSV file come to, in a sentence or two; empty without rows."""
    rows = [table.row.pick(cells) for cells in frame.to_dict("records")]
    return table.finding(rows) if rows else ""


def _findings(filled: Mapping[str, pd.DataFrame], folder: Path, page: Path) -> list[str]:
    said = {name: finding_of(TABLES[name], frame) for name, frame in filled.items()}
    lines = [f"- {text} ([table]({_link(folder / f'{name}.md', page)}))" for name, text in said.items() if text]
    if any(frame["model"].str.startswith("recorded/").any() for frame in filled.values() if "model" in frame):
        lines += ["", "Answers of `recorded/…` are committed transcripts: what they reach is no model's result."]
    return [*lines, ""] if lines else ["Nothing was measured yet.", ""]


def _tables(filled: Mapping[str, pd.DataFrame], folder: Path, page: Path) -> list[str]:
    if not filled:
        return []
    lines = ["## Tables", "", "| table | rows | holds |", "|:---|---:|:---|"]
    for name, frame in filled.items():
        links = f"[{name}]({_link(folder / f'{name}.md', page)}) ([CSV]({_link(folder / f'{name}.csv', page)}))"
        lines.append(f"| {links} | {len(frame)} | {html.escape(TABLES[name].title)} |")
    return [*lines, ""]


def _figures(folder: Path, page: Path) -> list[str]:
    lines = []
    for name, (_, figure) in FIGURES.items():
        if (folder / f"{name}.svg").is_file():
            title = html.escape(figure.title)
            lines += [f"### {title}", "", f"![{title}]({_link(folder / f'{name}.svg', page)})", ""]
            lines += [f"{caption_of(name)} [PDF]({_link(folder / f'{name}.pdf', page)})", ""]
    return ["## Figures", "", *lines] if lines else []


def _link(target: Path, page: Path) -> str:
    relative = Path(os.path.relpath(target, page.parent)).as_posix()
    return relative.replace(" ", "%20").replace("(", "%28").replace(")", "%29")

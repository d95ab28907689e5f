"""The two steps of the pipeline: records -> tables, tables -> figures; and the page that lists what they made."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hone.analysis import accounting, exploits, tables
from hone.analysis.figures import FIGURES, draw
from hone.analysis.frames import build_frame
from hone.analysis.paper_numbers import FOLDER, Matcher, PaperNumbers, read_published
from hone.analysis.plotting import save
from hone.analysis.provenance import Provenance
from hone.analysis.render import read_table, write_table
from hone.analysis.schema import COLUMNS, TABLES
from hone.config import Settings
from hone.files import write_text
from hone.records import Answer, Build, Candidate, Definition, Solution, Trace, UnsupportedProblem

TABLE_NAMES = tuple(name for name in TABLES if name != "judge_repeatability")
"""The tables of a run; that of two runs is made by `hone repeatability`."""
FIGURE_NAMES = tuple(FIGURES)


def make_tables(
    settings: Settings,
    definitions: Sequence[Definition],
    candidates: Sequence[Candidate],
    traces: Sequence[Trace],
    answers: Sequence[Answer],
    provenance: Provenance,
    out_dir: Path,
    *,
    solutions: Sequence[Solution] = (),
    builds: Sequence[Build] = (),
    unsupported: Sequence[UnsupportedProblem] = (),
    published_dir: Path = FOLDER,
) -> list[Path]:
    """Write all tables of TABLE_NAMES as `<name>.csv` and `<name>.md`; returns the paths.

    `solutions` are those of the `files` experiments, whose comments say what is expected of them.
    Raises ConfigError for an unknown `published_as`, RecordError for candidates that the config does not ask for.
    """
    numbers = PaperNumbers(read_published(published_dir))
    numbers.check(settings)
    context = tables.Context(settings, provenance, Matcher(settings, numbers))
    frame = build_frame(settings, definitions, candidates, traces, answers, unsupported)
    rows: dict[str, list[dict[str, Any]]] = {
        "kernelbench_fast_p": tables.fast_p_rows(frame, context),
        "kernelbench_errors": tables.error_rows(frame, context),
        "kernelbench_speedups": tables.speedup_rows(frame, context),
        "kernelbench_sampling": tables.sampling_rows(frame, context),
        "kernelbench_refinement": tables.refinement_rows(frame, context),
        "judge_gold": accounting.gold_rows(frame, context),
        "judge_exploits": exploits.exploit_rows(frame, solutions, context),
        "judge_cost": accounting.judge_cost_rows(traces, builds, provenance),
        "llm_cost": accounting.llm_cost_rows(answers, provenance),
    }
    return [path for name in TABLE_NAMES for path in write_table(name, rows[name], out_dir)]


def make_figures(tables_dir: Path, figures_dir: Path) -> list[Path]:
    """Draw all figures of FIGURE_NAMES from the CSV files alone; returns the paths."""
    paths = []
    for name in FIGURE_NAMES:
        path = figures_dir / f"{name}.svg"
        save(draw(name, read_table(name, tables_dir)), path)
        paths.append(path)
    return paths


def write_summary(tables_dir: Path, figures_dir: Path, path: Path) -> None:
    """A Markdown page that lists tables and figures, with links relative to itself and every column's meaning."""
    lines = ["# Results", "", "## Tables", "", "| table | rows | holds |", "|:---|---:|:---|"]
    for name in TABLE_NAMES:
        rows = len(read_table(name, tables_dir))
        links = f"[{name}]({_link(tables_dir / f'{name}.md', path)}) ([CSV]({_link(tables_dir / f'{name}.csv', path)}))"
        lines.append(f"| {links} | {rows} | {html.escape(TABLES[name].title)} |")
    lines += ["", "## Figures", ""]
    for name in FIGURE_NAMES:
        title = html.escape(FIGURES[name][0])
        lines += [f"### {title}", "", f"![{title}]({_link(figures_dir / f'{name}.svg', path)})", ""]
    lines += ["## Columns", "", "| column | type | meaning |", "|:---|:---|:---|"]
    lines += [
        f"| {name} | {column.kind} | {html.escape(column.meaning, quote=False)} |" for name, column in COLUMNS.items()
    ]
    write_text(path, "\n".join(lines) + "\n")


def _link(target: Path, page: Path) -> str:
    relative = Path(os.path.relpath(target, page.parent)).as_posix()
    return relative.replace(" ", "%20").replace("(", "%28").replace(")", "%29")

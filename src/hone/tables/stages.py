"""The steps of the pipeline that end it: records -> tables, tables -> figures."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hone.analysis.bandwidth import read_copy_bandwidths
from hone.analysis.context import Context
from hone.analysis.paper_numbers import FOLDER, Matcher, PaperNumbers, read_published
from hone.analysis.provenance import Provenance
from hone.analysis.run import RunRecords
from hone.analysis.salient_numbers import read_training_numbers
from hone.config.settings import Settings
from hone.core.files import write_text
from hone.machine.hardware import GPUS
from hone.tables.files import read_table, to_frame, write_csv
from hone.tables.page import markdown, web_page
from hone.tables.registry import FIGURES, TABLES
from hone.tables.run import Run

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn


def run_of(
    settings: Settings,
    records: RunRecords,
    provenance: Provenance,
    *,
    published_dir: Path = FOLDER,
    gpus: Path = GPUS,
) -> Run:
    """A run with what papers printed and GPUs measured; raises ConfigError for an unknown `published_as`."""
    numbers = PaperNumbers(read_published(published_dir))
    numbers.check(settings)
    kernels = {item.name: tuple(item.kernels) for item in records.definitions}
    context = Context(settings, provenance, Matcher(settings, numbers), kernels)
    return Run(context, records, read_copy_bandwidths(gpus), read_training_numbers(published_dir))


def make_tables(run: Run, folder: Path, pages_dir: Path) -> None:
    """Write each table of the registry as `<name>.csv` and `<name>.md`, and with rows as a page `<name>.html`.

    Raises RecordError for candidates that the config does not ask for.
    """
    pages_dir.mkdir(parents=True, exist_ok=True)
    for name, table in TABLES.items():
        rows = table.rows(run)
        frame = to_frame(table, rows)
        said = table.finding(rows) if rows else ""
        write_csv(frame, folder / f"{name}.csv")
        write_text(folder / f"{name}.md", markdown(table, frame, said))
        if rows:
            write_text(pages_dir / f"{name}.html", web_page(table, frame, said))


def make_figures(tables_dir: Path, figures_dir: Path) -> list[Path]:
    """Draw figures from the CSV files alone, with a PDF beside each; returns the SVG files.

    Those of tables without rows, and those in which there would be nothing to see, are left out.
    """
    from hone.analysis.plotting import NothingToShow, save

    figures_dir.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, (table, _) in FIGURES.items():
        frame, path = read_table(table, tables_dir), figures_dir / f"{name}.svg"
        with suppress(NothingToShow):
            if len(frame):
                save(draw(name, frame), path)
                paths.append(path)
    return paths


def draw(name: str, table: pd.DataFrame) -> Drawn:
    """A figure of its table, which has at least one row.

    Raises KeyError for an unknown name, NothingToShow where its rows have nothing that can be drawn.
    """
    from hone.analysis.plotting import titled

    figure = FIGURES[name][1]
    return titled(figure.title, lambda: figure.draw(table))

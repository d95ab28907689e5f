"""Tables by their name, as tests look at them: rows as dicts, frames, CSV files."""

import pandas as pd

from hone.tables import files
from hone.tables.registry import FIGURES, TABLES
from hone.tables.run import Run


def rows_of(name: str, run: Run) -> list[dict]:
    """Rows of a run, as dicts."""
    return [row.model_dump() for row in TABLES[name].rows(run)]


def frame_of(name: str, run: Run) -> pd.DataFrame:
    """Rows of a run, as the CSV file has them."""
    return files.to_frame(TABLES[name], TABLES[name].rows(run))


def read_table(name: str, folder) -> pd.DataFrame:
    """A table out of a folder."""
    return files.read_table(TABLES[name], folder)


def table_of(figure: str) -> str:
    """The table that a figure is drawn from."""
    return FIGURES[figure][0].name

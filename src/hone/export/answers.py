"""All answers as one table, for a notebook or a database."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from hone.analysis.frames import SPEED_COLUMNS
from hone.core.errors import ConfigError
from hone.core.files import write_text
from hone.site.entries import FLAGS, NUMBERS, TEXTS, entries
from hone.site.run import SiteRun


def answers_frame(site: SiteRun) -> pd.DataFrame:
    """A row for each answer that the config asks for, in full precision.

    `id` names its page in the explorer. Columns of speed end in the baseline: `speedup_torch_eager`.
    """
    speeds = [f"{name}_{baseline}" for baseline in site.settings.baselines for name in SPEED_COLUMNS]
    columns = [*TEXTS, *NUMBERS, *FLAGS, *speeds, "winner"]
    empty = dict.fromkeys(TEXTS, "") | dict.fromkeys(FLAGS, False) | dict.fromkeys(("latency_ms", *speeds), math.nan)
    rows = [{**empty, **entry.cells, "id": entry.id, "winner": entry.winner} for entry in entries(site)]
    types = dict.fromkeys(TEXTS, "str") | dict.fromkeys(FLAGS, "bool") | dict.fromkeys(speeds, "float64")
    return pd.DataFrame(rows, columns=columns).astype({**types, "latency_ms": "float64", "winner": "bool"})


def write_answers(site: SiteRun, output: Path) -> int:
    """Write a `.csv` or a `.parquet` file; returns the number of rows. Raises ConfigError for another ending."""
    frame = answers_frame(site)
    if output.suffix == ".csv":
        write_text(output, frame.to_csv(index=False, lineterminator="\n"))
    elif output.suffix == ".parquet":
        _write_parquet(frame, output)
    else:
        raise ConfigError("the ending must be .csv or .parquet", where=str(output))
    return len(frame)


def _write_parquet(frame: pd.DataFrame, output: Path) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        frame.to_parquet(output, index=False, engine="pyarrow")
    except ImportError:
        raise ConfigError("Parquet needs pyarrow", where=str(output), remedy="pip install -e '.[export]'") from None

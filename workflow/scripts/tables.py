"""All tables, as CSV and Markdown."""

from pathlib import Path

from hone.config import load
from hone.pipeline import tables
from hone.stage import reported

with reported(snakemake.log, snakemake.output):
    records = {name: map(Path, snakemake.input[name]) for name in snakemake.params.records}
    tables(
        load({**snakemake.config, **snakemake.params.settings}),
        records,
        published=Path("resources/published"),
        folder=Path(snakemake.output.csv[0]).parent,
    )

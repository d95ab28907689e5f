"""All tables, as CSV and Markdown."""

from pathlib import Path

from hone.config import load
from hone.pipeline import tables
from hone.stage import reported

with reported(snakemake.log):
    tables(
        load({**snakemake.config, **snakemake.params.settings}),
        definitions=[Path(path) for path in snakemake.input.definitions],
        candidates=[Path(path) for path in snakemake.input.candidates],
        solutions=[Path(path) for path in snakemake.input.solutions],
        traces=[Path(path) for path in snakemake.input.traces],
        answers=[Path(path) for path in snakemake.input.answers],
        builds=[Path(path) for path in snakemake.input.builds],
        unsupported=[Path(path) for path in snakemake.input.unsupported],
        published=Path("resources/published"),
        folder=Path(snakemake.output.csv[0]).parent,
    )

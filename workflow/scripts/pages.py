"""The trajectory pages of one Astra experiment."""

from pathlib import Path

from hone.config import load
from hone.pipeline import pages
from hone.stage import reported

with reported(snakemake.log, snakemake.output):
    records = {name: map(Path, snakemake.input[name]) for name in snakemake.params.records}
    pages(
        load({**snakemake.config, **snakemake.params.settings}),
        snakemake.wildcards.experiment,
        records,
        Path(snakemake.output[0]),
    )

"""The trajectory pages of one Astra experiment."""

from pathlib import Path

from hone.analysis.pages import write_pages
from hone.analysis.run import read_run
from hone.config.settings import load
from hone.core.script import reported

with reported(snakemake.log, snakemake.output):
    records = {name: map(Path, snakemake.input[name]) for name in snakemake.params.records}
    write_pages(
        load({**snakemake.config, **snakemake.params.settings}),
        snakemake.wildcards.experiment,
        read_run(records),
        Path(snakemake.output[0]),
    )

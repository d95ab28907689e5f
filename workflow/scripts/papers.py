"""The paper's tables in its own shapes."""

from pathlib import Path

from hone.config.settings import load
from hone.core.script import reported
from hone.tables.paper.write import data_of, read_run, write_pages

with reported(snakemake.log, snakemake.output):
    settings = load({**snakemake.config, **snakemake.params.settings})
    tables = Path(snakemake.input.tables[0]).parent
    run = read_run(snakemake.params.run, settings, tables)
    write_pages(data_of([run]), Path(snakemake.output[0]))

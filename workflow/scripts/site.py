"""The explorer of a run."""

from pathlib import Path

from hone.config.settings import load
from hone.core.code import commit
from hone.core.script import reported
from hone.site.stages import make_site, read_site_run

with reported(snakemake.log, snakemake.output):
    records = {name: [Path(file) for file in snakemake.input[name]] for name in snakemake.params.records}
    settings = load({**snakemake.config, **snakemake.params.settings})
    site = read_site_run(settings, records, commit(), Path("resources/published"))
    tables, params = Path(snakemake.input.tables[0]).parent, snakemake.params
    papers = Path(snakemake.input.papers[0])
    make_site(site, tables, Path(snakemake.output[0]), params.run, params.configs, papers=papers)

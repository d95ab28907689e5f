"""All tables, as CSV and Markdown."""

from pathlib import Path

from hone.analysis.provenance import Provenance
from hone.analysis.run import read_run
from hone.config.settings import load
from hone.core.code import commit
from hone.core.script import reported
from hone.tables.stages import make_tables, run_of

with reported(snakemake.log, snakemake.output):
    records = {name: map(Path, snakemake.input[name]) for name in snakemake.params.records}
    settings = load({**snakemake.config, **snakemake.params.settings})
    run = run_of(
        settings, read_run(records), Provenance.of(settings, commit()), published_dir=Path("resources/published")
    )
    make_tables(run, Path(snakemake.output.csv[0]).parent, Path(snakemake.output.pages))

"""All tables, as CSV and Markdown."""

from pathlib import Path

from hone.analysis.provenance import Provenance
from hone.analysis.run import read_run
from hone.analysis.stage import make_tables
from hone.code import commit
from hone.config import load
from hone.script import reported

with reported(snakemake.log, snakemake.output):
    records = {name: map(Path, snakemake.input[name]) for name in snakemake.params.records}
    settings = load({**snakemake.config, **snakemake.params.settings})
    make_tables(
        settings,
        read_run(records),
        Provenance.of(settings, commit()),
        Path(snakemake.output.csv[0]).parent,
        published_dir=Path("resources/published"),
    )

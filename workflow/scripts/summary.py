"""One page that lists every table, figure and trajectory."""

from pathlib import Path

from hone.core.script import reported
from hone.tables.summary import write_summary

with reported(snakemake.log, snakemake.output):
    output = Path(snakemake.output[0])
    results = output.parent
    write_summary(results / "tables", results / "figures", output, [Path(folder) for folder in snakemake.input.pages])

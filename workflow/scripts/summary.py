"""One page that lists every table, figure and trajectory."""

from pathlib import Path

from hone.core.script import reported
from hone.tables.summary import write_summary

with reported(snakemake.log, snakemake.output):
    output = Path(snakemake.output[0])
    results = output.parent
    pages, index = [Path(folder) for folder in snakemake.input.pages], Path(snakemake.input.papers[0], "index.md")
    write_summary(results / "tables", results / "figures", output, pages, index)

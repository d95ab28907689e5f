"""All figures, from the tables alone."""

from pathlib import Path

from hone.core.script import reported
from hone.tables.stages import make_figures

with reported(snakemake.log, snakemake.output):
    make_figures(Path(snakemake.input[0]).parent, Path(snakemake.output[0]))

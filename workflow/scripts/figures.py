"""All figures, from the tables alone."""

from pathlib import Path

from hone.pipeline import figures
from hone.stage import reported

with reported(snakemake.log, snakemake.output):
    figures(Path(snakemake.input[0]).parent, Path(snakemake.output[0]).parent)

"""One page that lists every table and figure."""

from pathlib import Path

from hone.pipeline import summary
from hone.stage import reported

with reported(snakemake.log):
    summary(Path(snakemake.output[0]).parent, Path(snakemake.output[0]))

"""One page that lists every table, figure and trajectory."""

from pathlib import Path

from hone.pipeline import summary
from hone.stage import reported

with reported(snakemake.log, snakemake.output):
    output = Path(snakemake.output[0])
    summary(output.parent, output, [Path(folder) for folder in snakemake.input.pages])

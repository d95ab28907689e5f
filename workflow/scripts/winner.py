"""What is evaluated of a batch whose rounds are over: the existing kernels and the winners."""

from pathlib import Path

from hone.core.script import reported
from hone.methods.astra.stages import EarlierTurns
from hone.methods.astra.winners import write_winners

with reported(snakemake.log, snakemake.output):
    write_winners(
        EarlierTurns.of(snakemake.input),
        [Path(path) for path in snakemake.input.definitions],
        solutions=Path(snakemake.output.solutions),
        builds=Path(snakemake.output.builds),
    )

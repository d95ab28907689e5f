"""What is evaluated of a batch whose rounds are over: the existing kernels and the winners."""

from pathlib import Path

from hone.methods.astra.stages import EarlierTurns
from hone.methods.astra.winners import write_winners
from hone.script import reported

with reported(snakemake.log, snakemake.output):
    write_winners(
        EarlierTurns.of(snakemake.input),
        [Path(path) for path in snakemake.input.definitions],
        solutions=Path(snakemake.output.solutions),
        builds=Path(snakemake.output.builds),
    )

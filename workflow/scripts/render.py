"""First prompts of a batch."""

from pathlib import Path

from hone.config import Experiment
from hone.pipeline import render
from hone.records import Tolerance
from hone.stage import reported

with reported(snakemake.log):
    render(
        snakemake.wildcards.experiment,
        Experiment.model_validate(snakemake.params.experiment),
        [tuple(pair) for pair in snakemake.params.batch],
        Tolerance.model_validate(snakemake.params.tolerance),
        [Path(path) for path in snakemake.input.definitions],
        Path(snakemake.output[0]),
    )

"""Definitions of one level of a source."""

from pathlib import Path

from hone.pipeline import define_level
from hone.records import Tolerance
from hone.stage import reported

with reported(snakemake.log):
    define_level(
        Path(snakemake.input.problems),
        int(snakemake.wildcards.level),
        Tolerance.model_validate(snakemake.params.tolerance),
        baselines=snakemake.params.baselines,
        soundness=Path(snakemake.input.soundness),
        versions=Path(snakemake.input.versions),
        definitions=Path(snakemake.output.definitions),
        unsupported=Path(snakemake.output.unsupported),
    )

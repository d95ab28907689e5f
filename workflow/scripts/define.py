"""Definitions of one level of a source."""

from pathlib import Path

from hone.core.script import reported
from hone.records import Tolerance
from hone.sources.stages import define_level

with reported(snakemake.log, snakemake.output):
    define_level(
        Path(snakemake.input.problems),
        int(snakemake.wildcards.level),
        Tolerance.model_validate(snakemake.params.tolerance),
        kind=snakemake.params.kind,
        baselines=snakemake.params.baselines,
        soundness=Path(snakemake.input.soundness),
        versions=Path(snakemake.input.versions),
        definitions=Path(snakemake.output.definitions),
        workloads=Path(snakemake.output.workloads),
        unsupported=Path(snakemake.output.unsupported),
    )

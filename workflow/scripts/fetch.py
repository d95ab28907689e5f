"""Problem files of one source."""

from pathlib import Path

from hone.config.settings import parse_source
from hone.core.script import reported
from hone.sources.stages import fetch_problems

with reported(snakemake.log, snakemake.output):
    fetch_problems(snakemake.wildcards.source, parse_source(snakemake.params.source), Path(snakemake.output[0]))

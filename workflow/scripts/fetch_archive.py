"""Published answers of one archive."""

from pathlib import Path

from hone.config.settings import parse_archive
from hone.core.script import reported
from hone.sources.archives.stages import fetch_archive

with reported(snakemake.log, snakemake.output):
    fetch_archive(
        snakemake.wildcards.archive,
        parse_archive(snakemake.params.archive),
        answers=Path(snakemake.output.answers),
        skipped=Path(snakemake.output.skipped),
    )

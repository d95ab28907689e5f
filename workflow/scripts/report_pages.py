"""The pages of `snakemake --report`."""

from pathlib import Path

from hone.config.settings import load
from hone.core.script import reported
from hone.report.landing import write_landing
from hone.report.pages import write_report

with reported(snakemake.log, snakemake.output):
    summary, landing = Path(snakemake.input.summary[0]), Path(snakemake.output.landing)
    write_report(summary, [Path(folder) for folder in snakemake.input.trajectories], landing.parent)
    settings = load({**snakemake.config, **snakemake.params.settings})
    write_landing(settings, snakemake.params.configs, summary.read_text(encoding="utf-8"), landing)

"""Answers to a batch's prompts."""

from pathlib import Path

from hone.config.settings import load
from hone.core.script import reported
from hone.llm.stages import generate
from hone.records import Sampling

with reported(snakemake.log, snakemake.output):
    settings = load(snakemake.config)  # how models are asked changes no answer, so it is no param of the rule
    generate(
        Path(snakemake.input.prompts),
        snakemake.params.model,
        Sampling.model_validate(snakemake.params.sampling),
        llm=settings.llm,
        paths=settings.paths,
        batch_file=Path(snakemake.params.batch_file),
        output=Path(snakemake.output[0]),
    )

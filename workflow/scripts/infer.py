"""Accuracy of one trained model, by every way of inference that the config names."""

from pathlib import Path

from hone.core.script import reported
from hone.gnn.compiled import compiled_library
from hone.gnn.inference_stage import infer
from hone.gnn.job import TrainingJob

with reported(snakemake.log, snakemake.output):
    job = TrainingJob.model_validate(snakemake.params.job)
    infer(
        job,
        Path(snakemake.input.graph).parent,
        compiled_library(job, Path(snakemake.params.store)),
        Path(snakemake.input.checkpoint),
        output=Path(snakemake.output[0]),
    )

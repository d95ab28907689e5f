"""The device system's kernels on one graph, beside what the GPU can do."""

from pathlib import Path

from hone.core.script import reported
from hone.gnn.compiled import compiled_library
from hone.gnn.job import TrainingJob
from hone.gnn.training_stage import roofline

with reported(snakemake.log, snakemake.output):
    job = TrainingJob.model_validate(snakemake.params.job)
    library = compiled_library(job, Path(snakemake.params.store))
    roofline(job, Path(snakemake.input.graph).parent, library, output=Path(snakemake.output[0]))

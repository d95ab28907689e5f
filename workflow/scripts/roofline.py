"""The device system's kernels on one graph, beside what the GPU can do."""

from pathlib import Path

from hone.gnn.job import TrainingJob
from hone.gnn.stages import compiled_sampler, roofline
from hone.script import reported

with reported(snakemake.log, snakemake.output):
    job = TrainingJob.model_validate(snakemake.params.job)
    library = compiled_sampler(job, Path(snakemake.params.store))
    roofline(job, Path(snakemake.input.graph).parent, library, output=Path(snakemake.output[0]))

"""One model trained on one graph."""

from pathlib import Path

from hone.gnn.job import TrainingJob
from hone.gnn.stage import compiled_sampler, train
from hone.stage import reported

with reported(snakemake.log):
    job = TrainingJob.model_validate(snakemake.params.job)
    train(
        job,
        Path(snakemake.input.graph).parent,
        compiled_sampler(job, Path(snakemake.params.store)),
        output=Path(snakemake.output.run),
        checkpoint=Path(snakemake.output.checkpoint),
        log=Path(snakemake.log[0]),
    )

"""The share of operators in the preparation of one training's batches."""

from pathlib import Path

from hone.core.script import reported
from hone.gnn.job import TrainingJob
from hone.gnn.stages import compiled_sampler
from hone.selection.loop.operator_share import measure

with reported(snakemake.log, snakemake.output):
    job, store = TrainingJob.model_validate(snakemake.params.job), Path(snakemake.params.store)
    measure(
        job,
        Path(snakemake.input.graph).parent,
        compiled_sampler(job, store),
        [Path(snakemake.input.definitions)],
        store=store,
        output=Path(snakemake.output[0]),
    )

"""The share of operators in the preparation of one training's batches."""

from pathlib import Path

from hone.core.script import reported
from hone.gnn.compiled import compiled_library
from hone.gnn.job import TrainingJob
from hone.selection.loop.operator_share import measure

with reported(snakemake.log, snakemake.output):
    job, store = TrainingJob.model_validate(snakemake.params.job), Path(snakemake.params.store)
    measure(
        job,
        Path(snakemake.input.graph).parent,
        compiled_library(job, store),
        [Path(snakemake.input.definitions)],
        store=store,
        output=Path(snakemake.output[0]),
    )

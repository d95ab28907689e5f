"""One model trained on one graph."""

from pathlib import Path

from hone.core.script import reported
from hone.gnn.compiled import compiled_library
from hone.gnn.job import TrainingJob
from hone.gnn.training_stage import train
from hone.selection.loop import with_selected_kernels

with reported(snakemake.log, snakemake.output):
    job = TrainingJob.model_validate(snakemake.params.job)
    graph, log = Path(snakemake.input.graph).parent, Path(snakemake.log[0])
    store = Path(snakemake.params.store)
    sampler = compiled_library(job, store)
    job = with_selected_kernels(
        job,
        map(Path, snakemake.input.selected),
        graph=graph,
        sampler=sampler,
        store=store,
        log=log,
    )
    train(
        job,
        graph,
        sampler,
        output=Path(snakemake.output.run),
        checkpoint=Path(snakemake.output.checkpoint),
        log=log,
    )

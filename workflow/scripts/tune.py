"""The fastest values of the parameters that a folder's kernels declare."""

from pathlib import Path

from hone.config.experiments import Experiment
from hone.core.script import reported
from hone.machine.hardware import GPU, gpu_here
from hone.records import Protocol
from hone.tuning.stages import tune

with reported(snakemake.log, snakemake.output):
    protocol, named = Protocol.model_validate(snakemake.params.protocol), snakemake.params.gpu
    gpu = GPU.model_validate(named) if named else gpu_here()
    tune(
        snakemake.wildcards.experiment,
        snakemake.params.model,
        Experiment.model_validate(snakemake.params.experiment),
        [tuple(pair) for pair in snakemake.params.batch],
        [Path(path) for path in snakemake.input.definitions],
        [Path(path) for path in snakemake.input.workloads],
        protocol=protocol,
        baselines=snakemake.params.baselines,
        store=Path(snakemake.params.store),
        gpu=gpu if protocol.device == "cuda" else None,
        candidates=Path(snakemake.output.candidates),
        solutions=Path(snakemake.output.solutions),
        searches=Path(snakemake.output.searches),
    )

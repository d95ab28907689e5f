"""What the study takes of a config: the training whose kernels `device_roofline` measures, too."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hone.config.runs import run_folder
from hone.config.settings import read
from hone.core.errors import ConfigError
from hone.file_map.paths import Paths
from hone.file_map.trainings import TrainingFiles
from hone.gnn.device.build import MAIN, build_device_library
from hone.gnn.distributed import Ranks
from hone.gnn.graph import Graph
from hone.gnn.job import TrainingJob
from hone.gnn.sampling.build import whole_source
from hone.gnn.training_stage import device_for
from studies.epoch.bench import EpochBench


def device_source() -> str:
    """Of the whole library."""
    return whole_source(MAIN)


def bench_for(config: Path, graph: str) -> EpochBench:
    """Of the config's training on that graph. Raises ConfigError: no such training, or the graph is not prepared."""
    settings, run = read(config), run_folder(config)
    paths = Paths(str(run))
    measured = TrainingFiles(settings, paths).measured
    if graph not in measured:
        known = ", ".join(measured) or "none"
        remedy = f"name one on which the system device trains a sage on one GPU: {known}"
        raise ConfigError(f"there is no such graph: {graph}", where=str(config), remedy=remedy)
    record = Path(paths.graph(graph))
    if not record.exists():
        target = f"snakemake graphs --cores 8 --configfile {config}"
        raise ConfigError("the graph is not prepared", where=str(record), remedy=f"run {target}")
    key = measured[graph]
    job = TrainingJob.of(key, settings.trainings[key.training])
    build = partial(build_device_library, Path(settings.paths.store))
    return EpochBench(job, Graph.open(record.parent), device_for(job, Ranks()), build)

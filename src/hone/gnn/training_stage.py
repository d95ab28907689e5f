"""Training as a function of files: what the workflow's script calls, and what each process of a training runs."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hone.config.trainings import PEERS
from hone.core.errors import ConfigError
from hone.core.files import write_text
from hone.gnn.distributed import Ranks, device_of, launch, process_group
from hone.gnn.graph import Graph
from hone.gnn.job import TrainingJob
from hone.gnn.seeds import Plan, derived_seed, shuffled
from hone.machine.environment import environment_of
from hone.records.gnn import EpochParts, GraphInfo, System, TrainingRun

if TYPE_CHECKING:
    import torch

    from hone.gnn.device.training import DeviceTrainer
    from hone.gnn.learner import Learner
    from hone.gnn.models.model import GNN
    from hone.gnn.systems import Pipeline
    from hone.gnn.train import LearnerLike, Progress, Trainer

MEASURED_BATCHES = 16
"""Of a captured step: the largest of them and some room are its size."""
INFERENCE_SYSTEM: dict[System, System] = {"full_batch": "pipelined", "pyg": "pipelined"}
"""Systems that cannot infer on samples by themselves -> the one that does it for them."""


def train(
    job: TrainingJob, graph: Path, sampler: Path | None, *, output: Path, checkpoint: Path, log: Path | None = None
) -> None:
    """Train: a TrainingRun at `output`, the parameters at `checkpoint`. With several GPUs, in a process for each.

    With several hosts, on all of the Slurm job that this process is in; they see the same files.

    A training that was interrupted goes on from its last whole epoch. Raises MachineError, RecordError.
    """
    if job.gpus == 1:
        train_process(job, graph, sampler, output=output, checkpoint=checkpoint, ranks=Ranks(), log=log)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".training-", dir=output.parent) as folder:  # which all hosts see
        told = Path(folder) / "job.json"
        write_text(told, job.model_dump_json())
        arguments = [str(told), str(graph), str(sampler or ""), str(output), str(checkpoint)]
        launch("hone.gnn.worker", arguments, job.gpus, log, nodes=job.nodes)


def train_process(
    job: TrainingJob, folder: Path, sampler: Path | None, *, output: Path, checkpoint: Path, ranks: Ranks,
    log: Path | None = None,
) -> None:  # fmt: skip
    """One process's part of a training; rank 0 writes."""
    from hone.gnn import checkpoint as files
    from hone.gnn.train import Progress

    graph = Graph.open(folder)
    check_validation(job, graph.info)
    device = device_for(job, ranks)
    unfinished = checkpoint.with_name(f"{checkpoint.name}.unfinished")
    digest = job.digest(graph.info)
    with process_group(ranks, device), _trainer(job, graph, sampler, device, ranks, log) as trainer:
        progress = _resumed(unfinished, digest, trainer.learner) or Progress()

        def keep(progress: Progress) -> None:
            if ranks.rank == 0:
                state = {"digest": digest, "learner": trainer.learner.state(), "progress": progress.state()}
                files.save(unfinished, state)

        stopped_early = trainer.run(progress, keep)
        parts = trainer.parts(progress)
        if ranks.rank == 0:
            files.save(checkpoint, {"digest": digest, "parameters": _parameters(job, progress, trainer.learner)})
            run = _training_run(job, graph, trainer, progress, stopped_early, parts)
            write_text(output, run.model_dump_json() + "\n")
            unfinished.unlink(missing_ok=True)


def roofline(job: TrainingJob, folder: Path, library: Path, *, output: Path) -> None:
    """Where the time of a training by the system `device` goes, kernel by kernel: rows of a CSV file at `output`.

    Raises ConfigError for a model whose kernels it does not know, MachineError: no GPU, or one that the graph does
    not fit.
    """
    from hone.gnn.device.roofline import write_roofline

    if job.model != "sage":
        remedy = "train sage on this graph by the system device, too"
        raise ConfigError(f"device_roofline knows the kernels of sage, not of {job.model}", remedy=remedy)
    graph, device = Graph.open(folder), device_for(job, Ranks())
    with _trainer(job, graph, library, device, Ranks()) as trainer:
        write_roofline(cast("DeviceTrainer", trainer), job, environment_of(job.device), output)


def check_validation(job: TrainingJob, graph: GraphInfo) -> None:
    """Raise ConfigError where a training is to be validated on a graph without validation nodes."""
    if job.validation is not None and not graph.num_valid:
        remedy = "write validation: null and inference: {splits: [test]}, or give the graph nodes to validate on"
        said = f"no node of {job.graph} is for validation, so no epoch can be validated"
        raise ConfigError(said, where=f"trainings.{job.training}", remedy=remedy)


def device_for(job: TrainingJob, ranks: Ranks) -> torch.device:
    """What a process of a job computes on; on a CPU, PyTorch gets its threads."""
    if job.device == "cpu":
        import torch

        # More threads than cores, here and in other jobs, wait for each other: tens of times slower (measured).
        torch.set_num_threads(job.compute_threads)
    return device_of(ranks, job.device)


def model_for(job: TrainingJob, graph: Graph) -> GNN:
    """A job's model of a graph's sizes, with the parameters that its seed gives."""
    from hone.gnn.models import build_model

    return build_model(
        job.model, inputs=graph.info.feature_dim, hidden=job.hyper.hidden, outputs=graph.info.num_classes,
        layers=job.layers, dropout=job.hyper.dropout, seed=derived_seed("parameters", job.seed),
    )  # fmt: skip


@contextmanager
def sampling_pipeline(
    job: TrainingJob, graph: Graph, sampler: Path | None, device: torch.device, fanouts: tuple[int, ...], seed: int
) -> Iterator[Pipeline]:
    """For validation and inference."""
    from hone.gnn.systems import assemble

    system = INFERENCE_SYSTEM.get(job.system, job.system)
    pipeline = assemble(
        system, graph, fanouts, seed=derived_seed("inference", seed), device=device, threads=job.threads,
        slots=job.slots, sampler=sampler, scaled_sums=job.hyper.scaled_sums, objects=job.objects,
    )  # fmt: skip
    try:
        yield pipeline
    finally:
        pipeline.close()


@contextmanager
def _trainer(
    job: TrainingJob, graph: Graph, sampler: Path | None, device: torch.device, ranks: Ranks, log: Path | None = None
) -> Iterator[Trainer]:
    from hone.gnn.observer import SpanObserver
    from hone.gnn.systems import assemble
    from hone.gnn.train import Trainer

    model = model_for(job, graph)
    if job.system == "device":
        from hone.gnn.device.training import device_trainer

        assert sampler is not None, "compiled_library sees to it"
        trainer = device_trainer(job, graph, model, sampler, device, ranks, log)
        yield trainer
        trainer.close()  # not after an error: processes end without parting, and the GPU may refuse every call
        return
    if job.system in PEERS:
        from hone.gnn.peer_layers import with_peer_layers

        model = with_peer_layers(model, job.convolutions)
    pipeline = assemble(
        job.system, graph, job.hyper.fanouts, seed=derived_seed("sampler", job.seed), device=device,
        threads=job.threads, slots=job.slots, sampler=sampler, scaled_sums=job.hyper.scaled_sums, objects=job.objects,
    )  # fmt: skip
    try:
        learner = _learner(job, graph, model, pipeline, device, ranks)
        with _validation(job, graph, sampler, learner) as validate:
            yield Trainer(
                graph, learner, pipeline, SpanObserver(device), validate, seed=job.seed,
                batch_size=graph.info.num_train if job.system == "full_batch" else job.hyper.batch_size,
                epochs=job.hyper.epochs,
                validate_every=job.validation.every_epochs if job.validation else 1,
                patience_epochs=job.hyper.patience_epochs, max_batches=job.max_batches,
            )  # fmt: skip
    finally:
        pipeline.close()


def _learner(
    job: TrainingJob, graph: Graph, model: GNN, pipeline: Pipeline, device: torch.device, ranks: Ranks
) -> Learner:
    """For the steps behind a pipeline; a captured one measures the first epoch's first batches."""
    from hone.gnn.learner import Learner

    told: dict[str, Any] = {"seed": job.seed, "precision": job.precision, "device": device, "ranks": ranks}
    if not job.captured:
        return Learner(model, job.hyper, job.plateau, **told)
    from hone.gnn.captured import CapturedLearner
    from hone.gnn.fixed_batch import measured_sizes
    from hone.gnn.observer import NullObserver

    plan = Plan(shuffled(graph.tensor("train"), job.seed, 0), job.hyper.batch_size).first(MEASURED_BATCHES)
    sizes = measured_sizes(pipeline.batches(plan, NullObserver()), job.hyper.batch_size)
    return CapturedLearner(model, job.hyper, job.plateau, **told, sizes=sizes)


@contextmanager
def _validation(
    job: TrainingJob, graph: Graph, sampler: Path | None, learner: Learner
) -> Iterator[Callable[[GNN], float] | None]:
    from hone.gnn.train import layerwise_validation, sampled_validation

    if job.validation is None:
        yield None
    elif job.validation.layerwise or job.system == "full_batch":
        yield layerwise_validation(graph, job.precision)
    else:
        with sampling_pipeline(job, graph, sampler, learner.device, job.hyper.validation_fanouts, job.seed) as pipeline:
            yield sampled_validation(graph, pipeline, learner, job.hyper.inference_batch_size, job.precision)


def _resumed(unfinished: Path, digest: str, learner: LearnerLike) -> Progress | None:
    """What an earlier run of the same job had come to; one of another job is left aside."""
    from hone.gnn.checkpoint import load
    from hone.gnn.train import Progress

    if not unfinished.exists():
        return None
    state = load(unfinished)
    if state["digest"] != digest:
        return None
    learner.load_state(state["learner"])
    return Progress.from_state(state["progress"])


def _parameters(job: TrainingJob, progress: Progress, learner: LearnerLike) -> dict[str, Any]:
    """Those of the best epoch, or of the last where none was validated."""
    parameters = progress.best_parameters or learner.bare_model.state_dict()
    if job.system in PEERS:
        from hone.gnn.peer_layers import parameters_of

        return parameters_of(parameters, job.convolutions)
    return parameters


def _training_run(
    job: TrainingJob, graph: Graph, trainer: Trainer, progress: Progress, stopped_early: bool, parts: EpochParts | None
) -> TrainingRun:
    whole = job.system == "full_batch"
    return TrainingRun(
        training=job.training, graph=job.graph, model=job.model, system=job.system, gpus=job.gpus, nodes=job.nodes,
        device=job.device, seed=job.seed, fanouts=() if whole else job.hyper.fanouts,
        batch_size=0 if whole else job.hyper.batch_size,
        hidden=job.hyper.hidden, precision=job.precision,
        convolutions=job.convolutions if job.system in PEERS else "",
        captured=None if job.system == "device" else job.captured, threads=job.threads,
        num_train=graph.info.num_train,
        parameters=sum(parameter.numel() for parameter in trainer.learner.bare_model.parameters()),
        epochs=tuple(progress.epochs), best_epoch=progress.best_epoch, stopped_early=stopped_early,
        peak_memory_bytes=_peak_memory_bytes(trainer.learner.device), config_digest=job.digest(graph.info),
        timeline=trainer.timeline(job.timeline_batches), environment=environment_of(job.device), trained_at=now(),
        kernels=job.kernels, kernel_uses=job.kernel_uses, placement=trainer.placement, parts=parts,
    )  # fmt: skip


def _peak_memory_bytes(device: torch.device) -> int:
    if device.type == "cpu":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    import torch

    return torch.cuda.max_memory_allocated(device)


def now() -> str:
    """UTC, ISO 8601, for a record."""
    return datetime.now(UTC).isoformat(timespec="seconds")

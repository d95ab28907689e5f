"""Inference as a function of files: what the workflow's script calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from hone.core.errors import ConfigError, RecordError
from hone.core.files import write_text
from hone.gnn.distributed import Ranks
from hone.gnn.graph import Graph
from hone.gnn.seeds import Plan
from hone.gnn.training_stage import device_for, model_for, now, sampling_pipeline
from hone.machine.environment import environment_of
from hone.records.gnn import DegreeFigures, GraphInfo, InferenceFigures, InferenceRun, Split

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from hone.gnn.job import TrainingJob
    from hone.gnn.models.model import GNN

Counter = Callable[[Plan], "torch.Tensor"]
"""Whether a trained model puts each node of a plan into its class: (n,) bool."""


def infer(
    job: TrainingJob, folder: Path, sampler: Path | None, checkpoint: Path, *, output: Path, scratch: Path | None = None
) -> None:
    """Accuracy of a trained model by all ways of inference that the job names: an InferenceRun at `output`.

    Raises RecordError: no checkpoint, or one of another graph or model.
    """
    graph = Graph.open(folder)
    check_splits(job, graph.info)
    device = device_for(job, Ranks())
    model = model_for(job, graph)
    _load(model, checkpoint)
    model.to(device)
    settings, hyper = job.inference, job.hyper
    results = []
    counters = _counters(job, graph, model, sampler, device)
    for fanouts in settings.fanouts or (hyper.inference_fanouts,):
        with counters(fanouts) as count:
            results += [_sampled(job, graph, count, fanouts, split) for split in settings.splits]
    if settings.layerwise:
        results += [_layerwise(job, graph, model, split, scratch) for split in settings.splits]
    run = InferenceRun(
        training=job.training, graph=job.graph, model=job.model, system=job.system, gpus=job.gpus, seed=job.seed,
        device=job.device, results=tuple(results), environment=environment_of(job.device), inferred_at=now(),
    )  # fmt: skip
    write_text(output, run.model_dump_json() + "\n")


def check_splits(job: TrainingJob, graph: GraphInfo) -> None:
    """Raise ConfigError where inference is to be measured on no node at all."""
    sizes: dict[Split, int] = {"train": graph.num_train, "valid": graph.num_valid, "test": graph.num_test}
    empty = [split for split in job.inference.splits if not sizes[split]]
    if empty:
        others = ", ".join(split for split in job.inference.splits if sizes[split])
        said = f"no node of {job.graph} is in the split '{empty[0]}', so it has no accuracy"
        remedy = f"write inference: {{splits: [{others}]}}"
        raise ConfigError(said, where=f"trainings.{job.training}", remedy=remedy)


def _load(model: GNN, checkpoint: Path) -> None:
    from hone.gnn.checkpoint import load

    try:
        model.load_state_dict(load(checkpoint)["parameters"])
    except (RuntimeError, KeyError) as error:
        remedy = "delete the file and run the same command again"
        raise RecordError(f"not of this model and graph: {error}", where=str(checkpoint), remedy=remedy) from None


def _counters(
    job: TrainingJob, graph: Graph, model: GNN, sampler: Path | None, device: torch.device
) -> Callable[[tuple[int, ...]], AbstractContextManager[Counter]]:
    """Fan-outs -> a counter that samples with them."""
    if job.system == "device":
        from hone.gnn.device.training import device_inferences

        assert sampler is not None, "compiled_library sees to it"
        made = device_inferences(job, graph, model, sampler, device)
        return lambda fanouts: nullcontext(made(fanouts).right)
    return partial(_host_counter, job, graph, model, sampler, device)


@contextmanager
def _host_counter(
    job: TrainingJob, graph: Graph, model: GNN, sampler: Path | None, device: torch.device, fanouts: tuple[int, ...]
) -> Iterator[Counter]:
    from hone.gnn.infer import right

    with sampling_pipeline(job, graph, sampler, device, fanouts, job.inference.seed) as pipeline:
        yield lambda plan: right(model, pipeline, plan, job.precision)


def _sampled(
    job: TrainingJob, graph: Graph, count: Counter, fanouts: tuple[int, ...], split: Split
) -> InferenceFigures:
    nodes = graph.tensor(split)
    begun_s = time.perf_counter()
    found = count(Plan(nodes, job.hyper.inference_batch_size))
    correct = int(found.sum())
    return InferenceFigures(
        mode="sampled", fanouts=fanouts, split=split, seed=job.inference.seed, nodes=len(nodes), correct=correct,
        inference_s=time.perf_counter() - begun_s, by_degree=_by_degree(graph, nodes, found),
    )  # fmt: skip


def _by_degree(graph: Graph, nodes: torch.Tensor, right: torch.Tensor) -> tuple[DegreeFigures, ...]:
    from hone.gnn.infer import by_degree

    indptr = graph.tensor("indptr")
    return by_degree(indptr[nodes + 1] - indptr[nodes], right.cpu())


def _layerwise(job: TrainingJob, graph: Graph, model: GNN, split: Split, scratch: Path | None) -> InferenceFigures:
    from hone.gnn.infer import layerwise_classes

    nodes = graph.tensor(split)
    begun_s = time.perf_counter()
    found = layerwise_classes(model, graph, nodes, precision=job.precision, scratch=scratch)
    right = found == graph.tensor("labels")[nodes]
    return InferenceFigures(
        mode="layerwise", split=split, nodes=len(nodes), correct=int(right.sum()),
        inference_s=time.perf_counter() - begun_s, by_degree=_by_degree(graph, nodes, right),
    )  # fmt: skip

"""How large an operator's share of batch preparation is, before anybody makes it faster: Amdahl's law comes first."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from hone.config.trainings import OPERATORS
from hone.core.files import read_records, write_records
from hone.gnn.job import TrainingJob
from hone.machine.environment import cpu_model
from hone.records import Definition, Language, OperatorShare

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.graph import Graph

BATCHES = 8
WARM_UP = 1


def measure(
    job: TrainingJob, folder: Path, sampler: Path, definitions: Iterable[Path], *, store: Path, output: Path
) -> list[OperatorShare]:
    """Write the share of each operator that the job's system runs on a CPU, in BATCHES batches of its first epoch.

    Both times are processor time of one thread, so that what else runs on the machine does not count. Raises
    MachineError: no compiler; OperatorError: a definition with other arguments; RecordError: a damaged graph.
    """
    from hone.gnn.graph import Graph
    from hone.selection.loop.batches import first_batches

    known = {item.title: item for path in definitions for item in read_records(path, Definition)}
    wanted = [known[name] for name in OPERATORS.get(job.system, ()) if name in known]
    graph = Graph.open(folder)
    batches = first_batches(graph, job.hyper.batch_size, job.seed, WARM_UP + BATCHES)
    found = [
        OperatorShare(
            operator=item.title, training=job.training, graph=job.graph, model=job.model, where=cpu_model(),
            operator_ms=_operator_ms(item, graph, sampler, job, batches, store),
            prepare_ms=_prepare_ms(graph, sampler, job, batches), batches=len(batches) - WARM_UP,
        )
        for item in wanted
        if item.kernel_language is Language.CPP
    ]  # fmt: skip
    write_records(output, found)
    return found


def _prepare_ms(graph: Graph, sampler: Path, job: TrainingJob, batches: list[Tensor]) -> float:
    from hone.gnn.sampling.design import best_design
    from hone.gnn.sampling.measure import measure_design
    from hone.gnn.sampling.native import Library

    design = best_design(graph.info.num_nodes)
    samples = measure_design(Library(sampler), graph, job.hyper.fanouts, design, batches, epoch=0)
    return statistics.median(sample.cpu_ms for sample in samples)


def _operator_ms(
    item: Definition, graph: Graph, sampler: Path, job: TrainingJob, batches: list[Tensor], store: Path
) -> float:
    from hone.selection.loop.batches import builtin_library, calls

    library = builtin_library(item, store)
    times = [
        1e3 * sum(call.thread_s(library) for call in of_batch)
        for of_batch in calls(item, graph, sampler, job.hyper.fanouts, batches)
    ]
    return statistics.median(times[WARM_UP:])

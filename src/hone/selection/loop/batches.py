"""Calls of the sampler's operator on the batches of a training: what its inner loop is asked, hop by hop; and the
builtin kernel that answers them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from hone.compile.builds import build_for
from hone.compile.kernels import kernel_solution
from hone.config.experiments import UPSTREAM
from hone.core.errors import MachineError
from hone.gnn.sampling import Sampler
from hone.gnn.seeds import Plan, shuffled
from hone.operators.contract import Contract, OperatorError
from hone.operators.native import NativeLibrary

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from hone.gnn.graph import Graph
    from hone.records import Definition

NEVER = -77
"""Stands in outputs before a call: what is never written then agrees with nothing."""


def builtin_library(item: Definition, store: Path) -> NativeLibrary:
    """The builtin of an operator, as its definition has it, built; raises MachineError."""
    solution = kernel_solution(item, UPSTREAM)
    build = build_for(item, solution, store)
    if build.artifact is None:
        said = (build.log.strip() or build.status.value).splitlines()[0]
        raise MachineError(f"the builtin was not built: {said}", where=item.name)
    return NativeLibrary(Contract(item, {}), solution.language, store / build.artifact)


def first_batches(graph: Graph, batch_size: int, seed: int, number: int) -> list[Tensor]:
    """Seeds of the first batches of a training's first epoch, over and over where it has too few of them."""
    plan = Plan(shuffled(graph.tensor("train"), seed, 0), batch_size)
    return [plan.seeds(index % len(plan)) for index in range(number)]


@dataclass(frozen=True)
class Call:
    """One hop of one batch, as arguments of a launcher of `sample_neighbours`."""

    values: tuple[Any, ...]
    outputs: tuple[Tensor, ...]
    sizes: dict[str, int]
    one_row: tuple[tuple[Any, ...], tuple[Tensor, ...], dict[str, int]]
    """The same three for the first row alone."""

    def launch(self, library: NativeLibrary) -> None:
        """Fill the outputs."""
        library.launch(self.values, self.outputs, self.sizes, "", torch.device("cpu"))

    def thread_s(self, library: NativeLibrary) -> float:
        """Processor seconds of this thread in one launch, less what a launch for a single row takes."""
        begun_s = time.thread_time()
        self.launch(library)
        done_s = time.thread_time()
        library.launch(*self.one_row, "", torch.device("cpu"))
        return max(0.0, 2 * done_s - begun_s - time.thread_time())

    def results(self, library: NativeLibrary) -> list[Tensor]:
        """What a kernel makes of the call, in memory of its own."""
        for output in self.outputs:
            output.fill_(NEVER)
        self.launch(library)
        return [output.clone() for output in self.outputs]


def calls(
    definition: Definition, graph: Graph, sampler: Path, fanouts: Sequence[int], batches: Sequence[Tensor]
) -> Iterator[list[Call]]:
    """The calls of each batch, around int64 seeds each; hops that take all neighbours make none.

    `sampler` is the compiled sampler's shared object. Raises OperatorError where the definition has other arguments.
    """
    indptr, indices = graph.tensor("indptr"), graph.tensor("indices")
    with Sampler(graph, fanouts, sampler) as builtin:
        for index, seeds in enumerate(batches):
            batch = builtin.sample(seeds, index, 0)
            made = []
            for block, fanout in zip(reversed(batch.blocks), fanouts, strict=True):
                rows = batch.nodes[: block.num_dst]
                given = {"indptr": indptr, "indices": indices, "rows": rows, "key": index, "fanout": fanout}
                if fanout > 0 and len(rows):
                    made.append(Call(*_call(definition, given), _call(definition, {**given, "rows": rows[:1]})))
            yield made


def _call(definition: Definition, given: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Tensor, ...], dict[str, int]]:
    """Values, outputs and sizes."""
    contract = Contract(definition, {})
    unknown = [item.name for item in contract.arguments if item.name not in given]
    if unknown:
        raise OperatorError(f"nobody knows what {', '.join(unknown)} is", where=definition.name)
    values = tuple(given[item.name] for item in contract.arguments)
    known: dict[str, int] = {"fanout": given["fanout"]}
    for item, value in zip(contract.arguments, values, strict=True):
        if item.kind == "tensor":
            known |= dict(zip(item.shape, value.shape, strict=True))
    sizes = {axis: known[axis] for axis in definition.axes if axis in known}
    if len(sizes) < len(definition.axes):
        raise OperatorError("an axis is neither one of an input nor the fanout", where=definition.name)
    outputs = tuple(
        torch.full([sizes[axis] for axis in item.shape], NEVER, dtype=getattr(torch, item.dtype))
        for item in definition.outputs
    )
    return values, outputs, sizes

"""The sampler's design study, and its throughput beside SALIENT's own sampler: stage functions that write a table each.

Tables end with what they were measured on; `batch_ms` is always the median over rounds, in which all candidates take
turns, so that a machine that slows down slows down all of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hone.core.code import commit
from hone.core.csv_table import Row, write_table
from hone.core.errors import ConfigError
from hone.gnn.sampling.design import BOOKKEEPING, MAPS, Design

if TYPE_CHECKING:
    from hone.gnn.graph import Graph
    from hone.gnn.sampling.measure import EpochTime, Preparing, Sample
    from hone.gnn.seeds import Plan

_GIVEN = ("fanouts", "batch_size", "pages")
_MACHINE = ("commit", "device", "torch")
STUDY_COLUMNS = (
    *("graph", "map", "bookkeeping", "block", "rows_ahead", "slicing", "stores", "batch_ms", "cpu_ms", "cpu_ms_low"),
    *("sample_ms", "slice_ms", "speedup", "unique_nodes", "sampled_edges", "batches", *_GIVEN, *_MACHINE),
)
"""Of salient_sampler_study: `speedup` in cpu_ms over the first row, the plainest design; `cpu_ms_low` is the least."""
THREADS_COLUMNS = (
    *("graph", "system", "threads", "batch_ms", "unique_nodes", "sampled_edges", "batches"),
    *(
        "fanouts",
        "batch_size",
        "pages",
        "speedup",
        "speedup_over_salient",
        "batch_ms_low",
        "batch_ms_high",
        "cpu_ms",
        *_MACHINE,
    ),
)
"""Of salient_threads: `speedup` over the same system with the least threads; `cpu_ms` is processor time a batch, of all
threads together, which says what a batch costs also where other programs take part of the machine."""
BLOCKS = (0, 8, 32, 128)
ROWS_AHEAD = 16
HONE, SALIENT = "hone", "salient"


@dataclass(frozen=True)
class Load:
    """What is prepared."""

    fanouts: tuple[int, ...] = (15, 10, 5)
    batch_size: int = 1024
    large_pages: bool = False
    """The graph is copied into this process's memory in large pages; else the maps of its files are read."""

    @classmethod
    def for_graph(cls, folder: Path) -> Self:
        """The paper's load, with smaller batches where the graph has too few training nodes; raises RecordError."""
        from hone.gnn.graph import Graph

        return cls(batch_size=min(1024, Graph.open(folder).info.num_train))

    def columns(self) -> dict[str, str | int]:
        """As the tables say it."""
        fanouts = " ".join(map(str, self.fanouts))
        return {"fanouts": fanouts, "batch_size": self.batch_size, "pages": "large" if self.large_pages else "maps"}


def thread_counts(cores: int) -> list[int]:
    """1, 2, 4, … and as many as there are cores."""
    return sorted({1 << power for power in range(cores.bit_length()) if 1 << power <= cores} | {cores})


def grid() -> list[Design]:
    """Every design of the study, the plainest first: map x bookkeeping x reading ahead x fused slicing; two more."""
    designs = [
        Design(kind, bookkeeping, block, ROWS_AHEAD if block else 0, fused)
        for kind in reversed(MAPS)
        for bookkeeping in reversed(BOOKKEEPING)
        for block in BLOCKS
        for fused in (False, True)
    ]
    return [*designs, Design(rows_ahead=4), Design(stream=False)]


def explore(
    graph: Path,
    output: Path,
    *,
    store: Path,
    load: Load,
    batches: int = 3,
    rounds: int = 3,
    designs: Sequence[Design] | None = None,
) -> list[Row]:
    """Measure every design on the same batches and write salient_sampler_study; the rows, in the order of `grid`.

    Each round prepares 1 + `batches` batches by one thread with each design. Raises ConfigError when the graph has
    too few training nodes for one, MachineError without a compiler, RecordError for a damaged graph.
    """
    from hone.gnn.graph import Graph
    from hone.gnn.sampling import build_sampler, in_large_pages
    from hone.gnn.sampling.measure import measure_design
    from hone.gnn.sampling.native import Library

    opened = Graph.open(graph)
    opened = in_large_pages(opened) if load.large_pages else opened
    plan = _plan(opened, load, 1 + batches)
    parts = [plan.seeds(index) for index in range(len(plan))]
    library = Library(build_sampler(store, study=True))
    chosen = grid() if designs is None else list(designs)
    samples: list[list[Sample]] = [[] for _ in chosen]
    for turn in range(rounds):
        for design, of_design in zip(chosen, samples, strict=True):
            of_design.extend(measure_design(library, opened, load.fanouts, design, parts, turn))
    rows = _study_rows(opened, load, chosen, samples)
    write_table(output, STUDY_COLUMNS, rows)
    return rows


def _study_rows(graph: Graph, load: Load, designs: Sequence[Design], samples: Sequence[Sequence[Sample]]) -> list[Row]:
    rows: list[Row] = []
    plainest = statistics.median(sample.cpu_ms for sample in samples[0])
    for design, found in zip(designs, samples, strict=True):
        cpu_ms = statistics.median(sample.cpu_ms for sample in found)
        row: dict[str, str | int | float] = {
            "graph": graph.info.name, "map": design.map, "bookkeeping": design.bookkeeping, "block": design.block,
            "rows_ahead": design.rows_ahead, "slicing": "fused" if design.fused else "after",
            "stores": "streaming" if design.stream else "cached",
            "batch_ms": statistics.median(sample.batch_ms for sample in found),
            "cpu_ms": cpu_ms, "cpu_ms_low": min(sample.cpu_ms for sample in found),
            "sample_ms": statistics.median(sample.sample_ms for sample in found),
            "slice_ms": statistics.median(sample.slice_ms for sample in found),
            "speedup": plainest / cpu_ms,
            "unique_nodes": statistics.fmean(sample.unique_nodes for sample in found),
            "sampled_edges": statistics.fmean(sample.sampled_edges for sample in found),
            "batches": len(found),
        }  # fmt: skip
        rows.append({**row, **load.columns(), **_machine()})
    return rows


def throughput(
    graph: Path,
    output: Path,
    *,
    store: Path,
    load: Load,
    threads: Sequence[int],
    batches: int = 20,
    rounds: int = 3,
    fast_sampler: Path | None = None,
    pin_memory: bool = False,
) -> list[Row]:
    """Prepare epochs with each number of threads, by Hone and, where it was built, by SALIENT: rows of salient_threads.

    `batches` are prepared for each thread in each round; one short epoch before does not count. `pin_memory`: into
    page-locked memory, by both. Raises ConfigError: too few training nodes; MachineError: `fast_sampler` cannot be
    loaded, no compiler; RecordError for a damaged graph.
    """
    from hone.gnn.graph import Graph
    from hone.gnn.sampling import in_large_pages

    opened = Graph.open(graph)
    opened = in_large_pages(opened) if load.large_pages else opened
    systems = _systems(opened, load, store, fast_sampler, pin_memory)
    found: dict[tuple[str, int], list[EpochTime]] = {}
    for count in threads:
        plan = _plan(opened, load, batches * count)
        opened_systems = {name: opens(count) for name, opens in systems.items()}
        for system in opened_systems.values():
            system.epoch(_plan(opened, load, 2 * count))
        for turn in range(rounds):
            for name, system in opened_systems.items():
                found.setdefault((name, count), []).append(system.epoch(replace(plan, epoch=turn)))
        for system in opened_systems.values():
            system.close()
    rows = _threads_rows(opened, load, found)
    write_table(output, THREADS_COLUMNS, rows)
    return rows


def _systems(
    graph: Graph, load: Load, store: Path, fast_sampler: Path | None, pin_memory: bool
) -> dict[str, Callable[[int], Preparing]]:
    """System -> what opens it with a number of threads."""
    from hone.gnn.sampling import build_sampler
    from hone.gnn.sampling.measure import HoneSampler
    from hone.gnn.sampling.salient import SalientInputs, SalientSampler, load_fast_sampler

    library = build_sampler(store)
    systems: dict[str, Callable[[int], Preparing]] = {
        HONE: lambda threads: HoneSampler(library, graph, load.fanouts, threads, pin_memory=pin_memory)
    }
    if fast_sampler is not None:
        module = load_fast_sampler(fast_sampler)
        inputs = SalientInputs(graph, large_pages=load.large_pages)
        systems[SALIENT] = lambda threads: SalientSampler(module, inputs, load.fanouts, threads, pin_memory=pin_memory)
    return systems


def _threads_rows(graph: Graph, load: Load, found: Mapping[tuple[str, int], Sequence[EpochTime]]) -> list[Row]:
    batch_ms = {key: sorted(1e3 * time.epoch_s / time.batches for time in times) for key, times in found.items()}
    middle = {key: statistics.median(values) for key, values in batch_ms.items()}
    rows: list[Row] = []
    for (name, count), times in sorted(found.items()):
        batches = sum(time.batches for time in times)
        least = min(other for system, other in found if system == name)
        row: dict[str, str | int | float | None] = {
            "graph": graph.info.name, "system": name, "threads": count, "batch_ms": middle[name, count],
            "unique_nodes": sum(time.unique_nodes for time in times) / batches,
            "sampled_edges": sum(time.sampled_edges for time in times) / batches, "batches": batches,
            "speedup": middle[name, least] / middle[name, count],
            "speedup_over_salient": middle[SALIENT, count] / middle[name, count] if (SALIENT, count) in found else None,
            "batch_ms_low": batch_ms[name, count][0], "batch_ms_high": batch_ms[name, count][-1],
            "cpu_ms": statistics.median(1e3 * time.cpu_s / time.batches for time in times),
        }  # fmt: skip
        rows.append({**row, **load.columns(), **_machine()})
    return rows


def _plan(graph: Graph, load: Load, batches: int) -> Plan:
    """So many full batches of training nodes; a batch never has a node twice."""
    from hone.gnn.seeds import Plan, shuffled

    wanted = batches * load.batch_size
    if graph.info.num_train < load.batch_size:
        said = f"{graph.info.num_train} training nodes make no batch of {load.batch_size}"
        raise ConfigError(said, where=str(graph.path), remedy="choose a smaller batch_size or a larger graph")
    once = shuffled(graph.tensor("train"), seed=0, epoch=0)
    usable = once[: len(once) // load.batch_size * load.batch_size]
    return Plan(usable.repeat(-(-wanted // len(usable)))[:wanted], load.batch_size)


def _machine() -> dict[str, str]:
    import torch

    from hone.machine.environment import cpu_model

    return {"commit": commit(), "device": cpu_model(), "torch": str(torch.__version__)}

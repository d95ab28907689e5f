"""The peer `wholegraph`: NVIDIA's WholeGraph holds graph and features, samples and gathers on the GPU.

Needs the extra `peers` and a GPU. Batches are drawn by WholeGraph's kernels, layers are PyTorch Geometric's.
"""

from __future__ import annotations

import atexit
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hone.compile.builds import build_one
from hone.compile.installed_torch import installed_torch
from hone.compile.toolchain import toolchain_for
from hone.core.errors import MachineError
from hone.core.store import Store
from hone.gnn.batch import Batch, Block
from hone.gnn.device.copies import brought, on_device
from hone.gnn.graph import Graph
from hone.gnn.packages import check_packages
from hone.gnn.pyg_gpu import require_gpu_memory
from hone.gnn.seeds import derived_seed
from hone.records import Language, Solution

if TYPE_CHECKING:
    from torch import Tensor

    from hone.gnn.observer import Observer
    from hone.gnn.seeds import Plan

HOOK = Path(__file__).with_name("wholegraph_hook.cpp")
MODULE = "hone_wholegraph_hook"
TIMEOUT_S = 600.0
MEMORY = "chunked"
"""Kind of WholeGraph's shared memory, as in its own examples: a part on each GPU, all read directly. Here it is one."""


def build_hook(store: Path) -> Path:
    """Path of what WholeGraph takes memory from; compiled at most once for each PyTorch (half a minute).

    Raises MachineError without the package, a compiler or CUDA's headers.
    """
    check_packages("wholegraph")
    source = HOOK.read_text(encoding="utf-8")
    solution = Solution(
        definition="hone/wholegraph", language=Language.CPP, entry_point=f"PyInit_{MODULE}", source=source
    )
    includes, libraries = _folders()
    toolchain = toolchain_for(Language.CPP).with_flags(_flags(includes, libraries), [*includes, *libraries])
    build = build_one(solution, toolchain, Store(store), TIMEOUT_S, own=True)
    if build.artifact is None:
        remedy = "install g++ and the CUDA toolkit that PyTorch was built for"
        raise MachineError(f"WholeGraph's hook does not compile: {build.log[:2000]}", where=str(HOOK), remedy=remedy)
    return store / build.artifact


def _folders() -> tuple[list[Path], list[Path]]:
    """Of headers and of libraries, PyTorch's and WholeGraph's; they may lie anywhere that Python finds packages."""
    here = installed_torch(toolchain_for(Language.CUDA))
    headers = find_spec("libwholegraph")
    places = list(headers.submodule_search_locations or ()) if headers else []
    return [*here.include_folders, *(Path(place) / "include" for place in places)], [*here.library_folders]


def _flags(includes: list[Path], libraries: list[Path]) -> tuple[str, ...]:
    here = installed_torch(toolchain_for(Language.CUDA))
    return (
        f"-std=c++{here.std}",
        f"-DHONE_BUILT_FOR={here.version}",  # unused: another PyTorch has other objects in the store
        *(f"-isystem{folder}" for folder in includes),
        *(f"-L{folder}" for folder in libraries),
        *("-Wl,--no-as-needed", "-lc10", "-ltorch_cpu", "-ltorch_python"),
    )


@functools.cache
def library(hook: Path) -> Any:
    """The module `pylibwholegraph.torch`, begun, for one process; memory comes from `hook`. Raises MachineError."""
    check_packages("wholegraph")
    wholegraph = import_module("pylibwholegraph.torch")
    environment: Any = import_module("pylibwholegraph.torch.wholegraph_env")
    spec = spec_from_file_location(MODULE, hook)
    if spec is None or spec.loader is None:
        raise MachineError(
            "not a module of Python", where=str(hook), remedy="delete the file and run the command again"
        )
    extension = module_from_spec(spec)
    spec.loader.exec_module(extension)
    environment.torch_cpp_ext_lib, environment.torch_cpp_ext_loaded = extension, True
    wholegraph.init(0, 1, 0, 1, wm_log_level="warn")
    atexit.register(wholegraph.finalize)
    return wholegraph


@dataclass(frozen=True)
class Stored:
    """A graph in WholeGraph's memory."""

    structure: Any
    """Its GraphStructure: row pointers int64, neighbours int32."""
    features: Any
    """WholeMemoryTensor (nodes, feature_dim), as the graph has them."""
    labels: Tensor
    """(nodes,) int64, in PyTorch's memory: users keep them with the seeds."""


@functools.cache
def stored(path: Path, device: torch.device, hook: Path) -> Stored:
    """The graph of a folder, copied once for training and validation: WholeGraph frees memory only when it is told to.

    Raises MachineError: no package, too little memory on the GPU.
    """
    graph = Graph.open(path)
    require_gpu_memory(graph, device)
    wholegraph = library(hook)
    binding = import_module("pylibwholegraph.binding.wholememory_binding")
    alone = wholegraph.WholeMemoryCommunicator(binding.create_communicator(binding.create_unique_id(), 0, 1))

    def kept(name: str) -> Any:
        source = graph.tensor(name)
        made = wholegraph.create_wholememory_tensor(alone, MEMORY, "cuda", list(source.shape), source.dtype, None)
        brought(source, made.get_local_tensor()[0])
        return made

    structure = wholegraph.GraphStructure()
    structure.set_csr_graph(kept("indptr"), kept("indices"))
    return Stored(structure, kept("features"), on_device(graph.tensor("labels"), device))


class WholeMemorySource:
    """Batches that WholeGraph draws, uniformly and without replacement, and gathers.

    The first hop of a batch depends on (seed, epoch, batch) alone. Threads race for the places of its nodes, by which
    the next hop draws: seen on an H200 with version 26.10.
    """

    def __init__(self, graph: Graph, fanouts: Sequence[int], device: torch.device, hook: Path, *, seed: int) -> None:
        """`fanouts` from the seeds outwards, -1 takes every neighbour; `hook` comes from `build_hook`.

        Raises MachineError: no package, too little memory on the GPU.
        """
        self.graph = stored(graph.path, device, hook)
        self.fanouts = tuple(fanouts)
        self.device = device
        self.seed = seed
        self._append_unique = import_module("pylibwholegraph.torch.graph_ops").append_unique

    def batches(self, plan: Plan, observer: Observer) -> Iterator[Batch]:
        """As BatchSource, on the GPU."""
        plan = replace(plan, order=plan.order.to(self.device))
        for index in range(len(plan)):
            with observer.on_device("prepare", index, "gpu"):
                seeds = plan.seeds(index)
                batch = self.sample(seeds, index, plan.epoch)
                features, labels = self.graph.features.gather(batch.nodes), self.graph.labels.index_select(0, seeds)
            yield replace(batch, features=features, labels=labels)

    def sample(self, seeds: Tensor, batch_index: int, epoch: int) -> Batch:
        """A batch without features and labels around int64 seeds, each once and on the GPU."""
        nodes, blocks = seeds.int(), []
        for hop, fanout in enumerate(self.fanouts):
            key = derived_seed(self.seed, epoch, batch_index, hop)
            indptr, neighbours = self.graph.structure.unweighted_sample_without_replacement_one_hop(
                nodes, fanout, random_seed=key
            )
            grown, local = self._append_unique(nodes, neighbours, need_neighbor_raw_to_unique=True)
            blocks.append(Block(indptr, local, num_dst=len(nodes), num_src=len(grown)))
            nodes = grown
        return Batch(batch_index, epoch, nodes, num_seeds=len(seeds), blocks=tuple(reversed(blocks)))

    def close(self) -> None:
        """As BatchSource; the graph stays for the next source."""

"""WholeGraph's peer under a stand-in for its package: what we ask of it, and what we make of its answers.

The stand-in has the package's signatures and draws on a CPU. Where the package and a GPU are, it is tested, too.
"""

import functools
import sys
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import pytest
import torch

from hone.core.errors import MachineError
from hone.gnn import packages, wholegraph
from hone.gnn.observer import NullObserver
from hone.gnn.seeds import Plan, shuffled
from hone.gnn.systems import assemble
from tests.gnn.samples import check_batch

CPU = torch.device("cpu")
HOOK = "def get_wholegraph_env_fns():\n    return 7\n"


class Memory:
    """A WholeMemoryTensor."""

    def __init__(self, comm, memory_type, memory_location, sizes, dtype, strides):
        assert (comm.wmb_comm, memory_location, strides) == ("alone", "cuda", None)
        self.values = torch.zeros(sizes, dtype=dtype)

    def get_local_tensor(self):
        return self.values, 0

    def gather(self, indices):
        assert indices.dtype in (torch.int32, torch.int64)
        return self.values[indices.long()]


class Structure:
    """A GraphStructure that draws by PyTorch's generator, and keeps the seeds that it was given."""

    def set_csr_graph(self, row_ptr, col_ind):
        assert (row_ptr.values.dtype, col_ind.values.dtype) == (torch.int64, torch.int32)
        self.row_ptr, self.col_ind, self.seeds = row_ptr.values, col_ind.values, []

    def unweighted_sample_without_replacement_one_hop(self, center_nodes, max_sample_count, *, random_seed):
        assert center_nodes.dtype == self.col_ind.dtype, "as the package wants it"
        assert 0 <= random_seed < 2**64
        self.seeds.append(random_seed)
        generator = torch.Generator().manual_seed(random_seed)
        rows = [self.col_ind[self.row_ptr[v] : self.row_ptr[v + 1]] for v in center_nodes.long()]
        most = max_sample_count if max_sample_count > 0 else len(self.col_ind)
        drawn = [row[torch.randperm(len(row), generator=generator)[:most]] for row in rows]
        offsets = torch.tensor([0, *(len(row) for row in drawn)], dtype=torch.int32).cumsum(0, dtype=torch.int32)
        return offsets, torch.cat(drawn)


def append_unique(targets, neighbours, need_neighbor_raw_to_unique=False):
    """Targets first, the others in an order of its own."""
    assert need_neighbor_raw_to_unique
    others = sorted(set(neighbours.tolist()) - set(targets.tolist()), reverse=True)
    unique = torch.cat([targets, torch.tensor(others, dtype=targets.dtype)])
    place = {node: at for at, node in enumerate(unique.tolist())}
    return unique, torch.tensor([place[node] for node in neighbours.tolist()], dtype=torch.int32)


@pytest.fixture
def hook(monkeypatch, tmp_path):
    """The package's stand-in is installed; a file in the hook's place."""
    begun = []
    package, torch_part = ModuleType("pylibwholegraph"), ModuleType("pylibwholegraph.torch")
    vars(torch_part).update(
        init=lambda *world, wm_log_level: begun.append(world), finalize=lambda: None, GraphStructure=Structure,
        create_wholememory_tensor=Memory, WholeMemoryCommunicator=lambda comm: SimpleNamespace(wmb_comm=comm),
    )  # fmt: skip
    binding = SimpleNamespace(create_unique_id=lambda: "id", create_communicator=lambda uid, rank, world: "alone")
    modules = {
        "pylibwholegraph": package, "pylibwholegraph.torch": torch_part,
        "pylibwholegraph.torch.wholegraph_env": SimpleNamespace(),
        "pylibwholegraph.torch.graph_ops": SimpleNamespace(append_unique=append_unique),
        "pylibwholegraph.binding.wholememory_binding": binding,
    }  # fmt: skip
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(packages, "find_spec", lambda module: True)
    monkeypatch.setattr(wholegraph.atexit, "register", lambda function: None)
    path = tmp_path / "hook.py"
    path.write_text(HOOK)
    for name in ("library", "stored"):  # the caches stay as they are: the package can be begun once in a process
        monkeypatch.setattr(wholegraph, name, functools.cache(getattr(wholegraph, name).__wrapped__))
    yield path
    assert begun in ([], [(0, 1, 0, 1)]), "WholeGraph is begun once a process"


def source(graph, fanouts, hook):
    made = assemble("wholegraph", graph, fanouts, seed=5, device=CPU, threads=0, slots=4, sampler=hook).source
    assert isinstance(made, wholegraph.WholeMemorySource)
    return made


@pytest.mark.parametrize("fanouts", [(4, 3, 2), (-1,), (40, 1)])
def test_batches_are_the_plans_with_exact_numbers_of_neighbours(small_graph, hook, fanouts):
    made = source(small_graph, fanouts, hook)
    plan = Plan(shuffled(small_graph.tensor("train"), 0, 1), 50, 1)
    indices = []
    for batch in made.batches(plan, NullObserver()):
        seeds = plan.seeds(batch.index)
        check_batch(batch, small_graph, seeds, fanouts)
        assert torch.equal(batch.features, small_graph.tensor("features")[batch.nodes.long()])
        assert torch.equal(batch.labels, small_graph.tensor("labels")[seeds])
        indices.append(batch.index)
    assert indices == list(range(len(plan)))
    drawn = made.graph.structure.seeds
    assert len(set(drawn)) == len(drawn) == len(plan) * len(fanouts), "every hop of every batch has a seed of its own"


def test_memory_comes_from_the_hook_and_the_graph_is_kept_once(small_graph, hook):
    made = source(small_graph, (3,), hook)
    environment = sys.modules["pylibwholegraph.torch.wholegraph_env"]
    assert environment.torch_cpp_ext_loaded and environment.torch_cpp_ext_lib.get_wholegraph_env_fns() == 7
    assert source(small_graph, (2, 2), hook).graph is made.graph


def test_without_the_package_the_extra_is_named_before_anything_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "find_spec", lambda module: None)
    for attempt in (wholegraph.build_hook, wholegraph.library.__wrapped__):
        with pytest.raises(MachineError, match=r"needs the package pylibwholegraph\n.*pip install 'hone\[peers\]'"):
            attempt(tmp_path)


@pytest.mark.skipif(
    find_spec("pylibwholegraph") is None or not torch.cuda.is_available(), reason="needs hone[peers] and a GPU"
)
@pytest.mark.parametrize("fanouts", [(4, 3, 2), (-1,), (40, 1)])
def test_the_package_itself_draws_exact_numbers_of_neighbours(small_graph, compiled_store, fanouts):
    device = torch.device("cuda", 0)
    hook = wholegraph.build_hook(compiled_store)
    made = wholegraph.WholeMemorySource(small_graph, fanouts, device, hook, seed=5)
    plan = Plan(shuffled(small_graph.tensor("train"), 0, 1), 50, 1)
    for batch in made.batches(plan, NullObserver()):
        seeds = plan.seeds(batch.index)
        check_batch(batch, small_graph, seeds, fanouts)
        assert {tensor.device for tensor in batch.device_tensors()} == {device}
        assert torch.equal(batch.features.cpu(), small_graph.tensor("features")[batch.nodes.cpu().long()])
        assert torch.equal(batch.labels.cpu(), small_graph.tensor("labels")[seeds])
    first, again = (made.sample(plan.seeds(0).to(device), 0, 1) for _ in range(2))
    drawn = [sorted(batch.nodes[: batch.blocks[-1].num_src].tolist()) for batch in (first, again)]
    assert drawn[0] == drawn[1], "a batch's key decides what its first hop draws"

"""Sampling by PyTorch's operators: batches as the other systems' in law, and equal to them where nothing is drawn."""

from itertools import combinations

import pytest
import torch

from hone.core.errors import MachineError
from hone.gnn import pyg_gpu
from hone.gnn.pyg_gpu import FREE, OperatorSource, distinct_positions, require_gpu_memory
from hone.gnn.reference_sampler import ReferenceSampler
from tests.gnn.samples import check_batch

CPU = torch.device("cpu")
ON_GPU = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))


def positions(degree, fanout, seed=0):
    return distinct_positions(torch.as_tensor(degree), fanout, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("device", ["cpu", ON_GPU])
@pytest.mark.parametrize("fanouts", [(5, 3, 2), (-1,), (1, 1), (40, 1), (4, -1), (0, 3)])
def test_a_batch_is_what_it_should_be(small_graph, fanouts, device):
    source = OperatorSource(small_graph, fanouts, torch.device(device), seed=11)
    seeds = small_graph.tensor("train")[:60]
    for index in range(2):
        check_batch(source.sample(seeds.to(device), index, 0), small_graph, seeds, fanouts)
    assert (source.graph.first == FREE).all(), "the next batch numbers its own nodes"


@pytest.mark.parametrize("fanouts", [(-1, -1), (10_000, 10_000)])
def test_where_all_neighbours_are_taken_the_batch_equals_the_reference(small_graph, fanouts):
    seeds = small_graph.tensor("train")[:20]
    found = OperatorSource(small_graph, fanouts, CPU, seed=1).sample(seeds, 0, 0)
    wanted = ReferenceSampler(small_graph.indptr, small_graph.indices, fanouts, seed=2).sample(seeds, 0, 0)
    assert torch.equal(found.nodes, wanted.nodes) and found.nodes.dtype == wanted.nodes.dtype
    for ours, theirs in zip(found.device_tensors(), wanted.device_tensors(), strict=True):
        assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)


def test_a_batch_depends_on_its_key_alone(small_graph):
    seeds = small_graph.tensor("train")[:30]
    first, second = (OperatorSource(small_graph, (3, 2), CPU, seed=5) for _ in range(2))
    second.sample(seeds, 7, 0)
    wanted = first.sample(seeds, 2, 1)
    again = second.sample(seeds, 2, 1)
    assert all(torch.equal(a, b) for a, b in zip(wanted.device_tensors(), again.device_tensors(), strict=True))
    for other in (first.sample(seeds, 3, 1), first.sample(seeds, 2, 0)):
        assert not torch.equal(wanted.nodes, other.nodes)


def test_no_seeds_give_an_empty_batch(small_graph):
    batch = OperatorSource(small_graph, (3, 2), CPU, seed=0).sample(torch.zeros(0, dtype=torch.int64), 0, 0)
    assert len(batch.nodes) == 0 and batch.num_edges == 0
    assert [(block.num_dst, block.num_src, len(block.indptr)) for block in batch.blocks] == [(0, 0, 1)] * 2


def test_positions_are_distinct_and_below_the_degree():
    degree = torch.tensor([6, 7, 100, 2**31 - 2] * 300)
    for row, bound in zip(positions(degree, 5).tolist(), degree.tolist(), strict=True):
        assert len(set(row)) == 5 and all(0 <= position < bound for position in row)


def test_every_set_of_positions_is_equally_likely():
    """Chi-square over the 20 sets of 3 of 6, 19 degrees of freedom: beyond 60 once in a million."""
    draws = 20_000
    found = positions([6] * draws, 3, seed=3).sort(dim=1).values
    codes = (found * torch.tensor([36, 6, 1])).sum(1)
    counts = torch.tensor([int((codes == 36 * a + 6 * b + c).sum()) for a, b, c in combinations(range(6), 3)])
    assert int(counts.sum()) == draws
    assert float(((counts - draws / 20) ** 2 / (draws / 20)).sum()) < 60


def test_too_little_memory_is_said_before_anything_is_copied(small_graph, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000, 2000))
    with pytest.raises(MachineError, match=r"the graph needs .* GiB of GPU memory, 0\.0 GiB are free\n.*\[pipelined\]"):
        require_gpu_memory(small_graph, torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1 << 40, 1 << 40))
    require_gpu_memory(small_graph, torch.device("cuda"))


def test_training_and_validation_share_the_graph(small_graph):
    pyg_gpu.resident.cache_clear()
    first, second = (OperatorSource(small_graph, fanouts, CPU, seed=5) for fanouts in ((3, 2), (4,)))
    assert first.graph is second.graph

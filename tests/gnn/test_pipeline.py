"""Sources and transfers: the same batches in the same order, memory given back once, nothing left running."""

import threading
from dataclasses import replace

import pytest
import torch

from hone.core.errors import MachineError
from hone.gnn import pyg
from hone.gnn.batch import Batch
from hone.gnn.observer import NullObserver, SpanObserver
from hone.gnn.seeds import Plan, shuffled
from hone.gnn.systems import assemble
from hone.gnn.transfer import DirectTransfer, PipelinedTransfer

CPU = torch.device("cpu")
LADDER = ["plain", "fast_sampler", "shared_memory", "pipelined"]
SAMPLING = [*LADDER, "pyg_gpu"]


def pipeline(graph, system, library, threads=2, fanouts=(4, 3, 2)):
    return assemble(system, graph, fanouts, seed=5, device=CPU, threads=threads, slots=4, sampler=library)


def plan_of(graph, epoch=0):
    return Plan(shuffled(graph.tensor("train"), 0, epoch), 50, epoch)


def kept(batch):
    """A copy: the memory is used again."""
    return batch.mapped(torch.clone)


def equal(one, other):
    return (
        (one.index, one.epoch, one.num_seeds) == (other.index, other.epoch, other.num_seeds)
        and torch.equal(one.nodes, other.nodes)
        and all(torch.equal(a, b) for a, b in zip(one.device_tensors(), other.device_tensors(), strict=True))
    )


@pytest.mark.parametrize("system", SAMPLING)
def test_every_rung_gives_the_plans_batches_with_features_and_labels(small_graph, library, system):
    plan = plan_of(small_graph, epoch=3)
    chain = pipeline(small_graph, system, library)
    for _ in range(2):  # the workers serve for many epochs
        indices = []
        for batch in chain.batches(plan, NullObserver()):
            indices.append(batch.index)
            assert batch.epoch == 3
            assert torch.equal(batch.nodes[: batch.num_seeds].long(), plan.seeds(batch.index))
            assert torch.equal(batch.features, small_graph.tensor("features")[batch.nodes.long()])
            assert torch.equal(batch.labels, small_graph.tensor("labels")[plan.seeds(batch.index)])
        assert indices == list(range(len(plan)))
    chain.close()


def test_the_compiled_rungs_give_the_same_batches(small_graph, library):
    found = []
    for system in LADDER[1:]:
        chain = pipeline(small_graph, system, library)
        found.append(
            [
                replace(kept(batch), nodes=batch.nodes.clone())
                for batch in chain.batches(plan_of(small_graph), NullObserver())
            ]
        )
        chain.close()
    for other in found[1:]:
        assert all(equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_worker_processes_make_no_difference(small_graph, library):
    found = []
    for threads in (0, 2):
        chain = pipeline(small_graph, "plain", library, threads=threads)
        found.append(list(chain.batches(plan_of(small_graph), NullObserver())))
        chain.close()
    assert all(equal(a, b) for a, b in zip(*found, strict=True))


def test_the_observer_sees_every_batch_prepared(small_graph, library):
    for system in SAMPLING:
        observer = SpanObserver(CPU)
        chain = pipeline(small_graph, system, library)
        observer.begin_epoch()
        for _ in chain.batches(plan_of(small_graph), observer):
            pass
        observer.end_epoch()
        chain.close()
        prepared = {span.batch for span in observer.spans if span.stage == "prepare"}
        assert prepared == set(range(len(plan_of(small_graph))))


def test_the_whole_graph_is_one_batch_with_all_edges(small_graph, library):
    (batch,) = pipeline(small_graph, "full_batch", library).batches(plan_of(small_graph), NullObserver())
    info = small_graph.info
    assert torch.equal(batch.nodes[: info.num_train].long(), small_graph.tensor("train"))
    assert sorted(batch.nodes.tolist()) == list(range(info.num_nodes))
    for block in batch.blocks:
        assert (block.num_dst, block.num_src, block.num_edges) == (info.num_nodes, info.num_nodes, info.num_edges)
    block = batch.blocks[0]
    for i in range(0, info.num_nodes, 7):
        got = batch.nodes[block.indices[block.indptr[i] : block.indptr[i + 1]].long()]
        assert sorted(got.tolist()) == small_graph.neighbours(int(batch.nodes[i])).tolist()


def test_without_pyg_lib_the_system_pyg_says_what_is_missing(small_graph, library, monkeypatch):
    for name in ("WITH_PYG_LIB", "WITH_TORCH_SPARSE"):
        monkeypatch.setattr(pyg.library().typing, name, False)
    with pytest.raises(MachineError, match="install pyg-lib"):
        pipeline(small_graph, "pyg", library)


class Lender:
    """Batches that count how often they are given back."""

    def __init__(self, number, fails_at=None):
        self.number, self.fails_at = number, fails_at
        self.released = []

    def __iter__(self):
        for index in range(self.number):
            if index == self.fails_at:
                raise MachineError("the sampler broke")
            yield Batch(index, 0, torch.zeros(0), 0, (), release=lambda index=index: self.released.append(index))


@pytest.fixture(params=[DirectTransfer, PipelinedTransfer])
def transfer(request):
    before = threading.active_count()
    yield request.param(CPU)
    assert threading.active_count() == before, "a thread is left"


def test_a_batch_is_given_back_once_and_not_before_its_step_is_done(transfer):
    lender = Lender(6)
    for batch in transfer(iter(lender), NullObserver()):
        assert batch.index not in lender.released
    assert lender.released == list(range(6))


def test_what_breaks_in_the_source_breaks_the_loop(transfer):
    lender = Lender(6, fails_at=2)
    seen = []
    with pytest.raises(MachineError, match="the sampler broke"):
        for batch in transfer(iter(lender), NullObserver()):
            seen.append(batch.index)
    assert seen == lender.released == [0, 1]


def test_a_loop_that_breaks_off_leaves_nothing_behind(transfer):
    lender = Lender(50)
    batches = transfer(iter(lender), NullObserver())
    assert next(batches).index == 0
    batches.close()
    assert len(lender.released) == len(set(lender.released)) <= 4
    assert 0 in lender.released


def test_no_batches_are_no_batches(transfer):
    assert list(transfer(iter(Lender(0)), NullObserver())) == []


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: batches are copied to it")
@pytest.mark.parametrize("system", LADDER)
def test_batches_on_a_gpu_are_those_of_the_host(small_graph, library, system):
    device = torch.device("cuda", 0)
    expected = pipeline(small_graph, system, library)
    copied = assemble(system, small_graph, (4, 3, 2), seed=5, device=device, threads=2, slots=4, sampler=library)
    plan, nobody = plan_of(small_graph), NullObserver()
    for one, other in zip(expected.batches(plan, nobody), copied.batches(plan, nobody), strict=True):
        assert {tensor.device for tensor in other.device_tensors()} == {device}
        assert all(torch.equal(a, b.cpu()) for a, b in zip(one.device_tensors(), other.device_tensors(), strict=True))
    expected.close()
    copied.close()

"""Threads, slots and their ends: the same batches in order whoever prepares them, memory given back, nothing left."""

import gc
import multiprocessing
from dataclasses import replace

import pytest
import torch

from hone.gnn.sampling import Sampler, SamplerError, in_large_pages
from hone.gnn.sampling import handle as handle_module
from hone.gnn.sampling.native import PinHook
from hone.gnn.seeds import Plan, shuffled

FANOUTS = (5, 3, 2)


def plan_of(graph, epoch=0, batch_size=30, **ranks):
    return Plan(shuffled(graph.tensor("train"), 0, epoch), batch_size, epoch, **ranks)


def copied(batch):
    """With memory of its own."""
    return replace(batch.mapped(torch.clone), nodes=batch.nodes.clone())


def kept(sampler, plan):
    """All batches of an epoch, copied."""
    found = []
    for batch in sampler.epoch(plan):
        found.append(copied(batch))
        batch.release()
    return found


def equal(one, other):
    pairs = zip(one.device_tensors(), other.device_tensors(), strict=True)
    return (
        one.index == other.index and torch.equal(one.nodes, other.nodes) and all(torch.equal(*pair) for pair in pairs)
    )


@pytest.mark.parametrize(("threads", "slots"), [(2, None), (16, None), (16, 3), (3, 1)])
def test_threads_and_slots_change_nothing(small_graph, library, threads, slots):
    plan = plan_of(small_graph)
    with Sampler(small_graph, FANOUTS, library, threads=1) as sampler:
        alone = kept(sampler, plan)
    with Sampler(small_graph, FANOUTS, library, threads=threads, slots=slots) as sampler:
        together = kept(sampler, plan)
    assert [batch.index for batch in together] == list(range(len(plan))), "in order"
    assert all(equal(*pair) for pair in zip(alone, together, strict=True))


def test_seeds_epochs_and_batches_draw_anew(small_graph, library):
    def drawn(seed, epoch, batch):
        with Sampler(small_graph, FANOUTS, library, seed=seed) as sampler:
            return sampler.sample(torch.arange(60), batch, epoch)

    first = drawn(0, 0, 0)
    assert equal(first, drawn(0, 0, 0))
    assert not any(equal(first, drawn(*other)) for other in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0)))


def test_the_ranks_of_a_run_draw_what_one_process_would(small_graph, library):
    """A node draws the same wherever it is: each rank's nodes are among those of the whole batch."""
    with Sampler(small_graph, FANOUTS, library, threads=2) as sampler:
        whole = kept(sampler, plan_of(small_graph, batch_size=40))
        ranks = [kept(sampler, plan_of(small_graph, batch_size=20, rank=rank, world=2)) for rank in (0, 1)]
    for batch, *parts in zip(whole, *ranks, strict=True):
        assert set(batch.nodes.tolist()) == {node for part in parts for node in part.nodes.tolist()}


def test_slots_are_used_again_and_may_be_given_back_in_any_order(small_graph, library):
    with Sampler(small_graph, FANOUTS, library, threads=2, slots=4) as sampler:
        places, held = set(), []
        for batch in sampler.epoch(plan_of(small_graph)):
            places.add(batch.features.data_ptr())
            held.append(batch)
            if len(held) == 3:
                held.pop(1).release()
                held.pop(0).release()
        held[0].release()
    assert len(places) <= 8, "4 slots, each of which may have grown once"


def test_a_consumer_that_releases_nothing_is_told(small_graph, library):
    with Sampler(small_graph, FANOUTS, library, threads=2, slots=3) as sampler:
        held = []
        with pytest.raises(SamplerError, match="every slot holds a batch"):
            held.extend(sampler.epoch(plan_of(small_graph)))  # what came before the error is not kept
        with pytest.raises(SamplerError, match="still held"):
            next(sampler.epoch(plan_of(small_graph)))


def test_an_epoch_may_end_early(small_graph, library):
    with Sampler(small_graph, FANOUTS, library, threads=4) as sampler:
        whole = kept(sampler, plan_of(small_graph))
        for _ in range(5):
            epoch = sampler.epoch(plan_of(small_graph))
            next(epoch).release()
            epoch.close()
        with pytest.raises(KeyboardInterrupt):
            for batch in sampler.epoch(plan_of(small_graph)):
                batch.release()
                raise KeyboardInterrupt
        gc.collect()  # the interrupted iterator
        assert all(equal(*pair) for pair in zip(whole, kept(sampler, plan_of(small_graph)), strict=True))


def test_a_batch_outlives_its_sampler_and_is_released_once(small_graph, library):
    sampler = Sampler(small_graph, FANOUTS, library, threads=2)
    epoch = sampler.epoch(plan_of(small_graph))
    batch = next(epoch)
    copy = copied(batch)
    epoch.close()
    sampler.close()
    sampler.close()
    with pytest.raises(SamplerError, match="closed"):
        next(sampler.epoch(plan_of(small_graph)))
    del sampler, epoch
    gc.collect()
    assert equal(batch, copy)
    batch.release()
    batch.release()


def test_bad_seeds_end_the_epoch_with_their_name(small_graph, library):
    with Sampler(small_graph, FANOUTS, library, threads=3) as sampler:
        for seeds, said in (([5, 9, 5], "node 5 is twice"), ([3, 600], "seed 600 is not a node"), ([-1], "seed -1 is")):
            with pytest.raises(SamplerError, match=said):
                kept(sampler, Plan(torch.tensor(seeds), 10))
            with pytest.raises(SamplerError, match=said):
                sampler.sample(torch.tensor(seeds), 0, 0)
        assert len(kept(sampler, plan_of(small_graph))) == 12, "the next epoch is as usual"


def test_forked_processes_sample_too(small_graph, library):
    """As the workers of a torch DataLoader do; the threads stay behind in the parent."""
    context = multiprocessing.get_context("fork")
    with Sampler(small_graph, FANOUTS, library, threads=2) as sampler:
        here = sampler.sample(torch.arange(40), 1, 2)
        reader, writer = context.Pipe(duplex=False)
        child = context.Process(target=lambda: writer.send(sampler.sample(torch.arange(40), 1, 2).nodes.tolist()))
        child.start()
        assert reader.recv() == here.nodes.tolist()
        child.join()
    assert child.exitcode == 0


def test_large_pages_give_the_same_batches(small_graph, library):
    with Sampler(small_graph, FANOUTS, library, threads=1) as sampler:
        mapped = kept(sampler, plan_of(small_graph))
    with Sampler(in_large_pages(small_graph), FANOUTS, library, threads=1) as sampler:
        copied = kept(sampler, plan_of(small_graph))
    assert all(equal(*pair) for pair in zip(mapped, copied, strict=True))


def test_slots_are_page_locked_and_unlocked(small_graph, library, monkeypatch):
    """With a stand-in for CUDA's runtime."""
    locked = {}

    def pin(address, size_bytes, lock):
        if lock:
            locked[address] = size_bytes
        else:
            assert locked.pop(address) == size_bytes
        return 0

    monkeypatch.setattr(handle_module, "_pin_hook", lambda: PinHook(pin))
    sampler = Sampler(small_graph, FANOUTS, library, threads=2, slots=2, pin_memory=True)
    for batch in sampler.epoch(plan_of(small_graph)):
        assert batch.features.data_ptr() in locked and batch.blocks[0].indices.data_ptr() in locked
        batch.release()
    del batch
    sampler.close()
    del sampler
    gc.collect()
    assert not locked


def test_memory_that_cannot_be_locked_is_an_error(small_graph, library, monkeypatch):
    monkeypatch.setattr(handle_module, "_pin_hook", lambda: PinHook(lambda *_: 2))
    with (
        Sampler(small_graph, FANOUTS, library, threads=2, pin_memory=True) as sampler,
        pytest.raises(SamplerError, match="cannot page-lock"),
    ):
        kept(sampler, plan_of(small_graph))

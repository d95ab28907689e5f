"""Timers in an epoch: parts that add up, from moments with known answers and from epochs that were really trained."""

import pytest
import torch

from hone.gnn.device.loop import AHEAD
from hone.gnn.device.parts import MOMENTS, description, process_parts
from hone.records.gnn import EpochParts
from tests.gnn.device.test_loop import Made, plan_of
from tests.gnn.device.test_training import run, told

US = 1e-6


def step(begun, *, computed, joined, summed, stepped, loss=(0, 0)):
    """Moments of one step in microseconds, as a row in seconds."""
    found = {"begun": begun, "loss_ready": loss[0], "loss_summed": loss[1], "computed": computed}
    found |= {"joined": joined, "summed": summed, "stepped": stepped}
    return [US * found[name] for name in MOMENTS]


def parts_us(*ranks, sample_us=None):
    """Parts of each rank: (step, all-reduce, waiting for ranks, waiting for batches)."""
    sampled = torch.tensor(sample_us or [0.0] * len(ranks), dtype=torch.float64) * US
    found = process_parts(torch.tensor(ranks, dtype=torch.float64), sampled)
    return [
        pytest.approx([part.step_s / US, part.all_reduce_s / US, part.wait_ranks_s / US, part.wait_batch_s / US])
        for part in found
    ]


def test_a_process_alone_steps_and_waits_for_batches():
    first = step(30, computed=100, joined=110, summed=111, stepped=120, loss=(40, 41))
    second = step(125, computed=200, joined=200, summed=201, stepped=210, loss=(130, 131))
    (found,) = parts_us([first, second])
    assert found == [90 + 85, 0, 0, 30 + 5]
    (whole,) = process_parts(torch.tensor([[first, second]], dtype=torch.float64), torch.tensor([7.0]))
    assert whole.sample_s == 7.0


def test_the_last_to_come_to_a_sum_waits_for_nobody():
    early = step(0, computed=60, joined=60, summed=100, stepped=110)
    late = step(0, computed=85, joined=85, summed=100, stepped=110)
    assert parts_us([early], [late]) == [[70, 15, 25, 0], [95, 15, 0, 0]]


@pytest.mark.parametrize(
    ("joined", "step_us", "all_reduce_us", "wait_us"),
    [(50, 60, 0, 0), (58, 60, 0, 8), (85, 60, 5, 30), (95, 70, 5, 30)],
    ids=["hidden", "waits for a part of the wait", "waits for all of it", "waits for other work, too"],
)
def test_of_the_loss_counts_what_the_step_waits_for(joined, step_us, all_reduce_us, wait_us):
    own = step(0, computed=50, joined=joined, summed=joined, stepped=joined + 10, loss=(10, 45))
    quick = step(0, computed=50, joined=50, summed=50, stepped=60, loss=(40, 45))
    found = parts_us([own], [quick])
    assert found[0] == [step_us, all_reduce_us, wait_us, 0]
    assert found[1] == [60, 0, 0, 0]


@pytest.mark.parametrize("group", [1, 16])
def test_a_watched_epoch_trains_as_any_other_and_its_moments_are_in_order(kernels, device_graph, group):
    usual, made = Made(kernels, device_graph), Made(kernels, device_graph)
    expected, loop = usual.loop(group=group), made.loop(group=group)
    assert loop.run(plan_of(0)) == expected.run(plan_of(0))
    with loop.watched() as watch:
        for epoch in (1, 2):
            assert loop.run(plan_of(epoch)) == expected.run(plan_of(epoch))
    steps = watch.steps
    assert steps.shape == (len(plan_of(2)), len(MOMENTS)) and len(steps) > AHEAD
    on_its_stream = steps[:, [MOMENTS.index(name) for name in MOMENTS if not name.startswith("loss")]].flatten()
    assert bool((on_its_stream.diff() >= 0).all()) and float(on_its_stream[0]) >= 0, "batch after batch"
    loss = steps[:, [MOMENTS.index(name) for name in ("begun", "loss_ready", "loss_summed", "joined")]]
    assert bool((loss.diff(dim=1) >= 0).all())
    assert watch.sample_s > 0
    assert loop.run(plan_of(3)) == expected.run(plan_of(3))
    assert torch.equal(watch.steps, steps), "nobody looks on any more"
    assert torch.equal(made.weights.parameters, usual.weights.parameters)


@pytest.mark.parametrize("model", ["sage", "gin"])
def test_a_training_says_where_its_last_epoch_goes_and_keeps_what_it_learned(
    model, small_graph, compiled, device, tmp_path, monkeypatch
):
    work = told(device, model=model, epochs=2, max_batches=3, deterministic=True, validation=None)
    log = tmp_path / "log"
    found = run(work, small_graph, compiled, tmp_path, log=log)
    parts = found.parts
    assert (parts.epoch, parts.batches, len(parts.processes)) == (1, 3, 1)
    (own,) = parts.processes
    assert own.all_reduce_s == own.wait_ranks_s == 0
    assert min(own.sample_s, own.step_s, own.wait_batch_s) > 0
    assert own.step_s + own.wait_batch_s <= parts.epoch_s
    assert description(parts, found.epochs[-1].epoch_s) in log.read_text()
    monkeypatch.setattr("hone.gnn.device.training.DeviceTrainer.parts", lambda *_: None)
    assert run(work, small_graph, compiled, tmp_path / "without").parts is None
    states = [torch.load(folder / "run.pt")["parameters"] for folder in (tmp_path, tmp_path / "without")]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_the_line_in_the_log_is_in_microseconds_a_batch():
    alike = {"all_reduce_s": 0.0, "wait_ranks_s": 0.0, "wait_batch_s": 0.0}
    processes = [{"sample_s": 1e-3, "step_s": 2e-3, **alike}, {"sample_s": 1e-3, "step_s": 3e-3, **alike}]
    parts = EpochParts(epoch=4, batches=10, epoch_s=0.0041, processes=processes)
    said = description(parts, 0.004)
    assert "parts of epoch 4, once more with timers (0.0041 s, without 0.004 s)" in said
    assert "of 2 processes: sample 100.0 to 100.0, step 200.0 to 300.0, all reduce 0.0 to 0.0" in said

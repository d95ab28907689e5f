"""The system `device` from files to files, beside the other systems."""

from contextlib import contextmanager

import pytest
import torch

from hone.analysis.csv_records import read_kernel_times
from hone.core.errors import ConfigError
from hone.gnn import training_stage
from hone.gnn.device import roofline
from hone.gnn.device.native import Library
from hone.gnn.inference_stage import infer
from hone.gnn.training_stage import train
from hone.records import InferenceRun, TrainingRun
from hone.records.gnn import ALL_KERNELS, WHOLE_EPOCH
from tests.gnn.blocks import interrupted_after_two_epochs, job


def told(device, **options):
    options = {"epochs": 4, "precision": "bfloat16", **options}
    # The config asks for a GPU: on a CPU the system exists for tests alone.
    return job("device", **options, device="cuda").model_copy(update={"device": device.type})


def run(work, graph, library, folder, **options):
    train(work, graph.path, library, output=folder / "run.json", checkpoint=folder / "run.pt", **options)
    return TrainingRun.model_validate_json((folder / "run.json").read_text())


def test_it_trains_and_infers(small_graph, compiled, device, tmp_path):
    work = told(device, inference={"fanouts": [(5, 5, 5), (4, 4, 4)], "layerwise": True})
    found = run(work, small_graph, compiled, tmp_path)
    losses = [epoch.loss for epoch in found.epochs]
    assert losses[-1] < losses[0]
    assert all(epoch.sampled_edges > 0 and epoch.unique_nodes > 0 for epoch in found.epochs)
    assert found.best_epoch == max(found.epochs, key=lambda epoch: epoch.valid_accuracy).epoch
    infer(work, small_graph.path, compiled, tmp_path / "run.pt", output=tmp_path / "inference.json", scratch=tmp_path)
    results = InferenceRun.model_validate_json((tmp_path / "inference.json").read_text()).results
    assert [(item.mode, item.split) for item in results] == [
        ("sampled", "valid"), ("sampled", "test"), ("sampled", "valid"), ("sampled", "test"),
        ("layerwise", "valid"), ("layerwise", "test"),
    ]  # fmt: skip
    assert all(item.nodes == 120 and item.accuracy > 0.3 for item in results)
    sampled, whole = results[1].accuracy, results[5].accuracy
    assert sampled == pytest.approx(whole, abs=0.15)


@pytest.mark.slow
def test_the_checkpoint_holds_the_best_epoch(small_graph, compiled, device, tmp_path):
    work = told(device, epochs=5, lr=0.05, inference={"fanouts": [(5, 5, 5)], "seed": 0})
    found = run(work, small_graph, compiled, tmp_path)
    infer(work, small_graph.path, compiled, tmp_path / "run.pt", output=tmp_path / "inference.json", scratch=tmp_path)
    results = InferenceRun.model_validate_json((tmp_path / "inference.json").read_text()).results
    (valid,) = [item for item in results if item.split == "valid"]
    assert valid.accuracy == found.epochs[found.best_epoch].valid_accuracy


@pytest.mark.slow
def test_an_interrupted_training_goes_on(small_graph, compiled, device, tmp_path, monkeypatch):
    work = told(device, plateau={"factor": 0.5, "patience": 2})
    whole = run(work, small_graph, compiled, tmp_path / "whole")
    with interrupted_after_two_epochs(monkeypatch):
        run(work, small_graph, compiled, tmp_path / "broken")
    resumed = run(work, small_graph, compiled, tmp_path / "broken")
    assert [epoch.loss for epoch in resumed.epochs] == pytest.approx([epoch.loss for epoch in whole.epochs], rel=1e-3)
    assert [epoch.learning_rate for epoch in resumed.epochs] == [epoch.learning_rate for epoch in whole.epochs]


@pytest.mark.slow
def test_a_deterministic_training_gives_the_same_bits_twice(small_graph, compiled, device, tmp_path):
    work = told(device, deterministic=True, epochs=2, max_batches=3)
    found = [run(work, small_graph, compiled, tmp_path / name) for name in ("once", "twice")]
    assert [epoch.loss for epoch in found[0].epochs] == [epoch.loss for epoch in found[1].epochs]
    states = [torch.load(tmp_path / name / "run.pt")["parameters"] for name in ("once", "twice")]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert [epoch.batches for epoch in found[0].epochs] == [3, 3]


LAUNCHED = {
    "relabel": ["number_nodes", "relabel", "offset_readers", "list_readers"],
    "loss": ["loss_and_gradient"],
}


@contextmanager
def launches(monkeypatch):
    """Names of all kernels that are put on a stream, products among them."""
    found, call, product = [], Library.call, torch.mm

    def called(library, name, *arguments):
        found.extend(f"hone::{kernel}(" for kernel in LAUNCHED.get(name, [name]))
        return call(library, name, *arguments)

    def multiplied(*arguments, **options):
        found.append("gemm")
        return product(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Library, "call", called)
        patch.setattr(torch, "mm", multiplied)
        yield found


def test_the_kernels_of_a_training_have_a_row_each(small_graph, compiled, device, tmp_path, monkeypatch):
    def watched(loop, plan, batches):
        with launches(monkeypatch) as names:
            assert len(list(loop.one_by_one(plan, batches))) == batches
        return [roofline.Launch(name, at, 1.0) for at, name in enumerate(names)]

    monkeypatch.setattr(roofline, "watched", watched)
    monkeypatch.setattr(roofline, "best_of", lambda device: roofline.Machine(4e6, 8e8))
    training_stage.roofline(told(device), small_graph.path, compiled, output=tmp_path / "times.csv")
    rows = read_kernel_times(tmp_path / "times.csv")
    times = {row.kernel: row.measured_us for row in rows}
    assert len(times) == len(rows) == 30
    several = {name: time for name, time in times.items() if time != 1.0}
    assert set(several) - {ALL_KERNELS, WHOLE_EPOCH} == {f"products, layer {n} backward" for n in (2, 3)}
    assert times[ALL_KERNELS] == pytest.approx(28 + 2)
    assert rows[-2].share == pytest.approx(1.0)


def test_the_kernels_of_other_models_have_none(small_graph, compiled, tmp_path):
    with pytest.raises(ConfigError, match="knows the kernels of sage, not of gin"):
        training_stage.roofline(
            told(torch.device("cpu"), model="gin"), small_graph.path, compiled, output=tmp_path / "no.csv"
        )

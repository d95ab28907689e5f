"""Training and inference from files to files."""

from dataclasses import replace

import pytest
import torch

from hone.core.errors import ConfigError, RecordError
from hone.gnn import checkpoint, training_stage
from hone.gnn.compiled import compiled_library
from hone.gnn.inference_stage import infer
from hone.gnn.training_stage import train
from hone.records import InferenceRun, TrainingRun
from tests.gnn.blocks import interrupted_after_two_epochs, job


def run(told, graph, library, folder):
    paths = {"output": folder / "run.json", "checkpoint": folder / "run.pt"}
    train(told, graph.path, library, **paths)
    return TrainingRun.model_validate_json(paths["output"].read_text())


def inferred(told, graph, library, folder):
    infer(told, graph.path, library, folder / "run.pt", output=folder / "inference.json", scratch=folder)
    return InferenceRun.model_validate_json((folder / "inference.json").read_text())


@pytest.mark.parametrize("system", ["plain", "fast_sampler", "shared_memory", "pipelined", "pyg_gpu", "full_batch"])
def test_every_system_trains_and_infers(small_graph, library, tmp_path, system):
    told = job(system, epochs=3, inference={"fanouts": [(5, 5, 5), (2, 2, 2)], "layerwise": True})
    found = run(told, small_graph, library, tmp_path)
    assert (found.system, found.graph, found.model, found.num_train) == (system, "small", "sage", 360)
    assert [epoch.epoch for epoch in found.epochs] == [0, 1, 2]
    assert {epoch.batches for epoch in found.epochs} == {1 if system == "full_batch" else 6}
    assert found.best_epoch == max(found.epochs, key=lambda epoch: epoch.valid_accuracy).epoch
    assert {span.stage for span in found.timeline} >= {"train", "blocked"}
    assert (tmp_path / "run.pt").exists() and not list(tmp_path.glob("*unfinished"))
    results = inferred(told, small_graph, library, tmp_path).results
    places = [(item.mode, item.fanouts, item.split) for item in results]
    assert places == [
        ("sampled", (5, 5, 5), "valid"), ("sampled", (5, 5, 5), "test"), ("sampled", (2, 2, 2), "valid"),
        ("sampled", (2, 2, 2), "test"), ("layerwise", (), "valid"), ("layerwise", (), "test"),
    ]  # fmt: skip
    assert all(item.nodes == 120 and item.accuracy > 0.25 for item in results)
    for item in results:
        assert sum(part.nodes for part in item.by_degree) == item.nodes
        assert sum(part.correct for part in item.by_degree) == item.correct


def test_a_peer_trains_other_layers_to_the_same_losses(small_graph, library, tmp_path):
    runs = []
    for convolutions in ("pyg", "torch"):
        folder = tmp_path / convolutions
        folder.mkdir()
        told = job("pyg_gpu", convolutions=convolutions)
        runs.append(run(told, small_graph, library, folder))
        assert all(item.accuracy > 0.25 for item in inferred(told, small_graph, library, folder).results)
    assert [item.convolutions for item in runs] == ["pyg", "torch"]
    theirs, plain = ([epoch.loss for epoch in item.epochs] for item in runs)
    assert plain == pytest.approx(theirs, rel=1e-3)
    assert run(job("pipelined"), small_graph, library, tmp_path).convolutions == ""


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("convolutions", ["pyg", "torch"])
@pytest.mark.parametrize("system", ["pyg_gpu", "wholegraph"])
def test_peers_train_and_infer_on_a_gpu(small_graph, compiled_store, tmp_path, system, convolutions):
    if system == "wholegraph":
        pytest.importorskip("pylibwholegraph")
    told = job(system, device="cuda", precision="bfloat16", epochs=5, lr=0.05, convolutions=convolutions)
    compiled = compiled_library(told, compiled_store)
    losses = [epoch.loss for epoch in run(told, small_graph, compiled, tmp_path).epochs]
    assert losses[-1] < losses[0]
    assert all(item.accuracy > 0.25 for item in inferred(told, small_graph, compiled, tmp_path).results)


def test_a_split_without_nodes_is_said_before_anything_is_computed(small_graph, library, tmp_path, monkeypatch):
    empty = replace(small_graph, info=small_graph.info.model_copy(update={"num_valid": 0}))
    monkeypatch.setattr(training_stage.Graph, "open", lambda _: empty)
    with pytest.raises(ConfigError, match=r"no epoch can be validated(.|\n)*validation: null and inference: \{splits"):
        run(job("pipelined"), small_graph, library, tmp_path)
    with pytest.raises(
        ConfigError, match=r"split 'valid', so it has no accuracy(.|\n)*write inference: \{splits: \[test"
    ):
        inferred(job("pipelined"), small_graph, library, tmp_path)


def test_the_checkpoint_holds_the_best_epoch(small_graph, library, tmp_path):
    """Inference with the validation's own fan-outs and seed gives the validation's accuracy."""
    told = job("pipelined", epochs=6, lr=0.05, inference={"fanouts": [(5, 5, 5)], "seed": 0})
    found = run(told, small_graph, library, tmp_path)
    (valid,) = [item for item in inferred(told, small_graph, library, tmp_path).results if item.split == "valid"]
    assert valid.accuracy == found.epochs[found.best_epoch].valid_accuracy


@pytest.mark.parametrize("system", ["pipelined", "full_batch"])
def test_an_interrupted_training_goes_on(small_graph, library, tmp_path, monkeypatch, system):
    told = job(system, model="gin", epochs=4, validation={"every_epochs": 2})
    whole = run(told, small_graph, library, tmp_path / "whole")
    with interrupted_after_two_epochs(monkeypatch):
        run(told, small_graph, library, tmp_path / "broken")
    assert [path.name for path in (tmp_path / "broken").iterdir()] == ["run.pt.unfinished"]
    resumed = run(told, small_graph, library, tmp_path / "broken")
    assert [epoch.loss for epoch in resumed.epochs] == [epoch.loss for epoch in whole.epochs]
    states = [checkpoint.load(tmp_path / name / "run.pt")["parameters"] for name in ("whole", "broken")]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_what_another_job_left_unfinished_is_not_taken_up(small_graph, library, tmp_path):
    other = {"digest": "of another job", "learner": {}, "progress": {}}
    checkpoint.save(tmp_path / "run.pt.unfinished", other)
    assert len(run(job("pipelined"), small_graph, library, tmp_path).epochs) == 2


def test_scaled_sums_reach_training_and_inference_on_samples(small_graph, library, tmp_path):
    """Parameters differ with it; of the same parameters, inference on samples does and the one layer by layer not."""
    options = {"model": "gin", "lr": 0.05, "inference": {"fanouts": [(2, 2, 2)], "layerwise": True}}
    plain, scaled = (job("pipelined", scaled_sums=wanted, **options) for wanted in (False, True))
    losses = [run(told, small_graph, library, tmp_path).epochs[-1].loss for told in (plain, scaled)]
    assert losses[0] != losses[1]
    results = [inferred(told, small_graph, library, tmp_path).results for told in (plain, scaled)]
    same = [a.correct == b.correct for a, b in zip(*results, strict=True)]
    assert same == [False, False, True, True]


def test_a_job_is_digested_with_its_graph_and_without_its_inference(small_graph):
    info = small_graph.info
    base = job("pipelined").digest(info)
    assert base == job("pipelined", inference={"layerwise": True}).digest(info)
    assert base != job("pipelined", lr=0.5).digest(info)
    assert base != job("pipelined").digest(info.model_copy(update={"sha256": {**info.sha256, "labels.npy": "0"}}))


def test_a_checkpoint_of_another_model_is_refused(small_graph, library, tmp_path):
    run(job("pipelined"), small_graph, library, tmp_path)
    with pytest.raises(RecordError, match="not of this model and graph"):
        inferred(job("pipelined", hidden=9), small_graph, library, tmp_path)


def test_without_validation_the_last_parameters_are_kept(small_graph, library, tmp_path):
    found = run(job("pipelined", validation=None), small_graph, library, tmp_path)
    assert found.best_epoch is None
    assert [epoch.valid_accuracy for epoch in found.epochs] == [None, None]
    assert inferred(job("pipelined", validation=None), small_graph, library, tmp_path).results


def test_only_what_pytorch_and_numpy_sample_does_without_a_compiler(tmp_path, monkeypatch):
    assert compiled_library(job("plain"), tmp_path) is None
    assert compiled_library(job("pyg_gpu"), tmp_path) is None
    monkeypatch.setattr("hone.gnn.sampling.build_sampler", lambda store: store / "sampler.so")
    assert compiled_library(job("pipelined"), tmp_path) == tmp_path / "sampler.so"
    assert training_stage.INFERENCE_SYSTEM["full_batch"] == "pipelined", "which is why it needs the sampler, too"

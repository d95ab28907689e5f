"""Steps on a batch of fixed sizes teach what other steps teach; on a GPU they are one launch each."""

from dataclasses import replace

import pytest
import torch

from hone.config.models import FAMILIES
from hone.config.trainings import Plateau
from hone.gnn import captured
from hone.gnn.captured import CapturedLearner
from hone.gnn.compiled import compiled_library
from hone.gnn.distributed import Ranks
from hone.gnn.fixed_batch import measured_sizes
from hone.gnn.learner import Learner
from hone.gnn.models import build_model
from hone.gnn.observer import NullObserver
from hone.gnn.peer_layers import with_peer_layers
from hone.gnn.seeds import Plan, shuffled
from hone.gnn.systems import assemble
from hone.gnn.training_stage import train
from hone.records import TrainingRun
from tests.gnn.blocks import job

CPU = torch.device("cpu")
MODELS = [model for model, family in FAMILIES.items() if not family.normalises]
SEEDS = 50
ON_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.fixture
def epochs(small_graph, library):
    """Two epochs of batches whose arrays are their own."""
    return batches_of("shared_memory", small_graph, library)


def batches_of(system, graph, library, device=CPU):
    """Two epochs of what a system samples."""
    pipeline = assemble(system, graph, (5, 3), seed=1, device=device, threads=2, slots=4, sampler=library)
    plans = [Plan(shuffled(graph.tensor("train"), 0, epoch), SEEDS, epoch) for epoch in (0, 1)]
    made = [batch.mapped(torch.clone) for plan in plans for batch in pipeline.batches(plan, NullObserver())]
    pipeline.close()
    return made


def learner(
    graph, batches, *, fixed=True, model="sage", dropout=0.0, device=CPU, ranks=None, precision="float32", peer=False
):
    """`peer`: of PyTorch's own operators."""
    network = build_model(
        model, inputs=graph.info.feature_dim, hidden=16, outputs=graph.info.num_classes, layers=2, dropout=dropout,
        seed=0,
    )  # fmt: skip
    network = with_peer_layers(network, "torch") if peer else network
    hyper = FAMILIES[model].published.model_copy(update={"lr": 0.01})
    named = {"seed": 0, "precision": precision, "device": device, "ranks": ranks or Ranks()}
    if not fixed:
        return Learner(network, hyper, Plateau(patience=3), **named)
    return CapturedLearner(network, hyper, Plateau(patience=3), **named, sizes=measured_sizes(batches, SEEDS))


def taught(made, batches):
    """Parameters, learning rate and loss after steps on all batches."""
    for batch in batches:
        made.step(batch.to(made.device), batch.num_seeds)
    parameters = torch.cat([parameter.detach().flatten() for parameter in made.bare_model.parameters()])
    return parameters.cpu(), float(made.lr), made.take_loss()


def close(got, wanted, tolerance=1e-5):
    assert torch.allclose(got[0], wanted[0], rtol=tolerance, atol=tolerance)
    assert got[1:] == pytest.approx(wanted[1:], rel=tolerance)


@pytest.mark.parametrize("model", MODELS)
def test_what_fills_a_batch_up_teaches_nothing(small_graph, epochs, model):
    """Without dropout, whose masks have the batch's size."""
    made = learner(small_graph, epochs, model=model)
    close(taught(made, epochs), taught(learner(small_graph, epochs, model=model, fixed=False), epochs))
    assert made.misfits == 0


@pytest.mark.parametrize("system", ["pyg_gpu", "shared_memory"])
def test_it_teaches_nothing_in_a_peer_s_layers_either(small_graph, library, system):
    batches = batches_of(system, small_graph, library)
    made = learner(small_graph, batches, peer=True)
    got = taught(made, batches)
    close(got, taught(learner(small_graph, batches, peer=True, fixed=False), batches))
    close(got, taught(learner(small_graph, batches), batches), 1e-4)
    assert made.misfits == 0


def test_a_batch_that_does_not_fit_is_stepped_on_by_itself(small_graph, epochs):
    made = learner(small_graph, epochs)
    made.sizes = replace(made.sizes, nodes=epochs[0].blocks[0].num_src)
    large = sum(batch.blocks[0].num_src > made.sizes.nodes for batch in epochs)
    close(taught(made, epochs), taught(learner(small_graph, epochs, fixed=False), epochs))
    assert made.misfits == large > 0


def test_dropout_depends_on_the_batch_alone(small_graph, epochs):
    steps = [taught(learner(small_graph, epochs, dropout=0.5), [batch]) for batch in (epochs[0], epochs[0], epochs[1])]
    assert torch.equal(steps[0][0], steps[1][0]) and not torch.equal(steps[0][0], steps[2][0])


def test_an_interrupted_training_goes_on(small_graph, epochs):
    whole = taught(learner(small_graph, epochs, dropout=0.5), epochs)
    first = learner(small_graph, epochs, dropout=0.5)
    _, _, lost = taught(first, epochs[:5])
    second = learner(small_graph, epochs, dropout=0.5)
    second.load_state(first.state())
    parameters, rate, loss = taught(second, epochs[5:])
    assert torch.equal(parameters, whole[0]) and rate == whole[1]
    assert lost + loss == pytest.approx(whole[2])


def test_a_model_that_normalises_and_several_processes_are_refused(small_graph, epochs):
    for values in ({"model": "gin"}, {"model": "sage_ri"}, {"ranks": Ranks(rank=0, world=2)}):
        with pytest.raises(ValueError, match="without batch normalisation"):
            learner(small_graph, epochs, **values)


def test_families_say_whether_they_normalise(small_graph, epochs):
    for model, family in FAMILIES.items():
        modules = learner(small_graph, epochs, model=model, fixed=False).bare_model.modules()
        assert family.normalises == any(isinstance(module, captured.BatchNorm) for module in modules)


@pytest.mark.parametrize(("system", "layers"), [("plain", "pyg"), ("pipelined", "pyg"), ("pyg_gpu", "torch")])
def test_a_job_trains_so(small_graph, library, tmp_path, system, layers):
    plain = job(system, epochs=3, lr=0.05, convolutions=layers)
    told = plain.model_copy(update={"captured": True})
    assert told.digest(small_graph.info) != plain.digest(small_graph.info)
    train(told, small_graph.path, library, output=tmp_path / "run.json", checkpoint=tmp_path / "run.pt")
    run = TrainingRun.model_validate_json((tmp_path / "run.json").read_text())
    epochs = run.epochs
    assert run.captured and [epoch.batches for epoch in epochs] == [6] * 3
    assert epochs[-1].loss < epochs[0].loss and epochs[-1].valid_accuracy > 0.25


@ON_GPU
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_launch_of_the_graph_does_what_the_step_does(small_graph, epochs, model, dropout, monkeypatch):
    """Dropout, too: the graph draws from the generator's state."""
    device, batches = torch.device("cuda", 0), epochs * 2
    one_launch = learner(small_graph, epochs, model=model, dropout=dropout, device=device)
    got = taught(one_launch, batches)
    assert one_launch._replay is not None
    monkeypatch.setattr(captured, "FIRST_STEPS", 1000)
    close(got, taught(learner(small_graph, epochs, model=model, dropout=dropout, device=device), batches), 1e-4)


@ON_GPU
def test_a_step_is_captured_while_other_threads_copy(small_graph, library, tmp_path):
    told = job("pipelined", device="cuda", precision="bfloat16", epochs=6, lr=0.05).model_copy(
        update={"captured": True}
    )
    train(told, small_graph.path, library, output=tmp_path / "run.json", checkpoint=tmp_path / "run.pt")
    losses = [epoch.loss for epoch in TrainingRun.model_validate_json((tmp_path / "run.json").read_text()).epochs]
    assert losses[-1] < losses[0]


def compiled_for(system, store):
    """The sampler or hook of a system that samples on a GPU; skips where its package is missing."""
    if system == "wholegraph":
        pytest.importorskip("pylibwholegraph")
    return compiled_library(job(system, device="cuda"), store)


@ON_GPU
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("system", ["pyg_gpu", "wholegraph"])
def test_a_peer_s_step_is_one_launch_and_teaches_the_same(small_graph, compiled_store, system, precision):
    """Gradients are summed by atomics, so that the last digits differ, in bfloat16 more of them."""
    device = torch.device("cuda", 0)
    batches = batches_of(system, small_graph, compiled_for(system, compiled_store), device)
    assert {tensor.device for batch in batches for tensor in batch.device_tensors()} == {device}
    told = {"peer": True, "device": device, "precision": precision}
    one_launch = learner(small_graph, batches, **told)
    got = taught(one_launch, batches * 2)
    assert one_launch._replay is not None and one_launch.misfits == 0
    wanted = taught(learner(small_graph, batches, fixed=False, **told), batches * 2)
    if precision == "float32":
        close(got, wanted, 1e-3)
    assert got[2] == pytest.approx(wanted[2], rel=0.03)


@ON_GPU
@pytest.mark.parametrize("system", ["pyg_gpu", "wholegraph"])
def test_a_peer_s_job_trains_with_captured_steps(small_graph, compiled_store, tmp_path, system):
    """Batches are sampled and validated between launches."""
    values = {"device": "cuda", "precision": "bfloat16", "epochs": 6, "lr": 0.05}
    told = job(system, convolutions="torch", captured=True, **values)
    hook = compiled_for(system, compiled_store)
    train(told, small_graph.path, hook, output=tmp_path / "run.json", checkpoint=tmp_path / "run.pt")
    run = TrainingRun.model_validate_json((tmp_path / "run.json").read_text())
    assert run.captured and run.epochs[-1].loss < run.epochs[0].loss and run.epochs[-1].valid_accuracy > 0.25

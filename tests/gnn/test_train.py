"""The loop, the learner and the trainer: what is learned, that it is the same however it is come by, and resuming."""

import math

import pytest
import torch

from hone.config.models import FAMILIES
from hone.config.trainings import Plateau
from hone.gnn.distributed import Ranks
from hone.gnn.learner import Learner
from hone.gnn.models import build_model
from hone.gnn.observer import NullObserver, SpanObserver
from hone.gnn.seeds import Plan, shuffled
from hone.gnn.systems import assemble
from hone.gnn.train import Progress, Trainer, run_epoch, sampled_validation

CPU = torch.device("cpu")


def learner(graph, model="sage", plateau=None, precision="float32", seed=0):
    network = build_model(
        model, inputs=graph.info.feature_dim, hidden=16, outputs=graph.info.num_classes, layers=2, dropout=0.2,
        seed=seed,
    )  # fmt: skip
    hyper = FAMILIES[model].published.model_copy(update={"lr": 0.01})
    return Learner(network, hyper, plateau, seed=seed, precision=precision, device=CPU, ranks=Ranks())


def chain(graph, library, system="pipelined", fanouts=(5, 5)):
    return assemble(system, graph, fanouts, seed=1, device=CPU, threads=2, slots=4, sampler=library)


def plan(graph, epoch=0, batch_size=50):
    return Plan(shuffled(graph.tensor("train"), 0, epoch), batch_size, epoch)


def parameters(learner):
    return torch.cat([parameter.detach().flatten() for parameter in learner.bare_model.parameters()])


def trainer(graph, library, taught=None, **values):
    taught = taught or learner(graph, "gin", Plateau(patience=3))
    pipeline, inference = chain(graph, library), chain(graph, library, fanouts=(10, 10))
    settings = {"epochs": 4, "validate_every": 1, "patience_epochs": None, "max_batches": None, **values}
    validate = sampled_validation(graph, inference, taught, 64, "float32")
    return Trainer(
        graph, taught, pipeline, SpanObserver(CPU), validate, seed=0, batch_size=50, **settings
    )  # fmt: skip


@pytest.mark.parametrize("model", FAMILIES)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_planted_classes_are_learned(small_graph, library, model, precision):
    taught = learner(small_graph, model, precision=precision)
    pipeline, inference = chain(small_graph, library), chain(small_graph, library, fanouts=(10, 10))
    losses = [run_epoch(pipeline, plan(small_graph, epoch), taught, NullObserver()).loss for epoch in range(8)]
    assert losses[-1] < 0.6 * losses[0]
    accuracy = sampled_validation(small_graph, inference, taught, 64, precision)(taught.bare_model)
    assert accuracy > 0.7, "a quarter would be chance"
    pipeline.close()
    inference.close()


def test_neither_the_rung_nor_the_observer_changes_what_is_learned(small_graph, library):
    found = []
    for system in ("fast_sampler", "shared_memory", "pipelined"):
        for observer in (NullObserver(), SpanObserver(CPU)):
            taught, pipeline = learner(small_graph, plateau=Plateau()), chain(small_graph, library, system)
            run_epoch(pipeline, plan(small_graph), taught, observer)
            pipeline.close()
            found.append(parameters(taught))
    assert all(torch.equal(found[0], other) for other in found[1:])


def test_an_epoch_is_counted_and_timed(small_graph, library):
    observer, pipeline = SpanObserver(CPU), chain(small_graph, library)
    done = run_epoch(pipeline, plan(small_graph, batch_size=100), learner(small_graph), observer)
    pipeline.close()
    assert done.batches == 4, "360 nodes, the last batch has 60"
    assert 100 < done.unique_nodes <= 600
    assert done.sampled_edges > done.unique_nodes / 2
    assert observer.total_s("train") + observer.total_s("blocked") <= done.epoch_s
    assert len([span for span in observer.spans if span.stage == "train"]) == 4


def test_a_batchs_nodes_can_be_fewer_than_two(small_graph, library):
    """Batch normalisation has no statistics of one row."""
    nodes = small_graph.tensor("train")[:51]
    taught, pipeline = learner(small_graph, "gin"), chain(small_graph, library)
    done = run_epoch(pipeline, Plan(nodes, 50), taught, NullObserver())
    pipeline.close()
    assert done.batches == 2
    assert torch.isfinite(parameters(taught)).all()


def test_a_run_that_goes_on_ends_as_if_it_had_not_stopped(small_graph, library):
    whole = trainer(small_graph, library)
    progress = Progress()
    whole.run(progress, lambda _: None)
    kept = []
    broken = trainer(small_graph, library)

    def keep(progress):
        kept.append((broken.learner.state(), progress.state()))
        if len(progress.epochs) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken.run(Progress(), keep)
    taken_up = trainer(small_graph, library, learner(small_graph, "gin", Plateau(patience=3), seed=9))
    taken_up.learner.seed = 0
    taken_up.learner.load_state(kept[-1][0])
    resumed = Progress.from_state(kept[-1][1])
    assert not taken_up.run(resumed, lambda _: None)
    assert torch.equal(parameters(taken_up.learner), parameters(whole.learner))
    states = [item.learner.bare_model.state_dict() for item in (taken_up, whole)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert [epoch.loss for epoch in resumed.epochs] == [epoch.loss for epoch in progress.epochs]
    assert float(taken_up.learner.lr) == float(whole.learner.lr) < 0.01, "the rate was lowered on the way"
    for item in (whole, broken, taken_up):
        item.pipeline.close()


def test_training_stops_when_accuracy_rises_no_more(small_graph, library):
    accuracies = iter([0.5, 0.7, 0.6, 0.7, 0.9])
    base = trainer(small_graph, library)
    values = {**vars(base), "epochs": 5, "patience_epochs": 2, "validate": lambda model: next(accuracies)}
    progress, seen = Progress(), []
    stopping = Trainer(**values)
    assert stopping.run(progress, lambda now: seen.append(parameters(stopping.learner).clone()))
    assert [epoch.valid_accuracy for epoch in progress.epochs] == [0.5, 0.7, 0.6, 0.7]
    assert progress.best_epoch == 1
    names = [name for name, _ in stopping.learner.bare_model.named_parameters()]
    best = torch.cat([progress.best_parameters[name].flatten() for name in names])
    assert torch.equal(best, seen[1]), "the best epoch's parameters are kept, not the last one's"
    base.pipeline.close()


def test_an_epoch_is_cut_short_where_its_time_is_all_that_is_wanted(small_graph, library):
    short, progress = trainer(small_graph, library, epochs=2, max_batches=3), Progress()
    short.run(progress, lambda _: None)
    assert [epoch.batches for epoch in progress.epochs] == [3, 3]
    assert all(math.isfinite(epoch.loss) for epoch in progress.epochs)
    short.pipeline.close()


def test_validation_is_done_as_often_as_asked_and_at_the_end(small_graph, library):
    base = trainer(small_graph, library, epochs=5, validate_every=2)
    progress = Progress()
    base.run(progress, lambda _: None)
    assert [epoch.valid_accuracy is not None for epoch in progress.epochs] == [False, True, False, True, True]
    base.pipeline.close()


def test_training_touches_no_global_generator(small_graph, library):
    before = torch.get_rng_state()
    item = trainer(small_graph, library, epochs=1)
    item.run(Progress(), lambda _: None)
    item.pipeline.close()
    assert torch.equal(torch.get_rng_state(), before)


def test_weight_decay_and_learning_rate_are_adams(small_graph, library):
    """Against torch's own Adam with a number for a learning rate, on the same gradients."""
    ours = learner(small_graph)
    theirs = learner(small_graph)
    theirs.optimizer = torch.optim.Adam(theirs.bare_model.parameters(), lr=0.01)
    ours_chain = chain(small_graph, library, "fast_sampler")
    batches = list(ours_chain.batches(plan(small_graph), NullObserver()))
    ours_chain.close()
    for batch in batches:
        ours.step(batch, batch.num_seeds)
        theirs.step(batch, batch.num_seeds)
    assert torch.allclose(parameters(ours), parameters(theirs), atol=1e-6)

"""Selected kernels in trainings: used where they agree, left aside with a warning where anything else happens."""

import pytest

from hone.compile.builds import build_one
from hone.compile.toolchain import toolchain_for
from hone.core.files import write_text
from hone.core.store import Store
from hone.gnn.training_stage import train
from hone.records import Language, Selection, TrainingRun
from hone.selection.loop import check, with_selected_kernels
from hone.selection.loop.check import CheckRequest, OwnBatch, check_kernel, refusal
from hone.selection.loop.resolve import find
from tests.gnn.blocks import job
from tests.selection.operator import (
    ABORTS,
    DEFINITION,
    EXITS,
    FASTER,
    HANGS,
    HERE,
    LAUNCHER,
    NO_CPP,
    OTHER_NAME,
    WORKLOADS,
    WRONG,
    WRONG_ON_LARGE_BATCHES,
    selection,
    solution,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(scope="module")
def built(store):
    """Source -> its build."""
    return lambda source: build_one(solution(source), toolchain_for(Language.CPP), Store(store), 60)


@pytest.fixture
def own(small_graph, library, store):
    return OwnBatch(
        graph=str(small_graph.path), sampler=str(library), fanouts=(4, 3, -1), batch_size=64, seed=0, store=str(store)
    )


def outcome(built, store, source, batch=None):
    path = store / built(source).artifact
    return check_kernel(
        CheckRequest(
            definition=DEFINITION, workloads=WORKLOADS[:3], solution=solution(source), artifact=str(path), own=batch
        )
    )


def test_a_kernel_is_compared_with_the_reference_and_on_the_training_s_own_batch(built, store, own):
    assert outcome(built, store, FASTER, own) == check.CheckResult(disagreements=(), compared=3)
    assert "on small against reference" in " ".join(outcome(built, store, WRONG).disagreements)
    small = WORKLOADS[1:3]
    told = {"definition": DEFINITION, "workloads": small, "solution": solution(WRONG_ON_LARGE_BATCHES)}
    path = str(store / built(WRONG_ON_LARGE_BATCHES).artifact)
    assert not check_kernel(CheckRequest(**told, artifact=path)).disagreements
    found = check_kernel(CheckRequest(**told, artifact=path, own=own)).disagreements
    assert found == tuple(f"draws other neighbours than the builtin in hop {hop} of a batch of small" for hop in (0, 1))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (ABORTS, "it crashed: SIGABRT"),
        (EXITS, "it ended the process"),
        (NO_CPP, "it does not compile: "),
    ],
)  # fmt: skip
def test_a_kernel_that_fails_costs_the_training_nothing(store, source, reason):
    found = find(selection(source), HERE, store)
    assert found.artifact is None
    assert (found.use.used, found.use.solution) == ("fell_back", solution(source).id)
    assert found.use.reason.startswith(reason)


def test_a_kernel_that_hangs_is_ended(built, store):
    chosen = selection(HANGS)
    path = store / built(HANGS).artifact
    assert refusal(chosen, chosen.kernels[0], path, timeout_s=1.0) == "the check took over 1 s"


def test_what_is_no_shared_object_is_not_loaded(tmp_path, store, built):
    write_text(tmp_path / "kernel.so", "text")
    chosen = selection(FASTER)
    assert "cannot be loaded" in refusal(chosen, chosen.kernels[0], tmp_path / "kernel.so")
    with pytest.raises(check.HoneError, match="no function launch with C linkage"):
        outcome(built, store, OTHER_NAME)


def test_without_a_compiler_the_object_that_was_judged_is_used(built, store, monkeypatch, tmp_path):
    build = built(FASTER)
    chosen = selection(FASTER, artifact=build.artifact, target=build.target)
    monkeypatch.setattr("hone.selection.loop.resolve.refusal", lambda *_: "")
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert find(chosen, HERE, store).artifact == store / build.artifact
    other = selection(FASTER, artifact=build.artifact, target="another CPU")
    assert find(other, HERE, store).use.reason.startswith("no compiler: 'no-such-compiler'")
    assert find(chosen, HERE, tmp_path).use.used == "fell_back"


def test_on_another_machine_the_builtin_runs(store):
    found = find(selection(FASTER), "that CPU", store).use
    assert (found.used, found.reason) == ("builtin", f"nothing was selected for that CPU, only for {HERE}")
    found = find(Selection(operator="sample_neighbours", runs_on="cpu"), HERE, store).use
    assert (found.used, found.reason) == ("builtin", "the campaign selected none")


def trained(told, graph, library, folder):
    train(told, graph.path, library, output=folder / "run.json", checkpoint=folder / "run.pt")
    return TrainingRun.model_validate_json((folder / "run.json").read_text())


def test_a_training_falls_back_loudly_and_says_so(small_graph, library, store, tmp_path, capsys):
    path, log = tmp_path / "selected.json", tmp_path / "train.log"
    write_text(path, selection(NO_CPP).model_dump_json())
    log.write_text("on a machine\n")
    told = job("pipelined", kernels="selected", kernels_from="ops")
    place = {"graph": small_graph.path, "sampler": library, "store": store}
    fallen = with_selected_kernels(told, [path], log=log, **place)
    for said in (capsys.readouterr().err, log.read_text()):
        assert "warning: sample_neighbours: the selected kernel" in said and "does not compile" in said
    assert log.read_text().startswith("on a machine\n")
    run = trained(fallen, small_graph, library, tmp_path)
    assert (run.kernels, [use.used for use in run.kernel_uses]) == ("selected", ["fell_back"])
    plain = trained(job("pipelined"), small_graph, library, tmp_path)
    assert (plain.kernels, plain.kernel_uses) == ("builtin", ())
    assert [epoch.loss for epoch in plain.epochs] == [epoch.loss for epoch in run.epochs]


def test_the_kernel_that_agrees_reaches_the_sampler(small_graph, library, store, tmp_path, monkeypatch, capsys):
    """Through a process of its own, training and validation alike."""
    from hone.gnn import sampling

    given = []

    class Recording(sampling.Sampler):
        def __init__(self, *values, inner_loop=None, **named):
            given.append(inner_loop)
            super().__init__(*values, **named)

    write_text(tmp_path / "selected.json", selection(FASTER).model_dump_json())
    told = job("pipelined", kernels="selected", kernels_from="ops")
    place = {"graph": small_graph.path, "sampler": library, "store": store}
    ready = with_selected_kernels(told, [tmp_path / "selected.json"], **place)
    assert not capsys.readouterr().err
    (path,) = ready.objects.values()
    monkeypatch.setattr(sampling, "Sampler", Recording)
    run = trained(ready, small_graph, library, tmp_path)
    assert [str(item) for item in given] == [path, path]
    assert [(use.used, use.solution) for use in run.kernel_uses] == [("selected", solution(FASTER).id)]
    assert told.digest(small_graph.info) != ready.digest(small_graph.info)
    assert "objects" not in run.model_dump_json()


def test_all_variants_differ():
    sources = (LAUNCHER, FASTER, WRONG, WRONG_ON_LARGE_BATCHES, ABORTS, EXITS, HANGS, NO_CPP, OTHER_NAME)
    assert len(set(sources)) == len(sources)

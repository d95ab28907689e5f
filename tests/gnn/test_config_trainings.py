import pytest
from pydantic import ValidationError

from hone.config.models import FAMILIES
from hone.config.trainings import Training, TrainingKey, check_trainings, training_keys
from hone.gnn.job import TrainingJob


def training(**values):
    return Training.model_validate({"graphs": ["cora"], **values})


def test_the_published_hyper_parameters_stand_where_nothing_is_said():
    assert training().hyper("cora", "sage") == FAMILIES["sage"].published
    assert (FAMILIES["gin"].published.fanouts, FAMILIES["gin"].published.batch_size) == ((20, 20, 20), 512)
    ri = FAMILIES["sage_ri"].published
    assert (ri.hidden, ri.lr, ri.inference_fanouts, ri.inference_batch_size) == (1024, 0.002, (100, 100, 100), 32)


def test_what_is_tuned_more_closely_wins_also_when_it_is_zero():
    item = training(
        models=["sage", "gat"], dropout=0.4, lr=0.1,
        tuned={"cora/gat": {"lr": 0.4}, "cora": {"lr": 0.2, "dropout": 0.0}, "gat": {"lr": 0.3, "hidden": 7}},
    )  # fmt: skip
    sage, gat = item.hyper("cora", "sage"), item.hyper("cora", "gat")
    assert (sage.lr, sage.dropout, sage.hidden) == (0.2, 0.0, 256)
    assert (gat.lr, gat.dropout, gat.hidden) == (0.4, 0.0, 7)


@pytest.mark.parametrize(("threads", "slots", "wanted"), [(0, None, 8), (2, None, 8), (15, None, 30), (15, 17, 17)])
def test_every_preparing_thread_has_room_to_go_on(threads, slots, wanted):
    key = TrainingKey("epoch", "cora", "sage", "pipelined", 1, 0)
    assert TrainingJob.of(key, training(threads=threads, slots=slots)).slots == wanted


def test_fan_outs_of_different_depths_are_refused():
    with pytest.raises(ValidationError, match=r"validation_fanouts \[20, 20, 20\] \(the default\) has 3: write"):
        training(fanouts=[5, 5])
    with pytest.raises(ValidationError, match=r"has 3 layers, but inference\.fanouts has"):
        training(inference={"fanouts": [[5, 5]]})
    two = training(fanouts=[5, 5], validation_fanouts=[9, 9], inference_fanouts=[9, 9])
    assert two.hyper("cora", "sage").fanouts == (5, 5)


def test_hosts_share_processes_evenly():
    item = training(gpus=[1, 2, 16], nodes=[1, 1, 8])
    assert [item.hosts(gpus) for gpus in (1, 2, 16, 5)] == [1, 1, 8, 1]
    key = TrainingKey("epoch", "cora", "sage", "pipelined", 16, 0)
    assert (TrainingJob.of(key, item).nodes, TrainingJob.of(key, item).gpus) == (8, 16)
    assert TrainingJob.of(key, training(gpus=[16], nodes=[4])).nodes == 4
    for match, values in {
        "2 numbers for 3 of gpus": {"gpus": [1, 2, 4], "nodes": [1, 2]},
        "3 processes cannot be shared evenly by 2 hosts": {"gpus": [4, 3], "nodes": [2]},
        "the GPUs of one host: write nodes": {**ON_GPU, "gpus": [4], "nodes": [2], "placement": "sharded"},
        "greater than or equal to 1": {"nodes": [0]},
    }.items():
        with pytest.raises(ValidationError, match=match):
            training(**values)


def test_systems_that_cannot_be_are_refused():
    for system in ("full_batch", "pyg", "pyg_gpu", "wholegraph"):
        with pytest.raises(ValidationError, match=f"{system} trains in one process"):
            training(systems=[system], gpus=[1, 2], device="cuda")
    with pytest.raises(ValidationError, match="wholegraph samples on a GPU: write device: cuda"):
        training(systems=["pipelined", "wholegraph"])
    assert training(systems=["pyg_gpu"]).device == "cpu"


ON_GPU = {"systems": ["pipelined", "device"], "device": "cuda", "precision": "bfloat16"}


def test_the_device_system_says_what_it_can_do():
    assert training(**ON_GPU, fanouts=[32, 1, 15]).systems == ("pipelined", "device")
    for match, values in {
        "not 100: write other inference_fanouts for sage_ri": {"models": ["sage", "sage_ri"]},
        "device runs operators for sage alone": {"models": ["gin"], "kernels": "selected", "kernels_from": "ops"},
        "write device: cuda, precision: bfloat16": {"precision": "float32"},
        "bfloat16 on a GPU": {"device": "cpu"},
        "draws 1 to 32 neighbours of a node, not 33": {"fanouts": [33, 5, 5]},
        "of a node, not -1": {"inference": {"fanouts": [[20, 20, -1]]}},
        "a multiple of 8 as hidden, not 12": {"tuned": {"cora": {"hidden": 12}}},
        "scaled_sums: sage does not sum": {"scaled_sums": True},
        "only device knows it": {"deterministic": True},
    }.items():
        with pytest.raises(ValidationError, match=match):
            training(**{**ON_GPU, **values})
    assert training(**{**ON_GPU, "systems": ["device"]}, deterministic=True).deterministic
    assert training(**ON_GPU, models=["gat", "gin", "sage_ri"], inference={"splits": []}).models[2] == "sage_ri"


def test_a_captured_step_is_of_one_process_and_of_models_that_do_not_normalise():
    told = {"systems": ["shared_memory", "pipelined"], "device": "cuda", "captured": True, "models": ["sage", "gat"]}
    assert training(**told).captured and not training().captured
    for match, values in {
        "write device: cuda, gpus": {"device": "cpu"},
        "write device: cuda, gpus: ": {"gpus": [1, 2]},
        "which pyg_gpu has, no step can be captured: write convolutions: torch": {"systems": ["pipelined", "pyg_gpu"]},
        "which wholegraph has, no step can be captured": {"systems": ["wholegraph"], "models": ["sage"]},
        "not pyg's steps: give plain, .*, wholegraph a training of their own": {"systems": ["pyg"]},
        "not device's steps": {"systems": ["device"], "precision": "bfloat16"},
        "captured: gin normalises": {"models": ["sage", "gin"]},
    }.items():
        with pytest.raises(ValidationError, match=match):
            training(**{**told, **values})


def test_peers_on_the_gpu_have_captured_steps_with_layers_of_pytorch_s_operators():
    told = {"systems": ["pyg_gpu", "wholegraph"], "device": "cuda", "captured": True, "convolutions": "torch"}
    assert training(**told).captured
    for match, values in {
        "write device: cuda, gpus": {"systems": ["pyg_gpu"], "device": "cpu"},
        "give pipelined a training": {"systems": ["pipelined", "pyg_gpu"]},
        "knows sage alone": {"models": ["gat"]},
    }.items():
        with pytest.raises(ValidationError, match=match):
            training(**{**told, **values})


def test_other_layers_are_for_peers_on_the_gpu_and_for_sage():
    assert training(systems=["pyg_gpu"], convolutions="torch").convolutions == "torch"
    assert training(systems=["pyg_gpu", "wholegraph"], device="cuda", convolutions="torch").systems[1] == "wholegraph"
    for match, values in {
        "is for pyg_gpu and wholegraph: give pipelined a training": {"systems": ["pyg_gpu", "pipelined"]},
        "give pyg a training": {"systems": ["pyg"]},
        "knows sage alone": {"systems": ["pyg_gpu"], "models": ["sage", "gat"]},
        "Input should be 'pyg' or 'torch'": {"systems": ["pyg_gpu"], "convolutions": "dgl"},
    }.items():
        with pytest.raises(ValidationError, match=match):
            training(**{"convolutions": "torch", **values})


def test_placements_are_for_the_device_system():
    assert training().placement == training(**ON_GPU).placement == "auto"
    for place in ("gpu", "host_features", "host"):
        assert training(**ON_GPU, placement=place).placement == place
    assert training(**ON_GPU, placement="sharded", gpus=[2, 4]).placement == "sharded"
    selected = {"kernels": "selected", "kernels_from": "graph_ops"}
    assert training(**ON_GPU, **selected, placement="gpu").kernels == "selected"
    for match, values in {
        "placement: host: only systems: device knows it": {"placement": "host"},
        "leave 1 out of gpus": {**ON_GPU, "placement": "sharded", "gpus": [1, 2]},
        "write placement: gpu, or leave it out": {**ON_GPU, **selected, "placement": "host_features"},
    }.items():
        with pytest.raises(ValidationError, match=match):
            training(**values)


def test_sums_are_scaled_for_models_that_sum_and_where_we_sum():
    item = training(models=["sage", "gin"], tuned={"gin": {"scaled_sums": True}})
    assert [item.hyper("cora", model).scaled_sums for model in item.models] == [False, True]
    with pytest.raises(ValidationError, match="scaled_sums: sage does not sum"):
        training(models=["gin", "sage"], scaled_sums=True)
    for peer in ("pyg", "pyg_gpu", "wholegraph"):
        with pytest.raises(ValidationError, match=f"{peer} sums by itself"):
            training(models=["gin"], systems=["pipelined", peer], scaled_sums=True, device="cuda")
    assert training(models=["gin"], systems=["full_batch"], scaled_sums=True).systems == ("full_batch",)


def test_every_combination_is_a_job():
    item = training(graphs=["a", "b"], models=["sage", "gin"], systems=["plain", "pipelined"], seeds=[0, 1, 2])
    keys = list(training_keys({"t": item}))
    assert len(keys) == len(set(keys)) == 24
    assert keys[0] == ("t", "a", "sage", "plain", 1, 0)


def test_names_that_are_nowhere_are_refused():
    with pytest.raises(ValueError, match="'cora' is not in graphs; known: other"):
        check_trainings({"t": training()}, {"other": None}, ())
    with pytest.raises(ValueError, match="tuned: 'coar' is no graph"):
        check_trainings({"t": training(tuned={"coar": {}})}, {"cora": None}, ())
    check_trainings({"t": training(tuned={"cora/sage": {}})}, {"cora": None}, ())


def test_selected_kernels_need_a_source_and_systems_that_run_operators():
    item = training(kernels="selected", kernels_from="ops", systems=["fast_sampler", "pipelined"])
    check_trainings({"t": item}, {"cora": None}, ["ops"])
    with pytest.raises(
        ValueError, match=r"trainings\.t\.kernels_from: 'ops' is not a source of kind: kernels; known: o"
    ):
        check_trainings({"t": item}, {"cora": None}, ["other"])
    for values in ({"kernels": "selected"}, {"kernels_from": "ops"}):
        with pytest.raises(ValidationError, match="kernels: selected needs kernels_from"):
            training(**values)
    with pytest.raises(ValidationError, match="kernels: selected: plain runs no operator; systems that do: fast_s"):
        training(kernels="selected", kernels_from="ops", systems=["pipelined", "plain"])

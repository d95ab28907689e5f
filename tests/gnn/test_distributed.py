import pytest
import torch

from hone.core.errors import MachineError
from hone.gnn import checkpoint
from hone.gnn.distributed import Ranks, device_of, launch, wait_for_all
from hone.gnn.stages import train
from hone.records import TrainingRun
from tests.gnn.blocks import job


def trained(folder, graph, library, gpus, batch_size):
    """(parameters, run) after three epochs whose last batch is uneven: 360 nodes in 53, 53, … and an odd rest."""
    told = job(
        "pipelined", gpus=gpus, batch_size=batch_size, epochs=3, dropout=0.0, threads=1, validation=None,
        plateau={"patience": 2},
    )  # fmt: skip
    paths = {"output": folder / f"{gpus}.json", "checkpoint": folder / f"{gpus}.pt"}
    train(told, graph.path, library, **paths, log=folder / f"{gpus}.log")
    run = TrainingRun.model_validate_json(paths["output"].read_text())
    return checkpoint.load(paths["checkpoint"])["parameters"], run


@pytest.mark.slow
def test_two_processes_learn_what_one_learns_on_the_same_global_batches(small_graph, library, tmp_path):
    alone, run_alone = trained(tmp_path, small_graph, library, 1, 106)
    together, run_together = trained(tmp_path, small_graph, library, 2, 53)
    for name, value in alone.items():
        assert torch.allclose(together[name], value, atol=1e-5, rtol=0), name
    assert run_together.gpus == 2
    for one, other in zip(run_alone.epochs, run_together.epochs, strict=True):
        assert other.batches == one.batches == 4
        assert other.loss == pytest.approx(one.loss, abs=1e-5)
        assert other.learning_rate == pytest.approx(one.learning_rate)
    assert run_alone.epochs[-1].learning_rate < 0.01, "both have lowered it"


def test_an_error_of_a_process_is_shown(tmp_path):
    with pytest.raises(MachineError, match="ended with status 1") as error:
        launch("hone.gnn.worker", ["nowhere.json", "", "", "", ""], 2, tmp_path / "log")
    assert "nowhere.json" in str(error.value)


def test_nobody_goes_on_before_all_have_come(tmp_path):
    launch("tests.gnn.late_rank", [str(tmp_path)], 2)
    (_, early), (late, _) = (map(float, (tmp_path / name).read_text().split()) for name in "01")
    assert early >= late
    wait_for_all(Ranks())


def test_a_process_alone_is_rank_0_of_1():
    assert Ranks.from_environment({}) == Ranks()
    assert Ranks.from_environment({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}) == Ranks()
    assert Ranks.from_environment({"SLURM_NTASKS": "4"}) == Ranks(), "an allocation is not a task of srun"


def test_torchrun_says_who_is_who():
    environment = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}
    assert Ranks.from_environment(environment) == Ranks(3, 8, 1)


def test_slurm_says_who_is_who():
    environment = {
        "SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_JOB_ID": "31234567",
        "SLURM_LAUNCH_NODE_IPADDR": "10.0.0.7",
    }  # fmt: skip
    assert Ranks.from_environment(environment) == Ranks(5, 8, 1, "tcp://10.0.0.7:34567")
    named = {**environment, "MASTER_ADDR": "node1", "MASTER_PORT": "1234"}
    assert Ranks.from_environment(named).address == "tcp://node1:1234"
    del environment["SLURM_LAUNCH_NODE_IPADDR"]
    with pytest.raises(MachineError, match="where rank 0 is"):
        Ranks.from_environment(environment)


def test_every_process_needs_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(MachineError, match="process 1 of this machine"):
        device_of(Ranks(1, 2, 1), "cuda")
    assert device_of(Ranks(1, 2, 1), "cpu") == torch.device("cpu")

import os

import pytest
import torch

from hone.core.errors import MachineError
from hone.gnn import checkpoint, distributed
from hone.gnn.distributed import Ranks, device_of, launch, named_host, wait_for_all
from hone.gnn.training_stage import train
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


def test_torchrun_says_who_is_who():
    assert Ranks.from_environment({"SLURM_PROCID": "1", "SLURM_NTASKS": "4"}) == Ranks() == Ranks(0, 1, 0, 1)
    environment = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "GROUP_WORLD_SIZE": "4"}
    assert Ranks.from_environment(environment) == Ranks(3, 8, 1, 4)


def test_several_hosts_need_a_job_of_slurm(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(MachineError, match="a training on 2 hosts runs in a job of Slurm"):
        launch("nothing", [], 4, nodes=2)


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("srun: error: node7: task 1: Killed\nsrun: error: node3: task 0: Terminated", "srun: error: node7: task 1"),
        ("error: node7: the disk is full\n  remedy: empty it\nsrun: error: node3: task 0: Exited", "error: node7: the"),
    ],
)
def test_one_torchrun_starts_on_each_host_and_the_lost_host_is_named(printed, said, tmp_path, monkeypatch):
    (tmp_path / "srun").write_text(f"#!/bin/sh\necho $@ >{tmp_path}/asked\necho '{printed}'\nexit 3\n")
    (tmp_path / "srun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("SLURM_JOB_ID", "31234567")
    with pytest.raises(MachineError, match=f"16 processes of some.module ended with status 3: {said}") as error:
        launch("some.module", ["argument"], 16, tmp_path / "log", nodes=8)
    assert ("remedy: empty it" in str(error.value)) == ("remedy" in printed)
    asked = (tmp_path / "asked").read_text()
    assert "--nodes=8 --ntasks=8 --ntasks-per-node=1" in asked
    assert "--nnodes=8 --rdzv-id=31234567 --rdzv-backend=c10d" in asked
    assert ":34567 --nproc-per-node=2 -m some.module argument\n" in asked


def test_an_error_names_its_host_and_what_others_may_have_caused_ends_later(monkeypatch, capfd):
    slept = []
    monkeypatch.setattr(distributed.time, "sleep", slept.append)
    monkeypatch.setenv("SLURMD_NODENAME", "node7")
    several, one = Ranks(1, 4, 1, 2), Ranks(1, 4, 1, 1)
    for ranks, where in ((several, "node7"), (one, "")):
        with pytest.raises(MachineError) as error, named_host(ranks):
            raise MachineError("the disk is full")
        assert error.value.where == where
    assert slept == []
    for ranks in (several, one):
        with pytest.raises(RuntimeError, match="closed by peer"), named_host(ranks):
            raise RuntimeError("closed by peer")
    assert slept == [distributed.AFTER_OTHERS_S]
    assert "closed by peer" in capfd.readouterr().err, "before the others are waited for"
    with pytest.raises(KeyError), named_host(several):
        raise KeyError("a fault of this process alone")
    assert len(slept) == 1


def test_every_process_needs_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(MachineError, match="process 1 of this machine"):
        device_of(Ranks(1, 2, 1), "cuda")
    assert device_of(Ranks(1, 2, 1), "cpu") == torch.device("cpu")

"""The miniature, reduced, by `snakemake --cores 8 --profile slurm` on a real Slurm; its accounting says what ran where.

Needs root on Debian or Ubuntu, and fails where it cannot start a Slurm: nothing else would show that the profile works.
"""

import re
import subprocess

import pytest
import torch
import yaml

from hone.core.errors import MachineError
from hone.gnn.distributed import launch
from hone.records import TrainingRun
from tests.cluster.world import ROOT, SCRIPT, make_world, slurm_environment

pytestmark = pytest.mark.slow  # starts a Slurm


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slurm")
    started = subprocess.run([SCRIPT, "start", folder], stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    try:
        assert started.returncode == 0, started.stderr
        with pytest.MonkeyPatch.context() as patch:
            for name, value in slurm_environment(folder).items():
                patch.setenv(name, value)
            yield folder
    finally:
        subprocess.run([SCRIPT, "stop", folder], timeout=60, check=False)


@pytest.fixture(scope="module")
def ran(cluster, tmp_path_factory):
    """The folder and output of a run whose training asks for too little memory at first, and jobs left from before."""
    config = yaml.safe_load((ROOT / "config/miniature.yaml").read_text())
    ladder = {**config["trainings"]["ladder"], "systems": ["pipelined"], "epochs": 2}
    world = make_world(
        tmp_path_factory.mktemp("world"),
        {
            "sources": {"miniature": {**config["sources"]["miniature"], "levels": {1: 8}}},
            "experiments": {"one_shot": {**config["experiments"]["one_shot"], "levels": [1], "limit": 2}},
            "trainings": {"ladder": ladder},
            "judge": {**config["judge"], "correctness_trials": 1, "timing_runs": 3, "timing_seconds": 0.05},
        },
        train={"mem_mb": "300 * 100 ** (attempt - 1)", "slurm_extra": "''"},
    )
    left = [_submit(world.folder), _submit(ROOT)]
    status, output = world.run()
    assert status == 0, output
    return world, output, left


def _submit(folder):
    """A job that looks like one of Snakemake's and waits for an hour; gives its id."""
    command = ["sbatch", "--parsable", "--comment=rule_left", "--begin=now+1hour", "--wrap=true"]
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def test_the_whole_chain_runs(ran):
    world = ran[0]
    assert (world.folder / "results/config/summary.md").is_file()
    done = {job.rule for job in world.jobs() if job.state == "COMPLETED"}
    assert done == {"define", "prepare_graph", "build", "judge", "train", "tables"}


def test_compilers_need_no_gpu_and_judging_has_one(ran):
    jobs = ran[0].jobs()
    assert {(job.partition, job.gpus, job.state) for job in jobs if job.rule == "build"} == {("cpu", 0, "COMPLETED")}
    assert {(job.partition, job.gpus, job.state) for job in jobs if job.rule == "judge"} == {("gpu", 1, "COMPLETED")}


def test_a_job_that_was_killed_for_its_memory_asks_for_more_and_leaves_its_last_words(ran):
    world, output, _ = ran
    first, second = [job.state for job in world.jobs() if job.rule == "train"]
    assert (first, second) == ("FAILED", "COMPLETED")
    assert "exceeded memory limit" in output


def test_two_hosts_learn_what_two_processes_of_one_learn_to_the_last_bit(cluster, tmp_path):
    config = yaml.safe_load((ROOT / "config/miniature.yaml").read_text())
    two = {**config["trainings"]["ladder"], "systems": ["pipelined"], "gpus": [2], "epochs": 2}
    trainings = {"one_host": two, "two_hosts": {**two, "nodes": [2]}}
    world = make_world(tmp_path, {"sources": {}, "experiments": {}, "trainings": trainings})
    status, output = world.run("networks")
    assert status == 0, output
    assert sorted(job.nodes for job in world.jobs() if job.rule == "train" and job.state == "COMPLETED") == [1, 2]
    files = [tmp_path / f"results/config/training/{name}/communities/sage/pipelined/gpus2/seed0" for name in trainings]
    one, other = (TrainingRun.model_validate_json(file.with_suffix(".json").read_text()) for file in files)
    assert (one.nodes, other.nodes) == (1, 2)
    assert [epoch.loss for epoch in one.epochs] == [epoch.loss for epoch in other.epochs]
    first, second = (torch.load(file.with_suffix(".pt"))["parameters"] for file in files)
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("way", ["killed", "explains"])
def test_a_training_ends_with_the_name_of_the_host_that_failed(way, cluster, tmp_path, monkeypatch):
    command = ["salloc", "--no-shell", "--partition=cpu", "--nodes=2", "--ntasks=2"]
    granted = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True, timeout=120).stderr
    job = re.search(r"job allocation (\d+)", granted).group(1)
    monkeypatch.setenv("SLURM_JOB_ID", job)
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    try:
        with pytest.raises(MachineError) as error:
            launch("tests.cluster.lost_host", [way], 4, tmp_path / "log", nodes=2)
    finally:
        subprocess.run(["scancel", job], check=False)
    last = re.search(r"^last: (cpu[12])$", (tmp_path / "log").read_text(), re.MULTILINE).group(1)
    said = {"killed": f"srun: error: {last}: task", "explains": f"error: {last}: the disk is full"}[way]
    assert re.match(rf"4 processes of tests.cluster.lost_host ended with status \d+: {said}", str(error.value))


def test_jobs_of_a_killed_run_are_cancelled_by_the_next(ran):
    mine, elsewhere = ran[2]
    queue = subprocess.run(["squeue", "--noheader", "--format=%i"], stdout=subprocess.PIPE, text=True, check=True)
    assert mine not in queue.stdout.split()
    assert elsewhere in queue.stdout.split()

"""The miniature, reduced, by `snakemake --cores 8 --profile slurm` on a real Slurm; its accounting says what ran where.

Needs root on Debian or Ubuntu, and fails where it cannot start a Slurm: nothing else would show that the profile works.
"""

import subprocess

import pytest
import yaml

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


def test_jobs_of_a_killed_run_are_cancelled_by_the_next(ran):
    mine, elsewhere = ran[2]
    queue = subprocess.run(["squeue", "--noheader", "--format=%i"], stdout=subprocess.PIPE, text=True, check=True)
    assert mine not in queue.stdout.split()
    assert elsewhere in queue.stdout.split()

"""The full campaign can be planned where nothing is installed but Snakemake and what reads the config."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import ROOT

SHARED = ("Snakefile", "workflow", "config", "envs", "profiles", "resources")
ABSENT = ("torch", "torch_geometric", "ogb", "matplotlib", "openai")
MEMORY_LIMIT_KIB = 1_000_000


@pytest.mark.slow
def test_the_papers_in_full_are_planned_without_torch_in_a_gigabyte(tmp_path):
    for name in SHARED:
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ABSENT:
        (tmp_path / f"absent/{name}.py").parent.mkdir(exist_ok=True)
        (tmp_path / f"absent/{name}.py").write_text(f'raise ImportError("a login node has no {name}")\n')
    path = os.pathsep.join([str(tmp_path / "absent"), str(ROOT / "src")])
    command = [sys.executable, "-m", "snakemake", "-n", "--quiet", "rules", "--configfile", "config/paper.yaml"]
    log = tmp_path / "plan.txt"
    with (
        log.open("w") as output,
        subprocess.Popen(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, stdout=output, stderr=output
        ) as run,
    ):
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    assert run.returncode == 0, log.read_text()
    assert usage.ru_maxrss < MEMORY_LIMIT_KIB
    jobs = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", log.read_text(), re.MULTILINE)}
    ladder, scaling, accuracy, inference = 3 * 4 * 5, 3 * 4 * 4 * 4, 4 * 5, 3 * 5
    assert jobs["train"] == ladder + scaling + accuracy + inference
    assert jobs["evaluate"] == 2 * 3 * 6  # methods, kernels, the existing version and five rounds
    assert jobs["total"] < 10_000


def test_the_example_of_trainings_alone_plans_nothing_of_the_demo(tmp_path):
    example, *_ = re.findall(r"```yaml\n(graphs:.*?)```", Path("docs/salient.md").read_text(), re.DOTALL)
    (tmp_path / "mine.yaml").write_text(example)
    for name in SHARED:
        (tmp_path / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "snakemake", "-n", "--quiet", "rules", "--configfile", "mine.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", done.stdout, re.MULTILINE)}
    assert jobs["train"] == jobs["infer"] == 4
    assert not {"fetch", "define", "generate", "gold"} & set(jobs)


def test_a_build_of_one_answer_takes_two_cores_and_one_of_many_a_quarter(tmp_path):
    for name in SHARED:
        (tmp_path / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "snakemake", "builds", "-n", "--cores", "16"]
    command += ["--configfile", "config/h200_kernelbench.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    job = r"^rule build:\n(?: +\w+: .*\n)*? +wildcards: experiment=(\w+), .* batch=(\d+)\n +threads: (\d+)$"
    jobs = re.findall(job, done.stdout, re.MULTILINE)
    threads = {(experiment, batch): int(count) for experiment, batch, count in jobs}
    alone, several = "006", "000"  # one of the problems, three of them
    assert threads["one_shot", alone] == threads["refine_gep", alone] == 2
    assert threads["sampling", alone] == threads["one_shot", several] == 4


def test_a_training_on_eight_hosts_is_one_job_with_two_gpus_of_each(tmp_path):
    (example,) = re.findall(r"```yaml\n(graphs:.*?)```", Path("docs/cluster.md").read_text(), re.DOTALL)
    (tmp_path / "hosts.yaml").write_text(example)
    for name in (*SHARED, "slurm"):
        (tmp_path / name).symlink_to(ROOT / name)
    (asked,) = re.findall(r"^`snakemake (networks -n .*?)`", Path("docs/cluster.md").read_text(), re.MULTILINE)
    command = [sys.executable, "-m", "snakemake", *asked.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = re.findall(
        r"^rule train:.*?wildcards: .*?gpus=(\d+).*?threads: (\d+).*?resources: (.*?)$", done.stdout, re.S | re.M
    )
    found = {gpus: (threads, dict(item.split("=") for item in asked.split(", "))) for gpus, threads, asked in jobs}
    threads, hosts = found["16"]
    several = {name: hosts[name] for name in ("nodes", "tasks", "gres", "mpi", "tasks_per_gpu")}
    assert several == {"nodes": "8", "tasks": "8", "gres": "gpu:2", "mpi": "srun", "tasks_per_gpu": "0"}
    assert (threads, "gpu" in hosts) == ("6", False)
    threads, one = found["2"]
    assert (threads, one["nodes"], one["gpu"]) == ("6", "1", "2")
    assert not {"tasks", "gres", "mpi", "tasks_per_gpu"} & set(one)

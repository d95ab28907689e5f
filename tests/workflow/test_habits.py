"""Commands that users of Snakemake type by habit: looks and dry runs, nothing is executed."""

import re
import subprocess
import sys

import pytest

from tests.workflow.conftest import ROOT

LOOKS = ("--summary", "--rulegraph", "-n", "--lint")  # --list has a test of its own
TRAININGS = """
graphs:
  communities: {kind: synthetic, nodes: 100, classes: 2}
trainings:
  first: {graphs: [communities], systems: [plain, pipelined], epochs: 1, threads: 1}
"""


def snakemake(folder, *arguments):
    command = [sys.executable, "-m", "snakemake", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)


def planned(folder, *arguments):
    """Rule -> jobs that a dry run lists."""
    done = snakemake(folder, *arguments, "-n", "--quiet", "rules")
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", done.stdout, re.MULTILINE)}


@pytest.fixture
def checkout(tmp_path):
    for name in ("Snakefile", "workflow", "config", "envs", "profiles", "resources"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "src").symlink_to(ROOT / "src")
    return tmp_path


@pytest.fixture
def behind_gate(checkout):
    """Two trainings of a graph whose gate has passed."""
    (checkout / "mine.yaml").write_text(TRAININGS)
    graph = checkout / "results/mine/graphs/communities"
    graph.mkdir(parents=True)
    for name in ("indptr", "indices", "features", "labels", "train", "valid", "test"):
        (graph / f"{name}.npy").touch()
    (graph / "graph.json").touch()
    gate = checkout / "results/mine/gates/graphs/communities.done"
    gate.parent.mkdir(parents=True)
    gate.touch()
    return checkout


@pytest.mark.parametrize("look", LOOKS)
def test_what_runs_nothing_needs_no_cores(checkout, look):
    done = snakemake(checkout, look)
    assert done.returncode == 0, done.stderr
    if look != "--lint":  # which has nothing to say
        assert done.stdout


def test_the_list_says_what_each_rule_does(checkout):
    lines = snakemake(checkout, "--list").stdout.splitlines()
    assert lines
    assert not [line for line in lines if not re.fullmatch(r"\w+ \(.+\)", line)]


def test_a_run_without_cores_is_still_an_error(checkout):
    done = snakemake(checkout)
    assert done.returncode != 0
    assert "use --cores" in done.stderr


def test_a_job_that_takes_times_has_all_cores(checkout):
    done = snakemake(checkout, "verdicts", "-n", "--cores", "3")
    (judge, *_) = re.findall(r"^rule judge:\n(?:    .*\n)+", done.stdout, re.MULTILINE)
    assert "threads: 3\n" in judge


@pytest.mark.parametrize(("target", "last", "left_out"), [
    ("answers", "generate", {"tables"}),
    ("builds", "build", {"tables"}),
    ("verdicts", "evaluate_winner", {"tables", "pages"}),
    ("networks", "train", {"infer", "tables"}),
])  # fmt: skip
def test_a_target_ends_with_its_stage(checkout, target, last, left_out):
    jobs = planned(checkout, target)
    assert jobs[last] > 0
    assert not left_out & set(jobs)


def test_a_target_reaches_behind_a_gate_that_has_passed(behind_gate):
    jobs = planned(behind_gate, "networks", "--configfile", "mine.yaml")
    assert jobs == {"train": 2, "networks": 1, "total": 3}
    record = "results/mine/training/first/communities/sage/plain/gpus1/seed0.json"
    assert planned(behind_gate, record, "--configfile", "mine.yaml") == {"train": 1, "total": 1}
    assert planned(behind_gate, "--configfile", "mine.yaml", "--until", record) == {"train": 1, "total": 1}


def test_until_still_forgets_what_is_behind_a_gate(behind_gate):
    """When this fails, Snakemake has been put right: take the paragraph out of docs/reruns.md."""
    assert planned(behind_gate, "--configfile", "mine.yaml", "--until", "train") == {}

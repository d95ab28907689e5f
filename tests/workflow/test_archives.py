"""Published answers from a repository to tables, under both rules, and what a change of the archive makes run again."""

import csv
import os
import subprocess

import pytest

from hone.core.files import read_records
from hone.records import Candidate, Claim
from hone.sources.archives.answer import SkippedAnswer

pytestmark = pytest.mark.slow  # judges an archive, twice

RIGHT = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return b + a
"""
SOURCE = {"kind": "local", "path": "problems", "levels": {1: 2}}
EXPERIMENT = {"method": "archive", "source": "tiny", "archive": "public", "levels": [1]}
JUDGE = {"name": "public", "rule": "kernelbench", "timing": False, "correctness_trials": 1, "run_timeout_s": 10}
TABLE = "results/tiny/tables/judge_agreement.csv"
RUN = "runs/one"
CONFIG = "model_name: vendor/model\nlevel: 1\n"
RESULTS = """{
  "1": [{"sample_id": 0, "compiled": true, "correctness": true, "metadata": {}, "runtime": 1.5},
        {"sample_id": 1, "compiled": true, "correctness": true, "metadata": {}, "runtime": 1.0}]
}"""


def git(folder, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


def commit(folder, files):
    """Write the files and commit; the commit's id."""
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "one")
    return git(folder, "rev-parse", "HEAD")


def configure(pipeline, at):
    archive = {"kind": "kernelbench_runs", "url": "public", "commit": at, "runs": ["one"]}
    experiments = {"hone": {**EXPERIMENT, "judge": {**JUDGE, "name": "own", "rule": "hone"}}, "public": EXPERIMENT}
    pipeline.configure(sources={"tiny": SOURCE}, archives={"public": archive}, experiments=experiments, judge=JUDGE)


@pytest.fixture(scope="module")
def judged(pipeline):
    """The pipeline's folder with an archive of three answers to two problems, one of them to another text."""
    problem = (pipeline.folder / "problems/level1/1_Add.py").read_text()
    files = {
        "KernelBench/level1/1_Add.py": problem,
        "KernelBench/level1/2_Triple.py": "class Model: ...  # another text\n",
        f"{RUN}/generation_config.yaml": CONFIG,
        f"{RUN}/eval_results.json": RESULTS,
        f"{RUN}/level_1_problem_1_sample_0_kernel.py": RIGHT,
        f"{RUN}/level_1_problem_1_sample_1_kernel.py": RIGHT.replace("b + a", "b - a"),
        f"{RUN}/level_1_problem_2_sample_0_kernel.py": RIGHT,
    }
    pipeline.archive = pipeline.folder / "public"
    pipeline.archive.mkdir()
    git(pipeline.folder, "init", "--quiet", str(pipeline.archive))
    configure(pipeline, commit(pipeline.archive, files))
    pipeline.run("--", TABLE)
    return pipeline


def records(pipeline, stage, kind, experiment="public"):
    return read_records(pipeline.folder / f"results/tiny/{stage}/{experiment}/archive--public/turn0/000.jsonl", kind)


def test_the_models_own_name_and_claim_come_with_each_answer(judged):
    rows, claims = records(judged, "candidates", Candidate), records(judged, "claims", Claim)
    assert [(row.model, row.sample) for row in rows] == [("vendor/model", 0), ("vendor/model", 1)]
    assert [(claim.sample, claim.runtime_ms) for claim in claims] == [(0, 1.5), (1, 1.0)]
    (skipped,) = records(judged, "skipped", SkippedAnswer)
    assert (skipped.number, str(skipped.reason)) == (2, "other_problem_text")


def test_the_archives_verdict_stands_beside_both_of_ours(judged):
    with (judged.folder / TABLE).open() as file:
        found = {int(row["sample"]): row for row in csv.DictReader(file)}
    names = ("archive_verdict", "status_kernelbench", "status_hone", "agrees", "cause")
    assert {sample: tuple(row[name] for name in names) for sample, row in found.items()} == {
        0: ("correct", "passed", "passed", "yes", ""),
        1: ("correct", "wrong_value", "wrong_value", "no", "value"),
    }
    assert {row["experiment_kernelbench"] for row in found.values()} == {"public"}


def test_a_commit_with_other_results_judges_nothing_again(judged):
    configure(judged, commit(judged.archive, {f"{RUN}/eval_results.json": RESULTS.replace("1.5", "2.5")}))
    jobs = judged.jobs(judged.run("--", TABLE))
    assert (jobs["fetch_archive"], jobs["archived"]) == (1, 2)
    assert not {"build", "judge"} & set(jobs)
    assert records(judged, "claims", Claim)[0].runtime_ms == 2.5

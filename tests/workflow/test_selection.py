"""Operators of training loops in the DAG: what an edited prompt touches, and that an equal choice trains nothing again.

Only the DAG is tried: every script is one that writes a line, and what a finished run leaves is put there.
"""

import re
import shutil

import pytest
import yaml

from tests.workflow.conftest import ROOT, Pipeline

STUB = """from pathlib import Path

text = Path("kernels.txt").read_text() if snakemake.rule == "extract" else "{}\\n"
for path in snakemake.output:
    Path(path).write_text(text)
"""
LOOP = {
    "graphs": ["few"], "fanouts": [4, 3], "validation_fanouts": [4, 3], "inference_fanouts": [4, 3],
    "inference": {"splits": []},
}  # fmt: skip
OPERATORS = {"one_shot": "sample_neighbours", "zero_shot": "gather_rows"}
"""Method, so prompt, of an operator's experiment; the loop's system runs the first alone."""
SELECTED = "results/tiny/training/selected/few/sage/pipelined/gpus1/seed0.json"
CHOICE = "results/tiny/selected/ops/sample_neighbours.json"
TRAINED = ["results/tiny/gates/selected/ops/sample_neighbours.done", SELECTED]
TABLES = [
    f"results/tiny/{name}"
    for name in ("tables/kernelbench_fast_p.csv", "figures", "papers", "summary.md", "report/landing.rst", "site")
]
REPORT = ["report/tables", "report/csv", "report/figures", "report/trajectories"]
FOLDERS = [f"results/tiny/{name}" for name in ("figures", "pages/tables", "papers", "site", *REPORT)]
"""Outputs of rules that are folders."""


def config():
    packages = {"own": {"kind": "folder", "path": "given"}}
    experiments = {
        method: {
            "method": method, "source": "ops", "levels": [1], "problems": [f"level1/{number}"], "language": "cpp",
            "models": ["recorded/none"], "batch_size": 1,
        }
        for number, method in enumerate(OPERATORS, start=1)
    }  # fmt: skip
    return {
        "paths": {"recorded": "recorded"},
        "sources": {"ops": {"kind": "kernels", "path": "given", "levels": {1: 2}, "packages": packages}},
        "experiments": experiments,
        "graphs": {"few": {"kind": "synthetic", "nodes": 300, "classes": 3, "feature_dim": 8}},
        "trainings": {"builtin": LOOP, "selected": {**LOOP, "kernels": "selected", "kernels_from": "ops"}},
        "judge": {"name": "none"},
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A campaign on two operators and two trainings, as it is when all has run."""
    folder = tmp_path_factory.mktemp("selection")
    for name in ("workflow", "config"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "Snakefile", folder)
    for name in ("resources", "profiles", "envs"):
        (folder / name).symlink_to(ROOT / name)
    for script in (folder / "workflow/scripts").glob("*.py"):
        script.write_text(STUB)
    (folder / "given").mkdir()
    for number, operator in enumerate(OPERATORS.values(), start=1):
        (folder / f"given/{number}_{operator}.yaml").touch()
    (folder / "recorded").mkdir()
    (folder / "recorded/none.jsonl").touch()
    (folder / "kernels.txt").write_text("{}\n")
    (folder / "tiny.yaml").write_text(yaml.safe_dump(config()))
    made = Pipeline(folder)
    for name in re.findall(r"^(results/\S+)\t", made.run("--summary"), re.MULTILINE):
        made_by_rule = folder / name
        if name in FOLDERS:
            made_by_rule.mkdir(parents=True)
            continue
        made_by_rule.parent.mkdir(parents=True, exist_ok=True)
        made_by_rule.write_text("{}\n")
    made.run("--touch")
    return made


def edit_prompt(finished, method):
    template = finished.folder / f"config/prompts/{method}/coder.md"
    template.write_text(template.read_text() + "Hurry.\n")


def outputs(finished, *arguments):
    """The first output of every job that a dry run lists."""
    return re.findall(r"^    output: ([^,\s]+)", finished.run("--dry-run", *arguments), re.MULTILINE)


def chain(method, batch):
    """The files of one operator's experiment, from its prompt to its kernel."""
    places = ["prompts/{}/{}", "answers/{}/recorded--none/turn0/{}", "candidates/{}/recorded--none/turn0/{}"]
    places += ["builds/{}/recorded--none/turn0/{}", "traces/{}/recorded--none/turn0/{}"]
    found = [f"results/tiny/{place.format(method, batch)}.jsonl" for place in places]
    return [
        *found,
        f"results/tiny/gates/{method}/recorded--none/turn0.done",
        f"results/tiny/selected/ops/{OPERATORS[method]}.json",
    ]


def test_an_edited_prompt_lists_its_operator_s_chain_and_the_trainings_that_use_it(finished):
    edit_prompt(finished, "one_shot")
    assert sorted(outputs(finished)) == sorted([*chain("one_shot", "000"), *TRAINED, *TABLES])


def test_other_kernels_and_an_equal_choice_train_nothing_again(finished):
    (finished.folder / "kernels.txt").write_text("others\n")
    jobs = finished.jobs(finished.run("--", SELECTED))
    assert {"generate", "extract", "build", "judge", "select", "selection_gate"} <= set(jobs)
    assert "train" not in jobs


def test_another_choice_trains_again_and_an_operator_that_nobody_runs_trains_nothing(finished):
    edit_prompt(finished, "zero_shot")
    listed = outputs(finished)
    assert sorted(listed) == sorted([*chain("zero_shot", "001"), *TABLES])
    (finished.folder / CHOICE).write_text('{"other": 1}\n')
    assert sorted(outputs(finished, "--", SELECTED)) == sorted(TRAINED)

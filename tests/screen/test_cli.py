"""`hone screen` on files, folders and experiments: what it reads, prints and writes."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hone.cli.main import app
from hone.core.errors import ConfigError
from hone.core.files import read_records, write_records
from hone.records import Candidate, Solution
from hone.screen.gather import level_and_number
from hone.screen.screening import Screening

PROBLEM = "def get_inputs():\n    return [1, 2]\ndef get_init_inputs():\n    return []\nclass Model: pass\n"
ANSWER = "from torch import nn\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        return x\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "problems/level1").mkdir(parents=True)
    (tmp_path / "problems/level1/7_Add.py").write_text(PROBLEM)
    (tmp_path / "runs/deep").mkdir(parents=True)
    (tmp_path / "runs/level_1_problem_7_sample_0_kernel.py").write_text(ANSWER)
    (tmp_path / "runs/deep/broken.py").write_text("class ModelNew(")
    (tmp_path / "runs/deep/copy.py").symlink_to(tmp_path / "runs/deep/broken.py")
    (tmp_path / "runs/notes.txt").write_text("none")
    return tmp_path


def screened(*arguments):
    """(output, records) of a call."""
    found = CliRunner().invoke(app, ["screen", *arguments, "--json", "out.jsonl"], catch_exceptions=False)
    assert found.exit_code == 0
    return found.output, read_records(Path("out.jsonl"), Screening)


def test_a_folder_is_screened_with_all_below_it_but_links(folder):
    output, (broken, answer) = screened("runs", "--problems", "problems", "--csv", "out.csv")
    assert broken.name.endswith("deep/broken.py") and broken.parse_error.startswith("SyntaxError")
    assert (answer.constructor_fits, answer.forward_fits) == (True, False)
    assert "forward does not fit" in output and "cannot be parsed" in output
    rows = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    assert [row["forward_fits"] for row in rows] == ["", "no"]
    assert json.loads((folder / "out.jsonl").read_text().splitlines()[1])["has_model"] is True


def test_an_experiment_is_screened_from_results(folder):
    solution = Solution(definition="kb/level1/7_Add", language="python", entry_point="ModelNew", source=ANSWER)
    row = Candidate(
        experiment="one", method="one_shot", model="m", definition=solution.definition, turn=0, sample=2,
        prompt_digest="", completion_key="", solution=solution.id,
    )  # fmt: skip
    lost = row.model_copy(update={"sample": 3, "solution": None, "problem": "no code"})
    write_records(folder / "results/config/candidates/one/m/turn0/000.jsonl", [row, lost])
    write_records(folder / "results/config/solutions/one/m/turn0/000.jsonl", [solution])
    _, (found,) = screened("--experiment", "one", "--problems", "problems")
    assert found.name == "one/m/kb/level1/7_Add/turn0/2"
    assert (found.definition, found.forward_fits) == ("kb/level1/7_Add", False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no solution here"),
        (["nowhere"], "no such file or folder"),
        (["--experiment", "two"], "no experiment 'two'"),
        (["runs", "--problems", "runs"], "no problem here"),
    ],
)
def test_what_is_not_there_is_one_error(folder, arguments, said):
    with pytest.raises(ConfigError, match=said):
        CliRunner().invoke(app, ["screen", *arguments], catch_exceptions=False)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("runs/a/level_2_problem_17_sample_0_kernel.py", (2, 17)),
        ("runs/level2_x/generated_kernels/level_3/problem_4.py", (3, 4)),
        ("runs/opus4_level1_20250101_120000/problem_12_kernel.py", (1, 12)),
        ("miniature/level1/1_Swish", (1, 1)),
        ("tests/honest.py", None),
    ],
)
def test_the_problem_that_a_path_names(path, place):
    assert level_and_number(path) == place

"""A login node has no PyTorch: it can plan and show the status, and both speak of the same files."""

import os
import re
import subprocess
import sys

import pytest
import yaml

from hone.config.files import read_values
from hone.config.settings import load
from hone.core.files import write_records
from hone.file_map import FileMap
from hone.llm.recorded import RecordedAnswer
from tests.workflow.conftest import ROOT

MODEL = "recorded/miniature"
KERNELS, LAST_TURN = 8, 2
ROUNDS = {"source": "existing", "levels": [1], "models": ["recorded/rounds"], "language": "cpp"}
SCRATCH = {"source": "miniature", "levels": [1], "models": [MODEL], "language": "cpp"}
EXPERIMENTS = {
    "one": {**SCRATCH, "method": "one_shot", "samples": 2},
    "deep": {**SCRATCH, "models": ["recorded/miniature_refine"], "method": "refine", "turns": 2},
    "gold": {"source": "miniature", "levels": [1], "method": "gold"},
    "published": {"source": "miniature", "levels": [1], "method": "archive", "archive": "public"},
    "astra": {**ROUNDS, "method": "astra", "turns": LAST_TURN + 1, "astra": {"notes": True}},
    "single": {**ROUNDS, "method": "astra_single", "turns": 2},
    "winner": {**ROUNDS, "method": "astra_single", "turns": 2, "astra": {"evaluate": "winner"}},
}
ARCHIVES = {"public": {"kind": "leaderboard", "url": "nowhere", "commit": "0" * 40}}
STAGES = ("answers", "builds", "traces", "evaluations", "suites", "roles", "graphs", "training", "inference")


def answer(number):
    """Of a kernel's last round, which nobody asks for here."""
    return RecordedAnswer(
        definition=f"existing/level1/{number}_any", role="coding", turn=LAST_TURN, sample=0, prompt_digest="",
        response="", model_label="nobody",
    )  # fmt: skip


@pytest.fixture(scope="module")
def login_node(tmp_path_factory):
    """Runs `python -m …` in a checkout, where importing PyTorch is an error."""
    folder = tmp_path_factory.mktemp("login")
    for name in ("Snakefile", "workflow", "resources", "profiles", "config", "src"):
        (folder / name).symlink_to(ROOT / name)
    for name in ("torch", "torch_geometric"):
        (folder / "missing" / name).mkdir(parents=True)
        (folder / "missing" / name / "__init__.py").write_text(f"raise ImportError('no {name} here')\n")
    values = read_values(ROOT / "config/miniature.yaml")
    values["sources"]["existing"]["levels"] = {1: KERNELS}  # two jobs, so that notes go from one to the other
    (folder / "recorded").mkdir()
    for transcript in ("miniature", "miniature_refine"):
        (folder / f"recorded/{transcript}.jsonl").symlink_to(ROOT / f"resources/recorded/{transcript}.jsonl")
    write_records(folder / "recorded/rounds.jsonl", [answer(number) for number in range(1, KERNELS + 1)])
    training = {"graphs": ["communities"], "systems": ["plain", "pipelined"], "gpus": [1, 2], "epochs": 1}
    values |= {"archives": ARCHIVES, "experiments": EXPERIMENTS, "batch_size": 4, "trainings": {"ladder": training}}
    values["paths"] = {**values.get("paths", {}), "recorded": "recorded"}
    (folder / "login.yaml").write_text(yaml.safe_dump(values))

    def run(*arguments):
        search = os.pathsep.join([str(folder / "missing"), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": search},
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run, load(values)


def inputs(plan, rule):
    """The input files of a rule's jobs that lie in results/."""
    lines = re.findall(rf"^(?:local)?rule {rule}:\n    input: (.*)$", plan, re.MULTILINE)
    assert lines, plan
    return {path for line in lines for path in line.split(", ") if path.startswith("results/")}


def test_the_plan_is_made_of_the_files_that_the_status_looks_for(login_node):
    run, settings = login_node
    plan = run("-m", "snakemake", "-n", "--cores", "2", "--configfile", "login.yaml")
    files = FileMap(settings, "results/login")
    shards = [shard for name in settings.experiments for shard in files.experiments.shards(name)]
    in_rounds = [shard for shard in shards if shard.experiment in ("astra", "single", "winner")]
    questions = [asked for name in settings.experiments for asked in files.experiments.questions(name)]
    keys = files.trainings.keys
    expected = {
        *(shard.records(stage) for shard in shards for stage in ("builds", "traces")),
        *(shard.records("evaluations") for shard in in_rounds if shard.experiment != "winner"),
        *(shard.evaluated_winners for shard in in_rounds if shard.experiment == "winner"),
        *(shard.suites for shard in in_rounds),
        *(asked.answers for asked in questions),
        *(files.paths.training(stage, key) for key in keys for stage in ("training", "inference")),
        *(files.paths.graph(key.graph) for key in keys),
    }
    found = {path for path in inputs(plan, "tables") if path.split("/")[2] in STAGES}
    assert found == expected
    assert files.paths.archive("public") in inputs(plan, "archived")
    # Jobs behind a gate have no inputs yet.
    prompts = {path for path in inputs(plan, "generate") | inputs(plan, "answer_role") if "TBD" not in path}
    assert prompts
    assert prompts <= {asked.prompts for asked in questions}


def test_the_status_needs_no_torch(login_node):
    run, _ = login_node
    script = "import sys; sys.argv[0] = 'hone'; from hone.cli.main import main; main()"
    output = run("-c", script, "status", "--configfile", "login.yaml")
    assert "Campaign of login.yaml" in output
    assert "calls recorded/miniature" in output
    assert "unknown" in output

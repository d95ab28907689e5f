"""A small pipeline in a folder of its own: two problems, a transcript of a few answers, all stages for real."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from hone.core.files import write_records
from hone.llm.recorded import RecordedAnswer

ROOT = Path(__file__).parents[2]
ADD = 'extern "C" void launch(const float* a, const float* b, float* out, long rows, long cols)'
SCALE = 'extern "C" void launch(const float* x, float* out, long rows, long cols)'
PROBLEM = '''
import torch
from torch import nn


class Model(nn.Module):
    """{title}."""

    def forward(self, {arguments}):
        return {expression}


rows, cols = 300, 512


def get_inputs():
    return [torch.randn(rows, cols) for _ in range({count})]


def get_init_inputs():
    return []
'''
CONFIG = {
    "paths": {"recorded": "recorded"},
    "sources": {"tiny": {"kind": "local", "path": "problems", "levels": {1: 2}}},
    "experiments": {
        "one": {
            "method": "one_shot", "source": "tiny", "levels": [1], "models": ["recorded/tiny"], "language": "cpp",
            "samples": 2,
        },
        "refine": {
            "method": "refine", "source": "tiny", "levels": [1], "models": ["recorded/tiny"], "language": "cpp",
            "turns": 2, "feedback": ["execution"],
        },
        "gold": {"method": "gold", "source": "tiny", "levels": [1]},
    },
    "judge": {
        "name": "test", "correctness_trials": 1, "timing_runs": 3, "timing_seconds": 0.05, "run_timeout_s": 10,
        "warmup_runs": 1,
    },
}  # fmt: skip


def answer(definition, turn, sample, code):
    return RecordedAnswer(
        definition=f"tiny/level1/{definition}", role="coder", turn=turn, sample=sample, prompt_digest="0" * 64,
        response=f"```cpp\n{code}\n```\n", model_label="the test",
    )  # fmt: skip


def transcript():
    """Right, wrong, uncompilable and no code at all, over two samples and two turns."""
    right = f"{ADD} {{ for (long i = 0; i < rows * cols; ++i) out[i] = a[i] + b[i]; }}"
    wrong = f"{SCALE} {{ for (long i = 0; i < rows * cols; ++i) out[i] = x[i]; }}"
    fixed = wrong.replace("= x[i]", "= 3 * x[i]")
    return [
        answer("1_Add", 0, 0, right),
        answer("1_Add", 0, 1, right.replace("+ b[i];", "+ b[i]")),
        answer("1_Add", 1, 0, right),
        answer("2_Triple", 0, 0, wrong),
        answer("2_Triple", 0, 1, "int nothing;"),
        answer("2_Triple", 1, 0, fixed),
    ]


@dataclass
class Pipeline:
    """Runs Snakemake in its folder."""

    folder: Path
    configs: tuple[str, ...] = ("tiny.yaml",)

    def command(self, *arguments):
        return [sys.executable, "-m", "snakemake", "--cores", "2", "--configfile", *self.configs, *arguments]

    def run(self, *arguments, check=True):
        """The run's output, both streams; with `check`, it must exit with 0."""
        command = self.command(*arguments)
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=3600, check=False)
        output = done.stdout + done.stderr
        if check:
            assert done.returncode == 0, output
        else:
            assert done.returncode != 0, output
        return output

    def configure(self, **sections):
        """Write the config, with whole sections replaced."""
        (self.folder / "tiny.yaml").write_text(yaml.safe_dump({**CONFIG, **sections}))

    def jobs(self, output):
        """Rule -> jobs that ran, counted from the run's sentences."""
        counts = {}
        for rule in re.findall(r"^\[ *\d+/\d+\] (\w+): ", output, re.MULTILINE):
            counts[rule] = counts.get(rule, 0) + 1
        return counts


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipeline")
    for name in ("Snakefile", "workflow", "resources", "profiles"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "config", folder / "config")
    problems = folder / "problems/level1"
    problems.mkdir(parents=True)
    (problems / "1_Add.py").write_text(PROBLEM.format(title="Sum", arguments="a, b", expression="a + b", count=2))
    (problems / "2_Triple.py").write_text(PROBLEM.format(title="Triple", arguments="x", expression="3 * x", count=1))
    made = Pipeline(folder)
    made.configure()
    write_records(folder / "recorded/tiny.jsonl", transcript())
    return made

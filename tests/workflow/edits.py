"""What an edit makes run again, measured: a small campaign is run once, and each edit starts from a copy of it.

    python -m tests.workflow.edits     writes docs/results/edits.csv and edits.md

A local server plays the models. GPU jobs are those that would hold a GPU: here the judge and the trainings use the CPU.
"""

import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import yaml

from tests.workflow.conftest import ADD, PROBLEM, ROOT, SCALE
from tests.workflow.rounds import Server

COPIED = ("Snakefile", "workflow", "config", "envs", "profiles", "resources", "src")
TABLE = ROOT / "docs/results/edits.csv"
GPU_RULES = ("judge", "evaluate", "evaluate_winner", "train", "infer", "sampler_benchmark")
TABLES = ("--until", "tables")
"""Figures, pages and the summary follow the tables; leaving them out saves this table's maker seconds an edit."""
WRITER, OTHER = "openai-api/writer/one", "openai-api/other/two"
TOLERANCE, PROBLEMS = {"atol": 1.0e-5, "rtol": 1.0e-5}, 1
SUITE = '```json\n[{"axes": {"rows": 64, "length": 80}}]\n```\n'


@dataclass
class Campaign:
    """A checkout in a folder of its own, with what it has made."""

    folder: Path

    @property
    def config(self):
        return self.folder / "edits.yaml"

    def run(self, *arguments, cores=1):
        """Rule -> jobs that ran, or that a dry run plans; the target `all` is none."""
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "--cores",
            str(cores),
            "--configfile",
            self.config.name,
            *arguments,
        ]
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "src")}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600, check=False
        )
        output = done.stdout + done.stderr
        assert done.returncode == 0, output
        jobs = Counter(
            re.findall(r"^(?:\[ *\d+/\d+\]|(?:local)?rule|(?:local)?checkpoint) (\w+):", output, re.MULTILINE)
        )
        del jobs["all"]
        return jobs

    def entries(self, place):
        """How many entries the ledger has, or a part of the store."""
        pattern = "build.json" if place == "store/builds" else "*.json"
        return sum(1 for _ in (self.folder / ".hone" / place).rglob(pattern))

    def copied(self, folder):
        """All of it with its times, in another folder."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Campaign(folder)

    def append(self, file, text):
        path = self.folder / file
        path.write_text(path.read_text() + text)

    def configure(self, change):
        """Change the config's values in place."""
        values = yaml.safe_load(self.config.read_text())
        change(values)
        self.config.write_text(yaml.safe_dump(values))

    def touch(self):
        """Every file of the checkout, nothing that the pipeline made."""
        for path in self.folder.rglob("*"):
            if path.is_file() and path.relative_to(self.folder).parts[0] in (*COPIED, "problems", self.config.name):
                path.touch()

    def forget(self):
        """What a clean clone beside kept stores has not: results, and what Snakemake knows about them."""
        for name in ("results", ".snakemake"):
            shutil.rmtree(self.folder / name)

    def add_problem(self):
        write_problem(self.folder, "2_Triple", "x", "3 * x", 1)
        self.configure(lambda values: values["sources"]["tiny"].update(levels={1: 2}))


@dataclass(frozen=True)
class Edit:
    """A row of the table before it is measured."""

    name: str
    apply: Callable[[Campaign], object]
    planned: bool = False
    """A dry run to the last figure: where no gate hides jobs it says all. Otherwise a run to the tables."""


def in_config(change):
    return lambda campaign: campaign.configure(change)


def appended(file, text="\n# A comment.\n"):
    return lambda campaign: campaign.append(file, text)


PROMPT = "config/prompts/one_shot/coder.md"
EDITS = (
    Edit("nothing", lambda campaign: None),
    Edit("one word in a prompt: another kernel", appended(PROMPT, "Unroll.\n")),
    Edit("one word in a prompt: the same kernel, byte for byte", appended(PROMPT, "Hurry.\n")),
    Edit("a comment in a prompt", appended(PROMPT, "{# Nobody is asked this. #}")),
    Edit("a word in the coder's prompt of a round", appended("config/prompts/astra/coding.md", "Hurry.\n")),
    Edit("a word in an example that no prompt shows", appended("config/prompts/examples/fused_gelu/problem.py"), True),
    Edit("a script of `workflow/scripts/`: the judge's", appended("workflow/scripts/judge.py"), planned=True),
    Edit("one model added", in_config(lambda values: values["experiments"]["one"]["models"].append(OTHER))),
    Edit("one problem added", Campaign.add_problem),
    Edit("a tolerance", in_config(lambda values: values["sources"]["tiny"]["tolerance"].update(rtol=2.0e-5))),
    Edit("the timing protocol", in_config(lambda values: values["judge"].update(timing_runs=4))),
    Edit("a module under `judge/`", appended("src/hone/judge/counts.py")),
    Edit("a module under `analysis/`", appended("src/hone/analysis/metrics.py"), planned=True),
    Edit("a module under `gnn/`: the training loop", appended("src/hone/gnn/learner.py"), planned=True),
    Edit("a module under `gnn/`: the sampler's study", appended("src/hone/gnn/study.py"), planned=True),
    Edit("a module under `gnn/`: preparing graphs, to equal ones", appended("src/hone/gnn/prepare.py")),
    Edit("a `touch` of every file", Campaign.touch, planned=True),
    Edit("a clean clone, the stores kept", Campaign.forget),
)


def write_problem(folder, name, arguments, expression, count):
    path = folder / f"problems/level1/{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PROBLEM.format(title=name, arguments=arguments, expression=expression, count=count))


def config(urls):
    """Two problem sources, one of them an existing kernel; one answer, one round, one training."""
    two_hops = [4, 3]
    return {
        "sources": {
            "tiny": {"kind": "local", "path": "problems", "levels": {1: PROBLEMS}, "tolerance": TOLERANCE},
            "existing": {
                "kind": "kernels", "path": "config/kernels/miniature", "levels": {1: 1},
                "packages": {"own": {"kind": "folder", "path": "resources/kernels/miniature"}},
            },
        },
        "experiments": {
            "one": {"method": "one_shot", "source": "tiny", "levels": [1], "models": [WRITER], "language": "cpp"},
            "team": {
                "method": "astra", "source": "existing", "levels": [1], "models": [WRITER], "language": "cpp",
                "turns": 2,
            },
        },
        "graphs": {"few": {"kind": "synthetic", "nodes": 300, "classes": 3, "feature_dim": 8}},
        "trainings": {
            "small": {
                "graphs": ["few"], "fanouts": two_hops, "validation_fanouts": two_hops, "inference_fanouts": two_hops,
                "hidden": 8, "batch_size": 64, "epochs": 1, "threads": 1,
            },
        },
        "batch_size": 1,
        "baselines": ["torch_eager", "upstream"],
        "judge": {
            "name": "edits", "correctness_trials": 1, "timing_runs": 3, "timing_seconds": 0.02, "warmup_runs": 0,
            "run_timeout_s": 10,
        },
        "llm": {
            "mode": "live", "max_attempts": 1, "services": urls, "spending_limit_usd": 10,
            "prices": {model: {"input_usd_per_mtok": 1, "output_usd_per_mtok": 1} for model in (WRITER, OTHER)},
        },
    }  # fmt: skip


class Writer(Server):
    """Answers coders by what the prompt is about; the suite is that of the existing kernel."""

    def __init__(self, comment):
        super().__init__(self.write)
        self.comment = comment

    def answer(self, prompt):
        return SUITE if "You are the tester" in prompt else super().answer(prompt)

    def write(self, prompt, number):
        if "rms_norm" in prompt:  # the version that the prompt shows, with a remark
            source = max(re.findall(r"```cpp\n(.*?)```", prompt, re.DOTALL), key=len)
            return f"{source}// {self.comment}\n"
        unrolled = "#pragma GCC unroll 4\n    " if "Unroll" in prompt else ""
        launcher, value = (ADD, "a[i] + b[i]") if "a + b" in prompt.split("to make fast")[-1] else (SCALE, "3 * x[i]")
        body = f"    {unrolled}for (long i = 0; i < rows * cols; ++i) out[i] = {value};"
        return f"{launcher} {{\n{body}\n}}\n// {self.comment}\n"

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


@contextmanager
def servers():
    """Addresses by service; the keys that a client needs are in the environment meanwhile."""
    keys = {"WRITER_API_KEY": "none", "OTHER_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
    with patch.dict(os.environ, keys), Writer("one") as writer, Writer("two") as other:
        yield {"writer": writer.url, "other": other.url}
        writer.shutdown()
        other.shutdown()


def checkout(folder, urls):
    """A copy of the project, small, with its config."""
    folder.mkdir()
    for name in COPIED:
        source, ignored = ROOT / name, shutil.ignore_patterns("*.egg-info")
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy2(source, folder / name)
    write_problem(folder, "1_Add", "a, b", "a + b", 2)
    made = Campaign(folder)
    made.config.write_text(yaml.safe_dump(config(urls)))
    return made


def measure(edit, first, folder):
    """A row: what one edit of the finished campaign `first` makes run."""
    campaign = first.copied(folder)
    edit.apply(campaign)
    places = ("ledger", "store/builds", "store/traces")
    before = [campaign.entries(place) for place in places]
    jobs = campaign.run(*(["--dry-run"] if edit.planned else TABLES))
    made = [campaign.entries(place) - had for place, had in zip(places, before, strict=True)]
    shutil.rmtree(folder)
    return row(edit.name, jobs, *(["", "", ""] if edit.planned and jobs else made))


def row(name, jobs, calls, builds, verdicts):
    return {
        "edit": name,
        "jobs": sum(jobs.values()),
        "model_calls": calls,
        "compiled": builds,
        "gpu_jobs": sum(jobs[rule] for rule in GPU_RULES),
        "judged": verdicts,
        "rules": " ".join(f"{rule}:{count}" if count > 1 else rule for rule, count in sorted(jobs.items())),
    }


def make_rows(folder, edits=EDITS):
    """The table: the first run, then each edit of it, two at a time."""
    with servers() as urls:
        first = checkout(folder / "first", urls)
        jobs = first.run(cores=2)
        made = [first.entries(place) for place in ("ledger", "store/builds", "store/traces")]
        rows = [row("the first run", jobs, *made)]
        with ThreadPoolExecutor(2) as pool:
            places = [folder / f"edit{number}" for number in range(len(edits))]
            return [*rows, *pool.map(lambda edit, place: measure(edit, first, place), edits, places)]


def as_csv(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_markdown(rows):
    names = list(rows[0])
    lines = ["# What an edit makes run again", ""]
    lines += ["Made by `python -m tests.workflow.edits`; what it means is in [docs/reruns.md](../reruns.md).", ""]
    lines += ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]
    lines += ["| " + " | ".join(str(item[name]) for name in names) + " |" for item in rows]
    return "\n".join(lines) + "\n"


def main():
    """Write the table into docs/results."""
    with tempfile.TemporaryDirectory() as folder:
        rows = make_rows(Path(folder))
    TABLE.write_text(as_csv(rows))
    TABLE.with_suffix(".md").write_text(as_markdown(rows))


if __name__ == "__main__":
    main()

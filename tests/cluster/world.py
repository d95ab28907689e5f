"""A folder in which `snakemake --cores 8 --profile slurm` runs a part of the miniature on the Slurm of slurm.sh."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("slurm.sh")
COMMAND = [sys.executable, "-m", "snakemake", "--cores", "8", "--profile", "slurm"]
QUICK = {
    "seconds-between-status-checks": 2, "slurm-init-seconds-before-status-checks": 2, "max-status-checks-per-second": 2,
}  # fmt: skip
"""A real cluster is asked less often."""


@dataclass(frozen=True)
class Job:
    """A job in Slurm's accounting: what it asked for and what became of it."""

    rule: str
    partition: str
    state: str
    gpus: int
    nodes: int


@dataclass(frozen=True)
class World:
    """The folder of a run."""

    folder: Path

    def run(self, *arguments):
        """The run's exit status and output."""
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=3600, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def jobs(self):
        """This folder's jobs, in the order in which they were submitted."""
        fields = "Comment,Partition,State,ReqTRES,NNodes,WorkDir"
        command = ["sacct", "--allocations", "--noheader", "--parsable2", "--duplicates", f"--format={fields}"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        rows = [line.split("|") for line in lines]
        return [
            Job(comment.partition("_wildcards_")[0].removeprefix("rule_"), partition, state, _gpus(asked), int(nodes))
            for comment, partition, state, asked, nodes, folder in rows
            if folder == str(self.folder)
        ]


def _gpus(asked):
    found = re.search(r"gres/gpu=(\d+)", asked)
    return int(found.group(1)) if found else 0


def slurm_environment(cluster):
    """What finds the Slurm that slurm.sh started in a folder."""
    return {"SLURM_CONF": str(cluster / "slurm.conf"), "PATH": f"{cluster / 'bin'}:{os.environ['PATH']}"}


def make_world(folder, sections, **resources):
    """The project in a new folder; `sections` of the miniature's config and `resources` of the profile are replaced."""
    for name in ("Snakefile", "workflow", "resources", "profiles", "envs", "src"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "config", folder / "config")
    config = yaml.safe_load((ROOT / "config/miniature.yaml").read_text())
    (folder / "config/config.yaml").write_text(yaml.safe_dump({**config, **sections}))
    profile = yaml.safe_load((ROOT / "slurm/config.yaml").read_text())
    assert not QUICK.keys() - profile.keys()
    profile.update(QUICK)
    # The miniature is judged on a CPU; here it asks for a GPU all the same.
    for rule, values in {"judge": {"gpu": 1}, **resources}.items():
        profile["set-resources"][rule] = {**profile["set-resources"][rule], **values}
    (folder / "slurm").mkdir()
    (folder / "slurm/config.yaml").write_text(yaml.safe_dump(profile))
    return World(folder)

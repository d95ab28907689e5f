"""Small git repositories in the layouts of public archives; every word in them is ours."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from hone.config.settings import parse_archive
from hone.sources.archives.fetch import fetch

SOURCE = "class ModelNew: ...\n"


def run(folder, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", *identity, "-C", str(folder), *arguments]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


def problem(level, number):
    """Text of a problem as the archive has it."""
    return f"class Model: ...  # level {level}, number {number}\n"


def result(correct=True, compiled=True, runtime=2.0, **metadata):
    """What KernelBench's evaluation writes of one answer."""
    found = {"compiled": compiled, "correctness": correct, "metadata": {"hardware": "a GPU", **metadata}}
    return found | {"runtime": runtime if correct else -1.0, "runtime_stats": {}}


@dataclass
class Repository:
    """An archive in the making."""

    folder: Path

    def write(self, path, content):
        """A file; what is neither text nor bytes becomes JSON."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            place.write_bytes(content)
        else:
            place.write_text(content if isinstance(content, str) else json.dumps(content))

    def link(self, path, target):
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    def problems(self, *places):
        for level, number in places:
            self.write(f"KernelBench/level{level}/{number}_title.py", problem(level, number))

    def commit(self):
        run(self.folder.parent, "init", "--quiet", str(self.folder))
        run(self.folder, "add", ".")
        run(self.folder, "commit", "--quiet", "--allow-empty", "-m", "one")
        return run(self.folder, "rev-parse", "HEAD")

    def fetch(self, kind, **fields):
        """(answers, skipped) of the archive `a`."""
        entry = {"kind": kind, "url": str(self.folder), "commit": self.commit(), **fields}
        return fetch("a", parse_archive(entry))


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "archive")
    made.folder.mkdir()
    return made


def reasons(skipped):
    """(level, number, reason) of what was left out."""
    return [(item.level, item.number, str(item.reason)) for item in skipped]


def verdicts(answers):
    """(level, number, sample) -> verdict."""
    return {(item.level, item.number, item.sample): str(item.claimed.verdict) for item in answers}

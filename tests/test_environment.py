"""One set of pins: the lock, the conda file and the project's own requirements agree."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import yaml

LOCK = [line.strip() for line in Path("envs/requirements.lock").read_text().splitlines()]


def name_of(requirement):
    return re.match(r"[\w.-]+", requirement).group().lower().replace("_", "-")


def test_every_line_of_the_lock_is_a_pin():
    assert all(re.fullmatch(r"[\w.-]+==[\w.+!-]+", line) for line in LOCK)


def test_the_conda_file_has_the_same_pins():
    dependencies = yaml.safe_load(Path("envs/hone.yaml").read_text())["dependencies"]
    assert dependencies[-1]["pip"] == LOCK


def test_what_the_project_needs_is_pinned():
    pinned = {name_of(line) for line in LOCK}
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    assert {name_of(line) for line in project["dependencies"]} <= pinned
    named = [line for line in Path("envs/requirements.in").read_text().splitlines() if not line.startswith("#")]
    assert {name_of(line) for line in named} <= pinned


def test_the_tests_run_on_the_pinned_snakemake():
    (pin,) = [line for line in LOCK if line.startswith("snakemake==")]
    assert version("snakemake") == pin.partition("==")[2]

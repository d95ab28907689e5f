"""One set of pins: the lock, the conda file and the project's own requirements agree."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, version
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


def imported(file):
    """Top-level names of the modules that a source file imports, wherever it does so."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]


def test_what_the_source_imports_is_a_dependency():
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    dependencies = {name_of(line) for line in project["dependencies"]}
    providers = packages_distributions()
    names = {name for file in Path("src/hone").rglob("*.py") for name in imported(file)}
    optional = {name_of(line) for lines in project["optional-dependencies"].values() for line in lines}
    names = {name for name in names if name.replace("_", "-") not in optional}
    foreign = names - set(sys.stdlib_module_names) - {"hone", "triton"}  # PyTorch for GPUs brings its own Triton
    assert not {name for name in foreign if not {name_of(found) for found in providers.get(name, [])} & dependencies}


def test_another_python_is_refused_before_anything_is_installed(tmp_path):
    (tmp_path / "envs").mkdir()
    for name in ("Makefile", "pyproject.toml", "envs/requirements.lock"):
        (tmp_path / name).write_text(Path(name).read_text())
    python = tmp_path / "python3.10"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "import sys; sys.version_info = (3, 10, 0); $2"\n')
    python.chmod(0o755)
    command = ["make", ".venv/.installed", f"PYTHON={python}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode != 0
    assert "Hone needs Python 3.11 to 3.13" in done.stderr
    assert not (tmp_path / ".venv").exists()
    wanted = tomllib.loads(Path("pyproject.toml").read_text())["project"]["requires-python"]
    assert wanted == ">=3.11,<3.14"


def test_the_tests_run_on_the_pinned_snakemake():
    (pin,) = [line for line in LOCK if line.startswith("snakemake==")]
    assert version("snakemake") == pin.partition("==")[2]


def test_a_refused_package_leaves_no_complete_environment(tmp_path):
    (tmp_path / "envs").mkdir()
    (tmp_path / "Makefile").write_text(Path("Makefile").read_text())
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "envs/requirements.lock").write_text("no-such-package==0\n")
    tools = tmp_path / ".venv/bin"
    tools.mkdir(parents=True)
    for name, status in (("pip", 0), ("uv", 1)):
        (tools / name).write_text(f"#!/bin/sh\necho {name} $*\nexit {status}\n")
        (tools / name).chmod(0o755)
    command = ["make", ".venv/.installed", "PYTHON=true"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "-r envs/requirements.lock" in done.stdout
    assert not list((tmp_path / ".venv").glob(".*"))

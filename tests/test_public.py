"""What a public project has beside its code agrees with the project: licence, citation, public CI, container."""

import re
import shlex
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

PROJECT = tomllib.loads(Path("pyproject.toml").read_text())["project"]
MAKEFILE = Path("Makefile").read_text()
CITATION = yaml.safe_load(Path("CITATION.cff").read_text())


def instructions():
    """The Dockerfile's instructions as (name, rest of the line), continued lines joined, comments left out."""
    text = re.sub(r"\\\n\s*", "", Path("Dockerfile").read_text())
    return [tuple(line.split(" ", 1)) for line in text.splitlines() if line and not line.startswith("#")]


def test_the_citation_names_this_version_and_licence():
    assert CITATION["version"] == PROJECT["version"] == version("hone")
    assert CITATION["license"] == PROJECT["license"]
    assert PROJECT["description"] in CITATION["title"]


def test_the_citation_has_what_its_format_asks_for():
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= CITATION.keys()
    assert CITATION["authors"] == PROJECT["authors"] == [{"name": "The Hone authors"}]


def test_the_licence_is_the_whole_of_the_named_one():
    text = Path("LICENSE").read_text()
    assert PROJECT["license-files"] == ["LICENSE"]
    assert PROJECT["license"] == "Apache-2.0"
    assert re.match(r"\s+Apache License\s+Version 2\.0, January 2004\s+http://www\.apache\.org/licenses/\n", text)
    assert [int(number) for number in re.findall(r"^   (\d)\. ", text, re.MULTILINE)] == list(range(1, 10))
    assert "END OF TERMS AND CONDITIONS" in text
    assert re.search(r"^   Copyright \d{4} The Hone authors$", text, re.MULTILINE)
    assert "[name of copyright owner]" not in text


@pytest.fixture
def job():
    (found,) = yaml.safe_load(Path(".github/workflows/ci.yml").read_text())["jobs"].values()
    return found


def test_public_ci_runs_what_the_projects_own_runs(job):
    (command,) = [step["run"] for step in job["steps"] if "run" in step]
    assert shlex.split(command)[-1] == ".ci/run"
    assert re.findall(r"^make .*$", Path(".ci/run").read_text(), re.MULTILINE) == ["make --jobs 2 test", "make slow"]
    assert re.search(r"^test: check pytest$", MAKEFILE, re.MULTILINE)


def test_public_ci_runs_the_oldest_and_the_newest_python(job):
    known = SpecifierSet(PROJECT["requires-python"])
    supported = [f"3.{minor}" for minor in range(30) if f"3.{minor}" in known]
    assert job["strategy"]["matrix"]["python"] == [supported[0], supported[-1]]


def test_public_ci_takes_actions_at_a_commit(job):
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert {name.partition("@")[0] for name in used} == {"actions/checkout", "actions/setup-python"}
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name) for name in used)


def test_the_container_installs_the_packages_before_it_copies_the_project():
    steps = instructions()
    packages = steps.index(("RUN", "make .venv/.packages"))
    assert {("COPY", "Makefile ."), ("COPY", "envs/requirements.lock envs/requirements.lock")} <= set(steps[:packages])
    assert packages < steps.index(("COPY", ". ."))
    assert re.search(r"^\.venv/\.packages: envs/requirements.lock$", MAKEFILE, re.MULTILINE)


def test_the_container_has_what_the_readme_asks_for():
    steps = instructions()
    (base,) = [rest for name, rest in steps if name == "FROM"]
    assert base.endswith("-slim")
    assert re.search(r"python:(\d\.\d+)", base)[1] in SpecifierSet(PROJECT["requires-python"])
    (packages,) = [rest for name, rest in steps if name == "RUN" and "apt-get install" in rest]
    assert {"g++", "git", "make"} <= set(packages.split())
    assert steps[-1] == ("CMD", '["make", "demo"]')


def test_the_container_completes_the_environment_that_make_looks_for():
    """Else `make demo` would install everything anew at each start."""
    steps = instructions()
    assert steps.index(("COPY", ". .")) < steps.index(("RUN", "make .venv/.installed"))
    assert re.search(r"^demo: \.venv/\.installed$", MAKEFILE, re.MULTILINE)


def test_a_containers_image_gets_no_key_and_no_results():
    ignored = {line.strip("/").removeprefix("**/") for line in Path(".dockerignore").read_text().splitlines()}
    own = {line.strip("/") for line in Path(".gitignore").read_text().splitlines()} - {"*.pyc"}  # in __pycache__
    assert ".env" in own
    assert own <= ignored


def test_the_catalog_of_workflows_claims_no_more_than_the_rules_have():
    usage = yaml.safe_load(Path(".snakemake-workflow-catalog.yml").read_text())["usage"]
    rules = "\n".join(file.read_text() for file in Path("workflow/rules").glob("*.smk"))
    deployment = usage["software-stack-deployment"]
    assert deployment.keys() == {"conda", "apptainer", "apptainer+conda"}
    assert not deployment["apptainer"] or re.search(r"^\s*container:", rules, re.MULTILINE)
    assert not deployment["apptainer+conda"] or (deployment["apptainer"] and deployment["conda"])
    assert not deployment["conda"] or "--sdm conda" in Path("docs/log.md").read_text()
    assert usage["report"] == bool(re.search(r"^report:", Path("Snakefile").read_text(), re.MULTILINE))

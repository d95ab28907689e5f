"""The house: imports go one way, between packages and between files, and CONTRIBUTING.md names every room."""

import ast
import graphlib
import re
from pathlib import Path

import pytest

ROOT = Path("src/hone")


def dotted(file):
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {dotted(file): file for file in ROOT.rglob("*.py")}


def imports(file):
    """Names of the modules of hone that a file imports, also within functions."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "hone":
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in FILES else node.module


@pytest.fixture(scope="module")
def arrows():
    """Module -> modules that it imports."""
    return {name: set(imports(file)) & FILES.keys() - {name, "hone"} for name, file in FILES.items()}


def room(name):
    """The package in `hone`, or the module in its root."""
    return name.split(".")[1]


def test_no_files_import_each_other_in_a_circle(arrows):
    graphlib.TopologicalSorter(arrows).prepare()


def test_no_packages_import_each_other_in_a_circle(arrows):
    between: dict[str, set[str]] = {}
    for name, others in arrows.items():
        if name != "hone":
            between.setdefault(room(name), set()).update({room(other) for other in others} - {room(name)})
    graphlib.TopologicalSorter(between).prepare()


def test_every_room_is_named_once_and_after_those_that_it_imports(arrows):
    text = Path("CONTRIBUTING.md").read_text()
    rooms = re.findall(r"^\| `(\w+)`(?:, `(\w+)`)*", text[text.index("## Rooms") :], re.MULTILINE)
    named = [name for row in rooms for name in row if name]
    assert sorted(named) == sorted({room(name) for name in FILES if name != "hone"})
    for name, others in arrows.items():
        if name != "hone":
            later = {room(other) for other in others if named.index(room(other)) > named.index(room(name))}
            assert not later, name

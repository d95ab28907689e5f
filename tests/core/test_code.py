"""Digests of code decide what reruns; an expected failure is one message and exit status 1."""

import ast
import os
import platform
import re
from pathlib import Path

import pytest

from hone.core import code
from hone.core.code import code_digest, commit, imported, stage_digest, text_digest
from hone.core.errors import ConfigError
from hone.core.script import reported


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "judge/child").mkdir(parents=True)
    (tmp_path / "judge/child/run.py").write_text("x = 1\n")
    (tmp_path / "records.py").write_text("y = 1\n")
    monkeypatch.setattr(code, "ROOT", tmp_path)
    code_digest.cache_clear()
    yield tmp_path
    code_digest.cache_clear()


def test_a_digest_covers_every_file_of_its_parts_and_no_other(package):
    before = code_digest("judge", "records")
    (package / "other.py").write_text("z = 1\n")
    code_digest.cache_clear()
    assert code_digest("judge", "records") == before
    (package / "judge/child/run.py").write_text("x = 2\n")
    code_digest.cache_clear()
    assert code_digest("judge", "records") != before


def test_a_digest_does_not_depend_on_the_order_of_its_parts(package):
    assert code_digest("judge", "records") == code_digest("records", "judge")
    assert code_digest("judge") != code_digest("records")


def test_what_is_left_out_changes_nothing(package):
    before = code_digest("judge", "records", without=("judge/child",))
    (package / "judge/child/run.py").write_text("x = 2\n")
    code_digest.cache_clear()
    assert code_digest("judge", "records", without=("judge/child",)) == before
    assert code_digest("judge", "records") != before


@pytest.fixture
def stages(package):
    """A package whose stage imports one module at its top, one inside a function, and one in several lines."""
    (package / "errors.py").write_text("e = 1\n")
    (package / "lazy.py").write_text("z = 1\n")
    (package / "judge/__init__.py").write_text("")
    (package / "judge/child/__init__.py").write_text("")
    (package / "judge/stages.py").write_text(
        "from hone.core.errors import e\nfrom hone.judge.child import (\n    run,\n)\n\n\n"
        "def judge():\n    from hone.lazy import z\n"
    )
    code._imports.cache_clear()
    yield package
    stage_digest.cache_clear()
    code._imports.cache_clear()


def test_a_stages_digest_follows_its_imports(stages):
    assert {file.name for file in imported("judge.stages")} == {"stages.py", "run.py", "lazy.py"}
    before = stage_digest("judge.stages")
    for name, counts in (("lazy.py", True), ("judge/child/run.py", True), ("records.py", False), ("errors.py", False)):
        (stages / name).write_text("changed = 1\n")
        stage_digest.cache_clear()
        after = stage_digest("judge.stages")
        assert (after != before) is counts, name
        before = after


def test_a_stage_that_is_not_there_is_an_error(stages):
    with pytest.raises(FileNotFoundError):
        stage_digest("judge.stage")


STAGES = sorted(
    {
        name
        for file in Path("workflow/rules").glob("*.smk")
        for name in re.findall(r'stage_digest\("([\w.]+)"', file.read_text())
    }
)


@pytest.mark.parametrize("name", STAGES)
def test_every_import_of_a_stage_is_seen(name):
    """As Python reads them, beside how `imported` does."""
    for file in imported(name):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                assert not any(alias.name.startswith("hone") for alias in node.names), file
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hone"):
                known = {path.relative_to(code.ROOT).with_suffix("") for path in code._imports(file)}
                module = Path(*node.module.split(".")[1:])
                each = {module / alias.name for alias in node.names} | {module, module / "__init__"}
                assert known & each, (file, node.module)


@pytest.mark.parametrize("name", [name for name in STAGES if name != "sources.stages"])
def test_a_stage_starts_no_module_that_it_does_not_import(name):
    """A child process's module is run by its name or path, which no import shows."""
    texts = {file: file.read_text() for file in imported(name)}
    assert [file for file, text in texts.items() if re.search(r"_child|\"-m\"|sys\.executable", text)] == []


def imports_of(file):
    """Modules of the package `hone.gnn` that one of them imports, wherever it does so, as paths in src/hone."""
    for node in ast.walk(ast.parse(file.read_text())):
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            said = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
            for name in (said, said.rpartition(".")[0]):
                found = code.ROOT.parent / name.replace(".", "/")
                if name.startswith("hone.gnn."):
                    yield from (path for path in (found.with_suffix(".py"), found / "__init__.py") if path.is_file())


def test_what_trainings_leave_out_is_never_imported_by_them():
    """Else an edit there would leave stale trainings behind."""
    declared = Path("workflow/rules/common_gnn.smk").read_text()
    left_out = re.findall(r'"([^"]+)"', re.search(r"^NOT_IN_TRAINING = \((.*)\)$", declared, re.MULTILINE)[1])
    starts = ("training_stage", "inference_stage", "job", "worker")
    found, waiting = set(), [code.ROOT / f"gnn/{name}.py" for name in starts]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += imports_of(file)
    names = [str(file.relative_to(code.ROOT)) for file in found]
    assert "gnn/train.py" in names
    assert "gnn/sampling/sampler.py" in names
    assert [name for name in names if name.startswith(tuple(left_out))] == []


@pytest.mark.parametrize("suffix", [".py", ".h", ".cpp", ".cu", ".cuh"])
def test_sources_of_every_language_count(package, suffix):
    before = code_digest("judge")
    (package / f"judge/kernel{suffix}").write_text("int x;\n")
    code_digest.cache_clear()
    assert code_digest("judge") != before


def test_a_file_counts_by_its_text_and_not_by_its_time(tmp_path):
    file = tmp_path / "script.py"
    file.write_text("x = 1\n")
    before = text_digest(file)
    os.utime(file, (1, 1))
    assert text_digest(file) == before
    file.write_text("x = 2\n")
    assert text_digest(file) != before


def test_a_part_that_is_not_there_is_an_error(package):
    with pytest.raises(FileNotFoundError):
        code_digest("jugde")


def test_the_commit_is_short():
    assert len(commit()) <= 13


def test_an_expected_failure_is_one_message_in_log_and_terminal(tmp_path, capsys):
    log = tmp_path / "rule.log"
    with pytest.raises(SystemExit) as caught, reported([str(log)]):
        raise ConfigError("no such thing", where="my.yaml", remedy="write it")
    assert caught.value.code == 1
    message = capsys.readouterr().err
    assert message == "error: my.yaml: no such thing\n  remedy: write it\n"
    assert log.read_text() == f"on {platform.node()}\n{message}"


def test_an_interrupt_says_nothing(tmp_path, capsys):
    with pytest.raises(SystemExit) as caught, reported([str(tmp_path / "rule.log")]):
        raise KeyboardInterrupt
    assert (caught.value.code, capsys.readouterr().err) == (130, "")


def test_an_unexpected_failure_keeps_its_traceback(tmp_path):
    with pytest.raises(ZeroDivisionError), reported([str(tmp_path / "rule.log")]):
        raise ZeroDivisionError

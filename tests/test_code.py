"""Digests of code decide what reruns; an expected failure is one message and exit status 1."""

import ast
import os
import platform
import re
from pathlib import Path

import pytest

from hone import code
from hone.code import code_digest, commit, text_digest
from hone.errors import ConfigError
from hone.stage import reported


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
    found, waiting = set(), [code.ROOT / "gnn/stage.py", code.ROOT / "gnn/job.py", code.ROOT / "gnn/worker.py"]
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


def test_an_unexpected_failure_keeps_its_traceback(tmp_path):
    with pytest.raises(ZeroDivisionError), reported([str(tmp_path / "rule.log")]):
        raise ZeroDivisionError

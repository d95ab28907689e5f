"""Digests of code decide what reruns; an expected failure is one message and exit status 1."""

import pytest

from hone import code
from hone.code import code_digest, commit
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
    assert log.read_text() == capsys.readouterr().err == "error: my.yaml: no such thing\n  remedy: write it\n"


def test_an_unexpected_failure_keeps_its_traceback(tmp_path):
    with pytest.raises(ZeroDivisionError), reported([str(tmp_path / "rule.log")]):
        raise ZeroDivisionError

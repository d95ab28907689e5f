"""One kernel by hand: the function to write, and the verdict in words."""

import sys

import pytest

from hone.cli import main
from hone.files import write_records
from hone.hand import in_words
from hone.launcher import signature
from hone.records import Language, Status
from tests.analysis.world import settings_for, trace

SETTINGS = settings_for(baselines=("torch_eager", "torch_compile"), one={})


def test_a_timed_verdict_says_how_fast_over_each_baseline():
    found = trace(SETTINGS, "s", "d", speedup=0.39)
    assert in_words(found) == "passed, 0.39 times torch_eager, 0.39 times torch_compile"


def test_a_doubtful_time_says_why():
    found = trace(SETTINGS, "s", "d", speedup=40.0, findings=("below_floor",))
    assert in_words(found).endswith("doubtful: below_floor")


def test_another_verdict_says_what_was_wrong():
    assert in_words(trace(SETTINGS, "s", "d", Status.WRONG_VALUE)) == "wrong_value: why | <b>wrong_value</b>"


@pytest.mark.parametrize(("options", "language"), [((), Language.CPP), (("--cuda",), Language.CUDA)])
def test_the_launcher_of_a_definition_is_printed(options, language, definition, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_records(tmp_path / "toy/level1.jsonl", [definition])
    monkeypatch.setattr(sys, "argv", ["hone", "launcher", definition.name, "--definitions", "toy", *options])
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    assert capsys.readouterr().out == signature(definition, language) + "\n"

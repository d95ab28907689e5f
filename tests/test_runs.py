"""A config has a folder of its own in `results/`; a run that another config has made says so."""

from pathlib import Path

import pytest

from hone.config.runs import known_run, made_with_others, options_file, remember, run_folder, run_name
from hone.config.settings import load
from hone.core.errors import ConfigError

TRAINING = {"graphs": {"g": {"kind": "synthetic"}}, "trainings": {"t": {"graphs": ["g"]}}}


def test_a_run_is_named_by_its_config():
    settings = load(TRAINING)
    assert run_name(settings, ["config/paper.yaml"]) == "paper"
    assert run_name(settings, ["a.yaml", Path("more/b.yaml")]) == "a+b"
    assert run_name(settings, []) == "config"


def test_unless_the_config_says_how():
    assert run_name(load({**TRAINING, "run": "second"}), ["config/paper.yaml"]) == "second"


@pytest.mark.parametrize("name", ["../elsewhere", "", ".hidden", "a/b", "{model}"])
def test_a_name_stays_inside_results(name):
    with pytest.raises(ConfigError, match="run"):
        load({**TRAINING, "run": name})


def test_a_file_that_cannot_name_a_folder_asks_for_a_name():
    with pytest.raises(ConfigError, match="run: <name>"):
        run_name(load(TRAINING), ["my {config}.yaml"])


def test_the_folder_of_a_config_file(tmp_path):
    (tmp_path / "mine.yaml").write_text("graphs: {g: {kind: synthetic}}\ntrainings: {t: {graphs: [g]}}\n")
    assert run_folder(tmp_path / "mine.yaml") == Path("results/mine")


def test_a_run_that_was_not_made_is_named_beside_those_that_were(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"results/papr: no such run; known: none\n  remedy: .*checkout"):
        known_run("papr")
    for name in ("paper", "gold", ".locks"):
        Path("results", name).mkdir(parents=True)
    Path("results/report.html").touch()
    with pytest.raises(ConfigError, match="no such run; did you mean 'paper'"):
        known_run("papr")
    with pytest.raises(ConfigError, match="no such run; known: gold, paper\n"):
        known_run("second")
    assert known_run("paper") == Path("results/paper")


def test_the_name_decides_no_result():
    assert "run" not in load({**TRAINING, "run": "second"}).model_dump()


def test_another_config_is_named_beside_the_one_before(tmp_path):
    assert made_with_others(["a.yaml"], tmp_path) == ""
    remember(["a.yaml", "more.yaml"], tmp_path)
    assert made_with_others(["a.yaml", "more.yaml"], tmp_path) == ""
    own = str(options_file(tmp_path))
    warning = made_with_others([own], tmp_path)
    assert f"last made with a.yaml, more.yaml; this is {own} (options of `hone run`)" in warning
    assert "`hone run --run <name>`" in warning


def test_without_a_config_file_too(tmp_path):
    remember([], tmp_path)
    assert made_with_others([], tmp_path) == ""
    warning = made_with_others(["a.yaml"], tmp_path)
    assert "last made with no config; this is a.yaml" in warning
    assert "`--config run=<name>`" in warning

"""Command-line options change every experiment that asks a model, and nothing else."""

import copy
from pathlib import Path

import pytest

from hone.config.files import read_values
from hone.config.overrides import override
from hone.config.settings import load
from hone.core.errors import ConfigError

VALUES = read_values(Path("config/miniature.yaml"))


def test_without_options_nothing_changes():
    before = copy.deepcopy(VALUES)
    assert override(VALUES) == before
    assert override(VALUES, fields={"models": [], "limit": None}, sampling={"seed": None}, llm={}) == before


def test_options_reach_every_experiment_but_gold():
    settings = load(
        override(VALUES, fields={"models": ["openai/o4-mini"], "limit": 2}, sampling={"seed": 7}, llm={"mode": "live"})
    )
    for experiment in settings.experiments.values():
        asked = experiment.method != "gold"
        assert (experiment.models == ("openai/o4-mini",)) == asked
        assert (experiment.sampling.seed == 7) == asked
    assert settings.experiments["sampling"].sampling.temperature == 1.0
    assert settings.llm.mode == "live"


def test_files_keep_their_one_sample():
    files = {"method": "files", "source": "miniature", "levels": [1], "files": "folder"}
    changed = override({**VALUES, "experiments": {"files": files}}, fields={"samples": 5, "models": ["openai/o4-mini"]})
    assert changed["experiments"]["files"] == files


def test_the_values_given_stay_as_they_are():
    before = copy.deepcopy(VALUES)
    override(VALUES, experiments=["one_shot"], fields={"limit": 1}, sampling={"seed": 1}, llm={"mode": "live"})
    assert before == VALUES


def test_experiments_are_chosen_by_name_and_leave_trainings_out():
    chosen = override(VALUES, experiments=["sampling"])
    assert list(chosen["experiments"]) == ["sampling"]
    assert load(chosen).trainings == {}
    assert override(VALUES, fields={"limit": 1})["trainings"] == VALUES["trainings"]
    with pytest.raises(ConfigError, match="did you mean 'sampling'"):
        override(VALUES, experiments=["samplin"])

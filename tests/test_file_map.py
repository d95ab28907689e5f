"""One map of files: patterns and paths are the same names, no two jobs share a file, and all lie in one folder."""

import re
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest

from hone.analysis.run import RunRecords
from hone.config.settings import read
from hone.file_map import FileMap
from tests.workflow.conftest import ROOT

CONFIGS = sorted(path.name for path in (ROOT / "config").glob("*.yaml"))
STAGES = ("answers", "solutions", "builds", "traces", "evaluations")
PROPERTIES = ("suites", "suite_origins", "winners", "winner_builds", "evaluated_winners")


@pytest.fixture(params=CONFIGS)
def files(request, monkeypatch):
    monkeypatch.chdir(ROOT)
    return FileMap(read(Path("config") / request.param), results="results/here")


def matches(pattern, path):
    """As Snakemake reads a pattern."""
    return re.fullmatch(re.sub(r"\\{(\w+)\\}", r"[^/]+", re.escape(pattern)), path)


def shards(files):
    return [shard for name in files.settings.experiments for shard in files.experiments.shards(name)]


def test_every_path_of_a_shard_fits_its_rules_pattern(files):
    pattern = files.paths.shard()
    for shard in shards(files):
        assert all(matches(pattern.records(stage), shard.records(stage)) for stage in STAGES)
        assert all(matches(getattr(pattern, name), getattr(shard, name)) for name in PROPERTIES)
        assert matches(pattern.role("prompts"), shard.role("prompts", "planning"))


def test_every_path_of_a_training_fits_its_rules_pattern(files):
    for key in files.trainings.keys:
        assert matches(files.paths.training("training"), files.paths.training("training", key))


def test_no_two_jobs_write_the_same_file(files):
    written = [shard.records(stage) for shard in shards(files) for stage in STAGES]
    written += [path for name in files.kinds.rounds for path in files.experiments.every("suites", [name])]
    written += files.trainings.every("training") + files.trainings.every("inference")
    assert [path for path, number in Counter(written).items() if number > 1] == []


def test_what_tables_are_made_of_is_what_they_read(files):
    assert set(files.table_records()) == {field.name for field in fields(RunRecords)}
    for name in files.settings.experiments:  # the text of every answer: what it tells is held against the verdicts
        assert set(files.experiments.every("solutions", [name])) <= set(files.table_records()["solutions"])
    for name in files.kinds.rounds:
        assert set(files.page_records(name)) <= {field.name for field in fields(RunRecords)}


def test_everything_that_is_made_lies_in_one_folder(files):
    asked = [each for name in files.settings.experiments for each in files.experiments.questions(name)]
    made = [path for each in asked for path in (each.prompts, each.answers)]
    made += [path for paths in files.table_records().values() for path in paths]
    assert [path for path in made if not path.startswith("results/here/")] == []


def test_an_experiment_has_one_way_of_being_judged(files):
    kinds = files.kinds
    assert sorted([*kinds.rounds, *kinds.not_rounds]) == sorted(files.settings.experiments)
    assert sorted([*kinds.winner_alone, *kinds.evaluated]) == sorted(kinds.rounds)
    assert sorted([*kinds.several_roles, *kinds.one_agent]) == sorted(kinds.rounds)
    assert sorted([*kinds.from_scratch, *kinds.rounds]) == sorted(kinds.prompted)

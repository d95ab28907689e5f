"""The config is validated before anything runs, and every message names the field and what is known instead."""

import json
from pathlib import Path

import pytest
import yaml

from hone.config import json_schema, load, parse_source, read, read_values
from hone.errors import ConfigError, HoneError
from hone.references import check_references

CONFIGS = sorted(Path("config").glob("*.yaml"))


def minimal(**changes):
    values = {
        "sources": {"mini": {"kind": "local", "path": "problems", "levels": {1: 30, 2: 2}}},
        "experiments": {"one": {"method": "one_shot", "source": "mini", "levels": [1], "models": ["openai/o4-mini"]}},
        "judge": {"name": "test"},
    }
    return {**values, **changes}


def experiment(**changes):
    return minimal(experiments={"one": {**minimal()["experiments"]["one"], **changes}})


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_committed_configs_are_valid(path):
    assert read(path).experiments


def test_schema_file_is_the_generated_one():
    assert Path("config/schema/config.schema.json").read_text() == json_schema(), "run `make generated`"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_schema_accepts_the_committed_configs(path):
    import jsonschema

    values = json.loads(json.dumps(yaml.safe_load(path.read_text())))  # JSON has string keys only, as the schema says
    jsonschema.validate(values, json.loads(json_schema()))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (minimal(jugde={"name": "x"}), ["jugde", "unknown key", "did you mean 'judge'"]),
        (minimal(judge={"name": "x", "treads": 2}), ["judge.treads", "did you mean 'threads'"]),
        (minimal(judge={"name": "x", "threads": "many"}), ["judge.threads", "integer", "'many'"]),
        (experiment(method="one_shoot"), ["experiments.one.method", "one_shot", "'one_shoot'"]),
        (experiment(source="minni"), ["experiments.one.source", "'minni'", "did you mean 'mini'"]),
        (experiment(levels=[3]), ["experiments.one.levels", "3", "[1, 2]"]),
        (experiment(models=["gpt-4o"]), ["experiments.one.models", "'gpt-4o'", "openai/<model>"]),
        (experiment(models=["openai-api/vllm/x"]), ["'vllm' is not in llm.services"]),
        (experiment(problems=["level1/31"]), ["experiments.one.problems", "level1/31"]),
        (experiment(problems=["19_ReLU"]), ["experiments.one.problems", "level1/19"]),
        (experiment(turns=3), ["turns: 3 needs method: refine"]),
        (experiment(method="refine", feedback=["profile"]), ["[execution, profile]"]),
        (experiment(sampling={"max_tokens": -5}), ["experiments.one.sampling.max_tokens", "-5"]),
        (experiment(method="gold", samples=3), ["gold has one sample"]),
        (experiment(method="files"), ["experiments.one", "method: files needs files: <folder"]),
        (experiment(files="folder"), ["experiments.one", "files needs method: files, not one_shot"]),
        (experiment(method="files", files="f", samples=2), ["each file is one solution"]),
        (experiment(method="files", files="f", turns=2), ["turns: 2 needs method: refine"]),
        (minimal(judge={"name": "x", "precison_factor": 8}), ["did you mean 'precision_factor'"]),
        (minimal(judge={"name": "x", "device": "gpu"}), ["judge.device", "'cuda'", "'gpu'"]),
        (experiment(samples=0), ["experiments.one.samples", "greater than or equal to 1"]),
        (minimal(trainings={"fast": {"graphs": ["few"], "kernels": "selekted"}}), ["trainings.fast.kernels: "]),
        (minimal(sources={"Mini": minimal()["sources"]["mini"]}), ["'Mini' must start with a letter"]),
    ],
)
def test_a_wrong_value_is_named_with_its_remedy(values, words):
    with pytest.raises(ConfigError) as caught:
        load(values, where="my.yaml")
    message = str(caught.value)
    assert message.startswith("my.yaml: ")
    for word in words:
        assert word in message


def test_files_take_no_model_and_the_protocol_takes_what_its_record_has():
    judge = {
        "name": "x", "device": "cuda", "rule": "kernelbench", "distributions": ["as_given", "wide"], "tf32": True,
        "precision_factor": 8,
    }  # fmt: skip
    settings = load({**experiment(method="files", files="folder", models=["reference/model"]), "judge": judge})
    assert settings.experiments["one"].files == "folder"
    assert settings.judge.distributions == ("as_given", "wide")


def test_every_wrong_field_is_named_at_once():
    with pytest.raises(ConfigError) as caught:
        load(minimal(judge={"name": "x", "treads": 2}, batch_size=0))
    assert "judge.treads" in str(caught.value)
    assert "batch_size" in str(caught.value)


@pytest.mark.parametrize("text", ["a: [1", "- 1\n- 2\n", "\xff"])
def test_a_file_that_is_no_config_is_named(tmp_path, text):
    file = tmp_path / "bad.yaml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"bad\.yaml"):
        read_values(file)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no such config file"):
        read(tmp_path / "none.yaml")


def test_batches_cover_each_selected_problem_once():
    settings = load(experiment(levels=[1, 2]))
    numbers = [pair for batch in settings.batches("one") for pair in settings.batch("one", batch)]
    assert numbers == settings.problems("mini")
    assert len(numbers) == 32
    assert all(len(settings.batch("one", batch)) <= settings.batch_size for batch in settings.batches("one"))


def test_a_filter_leaves_out_batches_but_moves_no_problem():
    everything = load(experiment())
    one = load(experiment(problems=["level1/26"]))
    assert one.batches("one") == ["001"]
    assert one.batch("one", "001") == everything.batch("one", "001")
    assert load(experiment(limit=3)).batches("one") == ["000"]


def test_an_experiment_may_have_shards_and_a_protocol_of_its_own():
    own = {"name": "own", "rule": "kernelbench"}
    settings = load(experiment(batch_size=3, judge=own))
    assert settings.batch("one", "001") == settings.problems("mini")[3:6]
    assert (settings.protocol("one").name, settings.judge.rule) == ("own", "hone")
    assert load(experiment()).protocol("one") == settings.judge
    with pytest.raises(ConfigError, match=r"experiments\.one\.judge\.device must be the config's: cpu"):
        load(experiment(judge={**own, "device": "cuda"}))


def test_a_source_survives_the_way_through_a_rule_param():
    source = read(Path("config/paper.yaml")).sources["kernelbench_v0"]
    assert parse_source(source.model_dump(mode="json")) == source


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"models": ["recorded/none"]}, ["no transcript 'none'"]),
        ({"hardware": "H20"}, ["H20"]),
        ({"published_as": "one_shoot"}, ["one_shoot", "one_shot"]),
        ({"method": "files", "files": "none/here"}, ["experiments.one.files: none/here: no such folder"]),
    ],
)
def test_names_that_other_files_confirm_are_checked_first(changes, words):
    with pytest.raises(HoneError) as caught:
        check_references(load(experiment(**changes)))
    for word in words:
        assert word in str(caught.value)


def test_a_source_has_the_operators_that_trainings_take_from_it():
    packages = {"own": {"kind": "folder", "path": "resources/kernels/miniature"}}
    source = {"kind": "kernels", "path": "config/kernels/miniature", "levels": {1: 1}, "packages": packages}
    values = experiment()
    values["sources"]["existing"] = source
    values["graphs"] = {"few": {"kind": "synthetic", "nodes": 300, "classes": 3, "feature_dim": 8}}
    values["trainings"] = {"fast": {"graphs": ["few"], "kernels": "selected", "kernels_from": "existing"}}
    with pytest.raises(
        HoneError, match=r"trainings\.fast\.kernels_from: the source has no operator 'sample_neighbours'"
    ):
        check_references(load(values))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_what_committed_configs_name_is_there(path):
    check_references(read(path))

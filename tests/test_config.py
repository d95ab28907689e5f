"""The config is validated before anything runs, and every message names the field and what is known instead."""

import json
from pathlib import Path

import pytest
import yaml

from hone.config.experiments import Rounds
from hone.config.settings import json_schema, load, parse_source, read
from hone.core.errors import ConfigError, HoneError
from hone.preflight.references import check_references, checked

CONFIGS = sorted(Path("config").glob("*.yaml"))


def minimal(**changes):
    values = {
        "sources": {"mini": {"kind": "local", "path": "problems", "levels": {1: 30, 2: 2}}},
        "experiments": {"one": {"method": "one_shot", "source": "mini", "levels": [1], "models": ["openai/o4-mini"]}},
        "judge": {"name": "test"},
    }
    return {**values, **changes}


def training(**changes):
    return minimal(graphs={"few": {"kind": "synthetic"}}, trainings={"fast": {"graphs": ["few"], **changes}})


def with_problems(values):
    """The config with a source that is there."""
    there = {"path": "resources/problems/miniature", "levels": {1: 8, 2: 2}}
    return {**values, "sources": {"mini": {**values["sources"]["mini"], **there}}}


def experiment(**changes):
    return minimal(experiments={"one": {**minimal()["experiments"]["one"], **changes}})


def archives(**changes):
    return minimal(archives={"public": {"kind": "leaderboard", "url": "u", "commit": "0" * 40, **changes}})


def published(**changes):
    """With an experiment on a public archive; a field that is None is left out."""
    fields = {**minimal()["experiments"]["one"], "method": "archive", "archive": "public", "models": None, **changes}
    return {**archives(), "experiments": {"one": {key: value for key, value in fields.items() if value is not None}}}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_committed_configs_are_valid(path):
    assert read(path)


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
        (minimal(judge={"name": "x", "threads": "many"}), ["judge.threads", "a whole number", "'many'"]),
        (minimal(sources={"mini": {"kind": "local", "path": "p", "levels": {1: -8}}}), ["levels.1", "-8"]),
        (
            minimal(
                sources={
                    "mini": {
                        "kind": "local",
                        "path": "p",
                        "levels": {1: 8},
                        "tolerance": {"atol": -1, "rtol": 0},
                    }
                }
            ),
            ["tolerance.atol", "-1"],
        ),
        (training(fanouts=[10, -5]), ["fanouts.1", "-5"]),
        (experiment(method="one_shoot"), ["experiments.one.method", "one_shot", "'one_shoot'"]),
        (experiment(source="minni"), ["experiments.one.source", "'minni'", "did you mean 'mini'"]),
        (experiment(levels=[3]), ["experiments.one.levels", "3", "[1, 2]"]),
        (experiment(models=["gpt-4o"]), ["experiments.one.models", "'gpt-4o'", "openai/<model>"]),
        (experiment(models=["openai-api//x"]), ["write openai-api/<service>/<model>"]),
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
        (published(archive=None), ["method: archive needs archive: <name"]),
        (published(models=["openai/o4-mini"]), ["archive has no models: select runs or models in the entry"]),
        (published(samples=2), ["archive has no samples"]),
        (
            published(archive="publik"),
            ["experiments.one.archive: 'publik' is not in archives", "did you mean 'public'"],
        ),
        (experiment(archive="public"), ["archive needs method: archive, not one_shot"]),
        (archives(kind="leader_board"), ["archives.public: there is no kind 'leader_board'; did you mean"]),
        (archives(commit="main"), ["archives.public.commit", "'main'"]),
        (
            archives(kind="scored_lines", runs=[]),
            ["archives.public.model: is missing", "public.runs: must not be empty"],
        ),
        (archives(kind="detailed_runs", runs=["r", "r"]), ["archives.public.runs: 'r' stands twice"]),
        (archives(folder="runs"), ["archives.public.folder: unknown key"]),
        (minimal(judge={"name": "x", "precison_factor": 8}), ["did you mean 'precision_factor'"]),
        (minimal(judge={"name": "x", "device": "gpu"}), ["judge.device", "'cuda'", "'gpu'"]),
        (experiment(samples=0), ["experiments.one.samples", "greater than or equal to 1"]),
        (minimal(trainings={"fast": {"graphs": ["few"], "kernels": "selekted"}}), ["trainings.fast.kernels: "]),
        (minimal(sources={"Mini": minimal()["sources"]["mini"]}), ["'Mini' must start with a letter"]),
        (experiment(models=[]), ["experiments.one.models: must not be empty", "correct models: `openai/<model>`"]),
        (experiment(samples=0), ["remedy: correct samples: Answers to the same prompt; for `astra`"]),
        (experiment(levels=1), ["experiments.one.levels: must be a list: write [1]\n"]),
        (experiment(sampling=3), ["one.sampling: must hold key: value pairs (got 3)", "keys of experiments.one.samp"]),
        (
            minimal(judge=None),
            ["judge: must hold key: value pairs (got nothing)", "keys of judge: as_published, audit_every"],
        ),
        (minimal(graphs={"few": {"kind": "synthetic", "treads": 1}}), ["few.treads: unknown key\n", "homophily"]),
        (minimal(graphs={"few": {"kind": "sinthetic"}}), ["graphs.few: there is no kind 'sinthetic'; did you mean"]),
        (minimal(graphs={"few": {"nodes": 10}}), ["graphs.few: needs a kind: musae, ogb"]),
        (minimal(graphs={"few": {"kind": "ogb"}}), ["graphs.few: dataset: is missing"]),
        (training(fanouts=[5, 5]), ["validation_fanouts [20, 20, 20] (the default) has 3: write validation_fanouts"]),
        (training(tuned={"few": {"hiden": 8}}), ["trainings.fast.tuned.few.hiden: unknown key; did you mean 'hidden'"]),
        ({**minimal(), "experiments": {}}, ["there is nothing to do: write sources and experiments, or graphs and"]),
        ({key: value for key, value in minimal().items() if key != "judge"}, ["judge: is missing", "{name: <name>}"]),
    ],
)
def test_a_wrong_value_is_named_with_its_remedy(values, words):
    with pytest.raises(ConfigError) as caught:
        load(values, where="my.yaml")
    message = str(caught.value)
    assert message.startswith("my.yaml: ")
    for word in words:
        assert word in message


def test_a_wrong_item_does_not_make_its_list_empty():
    with pytest.raises(ConfigError) as caught:
        load(training(models=["sagee"]))
    said = str(caught.value)
    assert said.startswith("config: trainings.fast.models.0: must be 'sage', ") and said.endswith(" (got 'sagee')")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (experiment(method="refined"), "'refine', "),
        (experiment(method="refined"), "; did you mean 'refine'? (got 'refined')\n"),
        (minimal(judge={"name": "t", "timing_runs": "many"}), "of each callable. (default: 30)"),
        (minimal(judge={"name": "t", "timing": "maybe"}), "must be true or false (got 'maybe')"),
        (training(captured="maybe"), "(default: false)"),
        (minimal(judge={"name": "t", "device": "gpu"}), "must be 'cpu' or 'cuda' (got 'gpu')\n"),
        (
            minimal(judge={"name": "t", "timing_runs": "many"}),
            "must be a whole number (got 'many')\n  remedy: correct timing_runs: Upper bound of timed runs",
        ),
    ],
)
def test_a_value_that_is_nearly_right_is_met_with_the_right_one(values, said):
    with pytest.raises(ConfigError) as caught:
        load(values)
    assert said in str(caught.value)


def test_a_folder_has_the_problems_that_its_levels_count_before_anything_runs():
    values = with_problems(experiment())
    values["sources"]["mini"]["levels"] = {1: 4, 2: 2}
    with pytest.raises(
        HoneError, match=r"sources\.mini: .*level 1 should have problems 1 to 4, but 8 are there"
    ) as caught:
        checked(values, "my.yaml")
    assert caught.value.remedy == "write 1: 8 under the source's levels; an experiment's `problems` takes some of them"
    values["sources"]["mini"]["levels"] = {1: 8, 2: 2}
    assert checked(values, "my.yaml").sources["mini"].levels == {1: 8, 2: 2}


def test_a_word_of_another_section_is_no_hint():
    with pytest.raises(ConfigError) as caught:
        load(minimal(graphs={"few": {"kind": "synthetic", "name": "x"}}))
    assert "few.name: unknown key\n  remedy: keys of graphs.few: classes, " in str(caught.value)


def test_trainings_alone_are_a_config():
    values = {key: value for key, value in training().items() if key in ("graphs", "trainings")}
    settings = load(values)
    assert (settings.sources, settings.experiments) == ({}, {})
    assert load(json.loads(settings.model_dump_json())) == settings


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


def test_which_versions_are_evaluated_is_told_where_it_is_not_all_of_them():
    assert "evaluate" not in Rounds().model_dump(mode="json")  # digests of older configs stay
    assert Rounds.model_validate(Rounds(evaluate="winner").model_dump(mode="json")).evaluate == "winner"


def test_a_source_survives_the_way_through_a_rule_param():
    source = read(Path("config/paper.yaml")).sources["kernelbench_v0"]
    assert parse_source(source.model_dump(mode="json")) == source


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"models": ["recorded/none"]}, ["no transcript 'none'"]),
        ({"models": ["openai-api/lab/m"]}, ["one.models", "service 'lab' has no address", "LAB_BASE_URL", ".env"]),
        ({"hardware": "H20"}, ["H20"]),
        ({"published_as": "one_shoot"}, ["one_shoot", "one_shot"]),
        ({"method": "files", "files": "none/here"}, ["experiments.one.files: none/here: no such folder"]),
    ],
)
def test_names_that_other_files_confirm_are_checked_first(changes, words):
    with pytest.raises(HoneError) as caught:
        checked(with_problems(experiment(**changes)), "my.yaml")
    assert str(caught.value).startswith("my.yaml: experiments.one.")
    for word in words:
        assert word in str(caught.value)


def test_a_services_address_may_stand_in_the_environment_alone(monkeypatch):
    monkeypatch.setenv("LAB_BASE_URL", "http://localhost:8000/v1")
    values = with_problems(experiment(models=["openai-api/lab/m"]))
    assert checked(values, "my.yaml").experiments["one"].models == ("openai-api/lab/m",)


def test_the_gpu_that_is_built_for_is_one_of_the_table():
    assert "gpu" not in load(minimal()).model_dump(mode="json")  # digests of configs without it stay
    assert checked(with_problems(minimal(gpu="A100")), "my.yaml").gpu == "A100"
    with pytest.raises(ConfigError, match=r"my\.yaml: gpu: .*no GPU 'A1000'; did you mean 'A100'(.|\n)*B200"):
        checked(with_problems(minimal(gpu="A1000")), "my.yaml")


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"turns": 7}, "turns", ["'h200_astra' answers level1/1 up to turn 5", "write turns: 6 or less"]),
        ({"problems": ["level1/1", "level1/4"]}, "models", ["nothing of level1/4", "problems: [level1/1, level1/2,"]),
        ({"turns": 7, "astra": {"stop_at_floor_share": 0.9}}, None, []),  # rounds may end early
        ({"turns": 7, "astra": {"roofline": True}}, None, []),
        ({"turns": 3}, None, []),
    ],
)
def test_a_transcript_has_all_rounds_before_any_of_them_is_judged(changes, field, words):
    values = yaml.safe_load(Path("config/h200_astra.yaml").read_text())
    values["experiments"]["astra"] |= changes
    if field is None:
        assert checked(values, "my.yaml")
        return
    with pytest.raises(HoneError) as caught:
        checked(values, "my.yaml")
    said = f"{caught.value} {caught.value.remedy}"
    assert said.startswith(f"my.yaml: experiments.astra.{field}") and all(word in said for word in words), said


def test_a_transcript_has_all_refinements_before_any_answer_is_judged():
    values = yaml.safe_load(Path("config/miniature.yaml").read_text())
    values["experiments"]["refine_gep"]["turns"] = 9
    with pytest.raises(
        ConfigError, match=r"experiments\.refine_gep\.turns: 'miniature_refine' answers level\d/\d up to"
    ):
        checked(values, "my.yaml")


@pytest.mark.parametrize(
    ("section", "name", "entry", "said"),
    [
        ("sources", "mini", minimal()["sources"]["mini"], "sources.mini.path: no such folder: problems"),
        (
            "sources", "own",
            {"kind": "kernels", "path": "src", "levels": {1: 1}, "packages": {"a": {"kind": "folder", "path": "no"}}},
            "sources.own.packages.a.path: no such folder: no",
        ),
        ("graphs", "few", {"kind": "musae", "raw_dir": "no/files"}, "graphs.few.raw_dir: no such folder: no/files"),
    ],
)  # fmt: skip
def test_folders_that_are_not_there_are_named_first(section, name, entry, said):
    values = with_problems(minimal())
    values[section] = {**values.get(section, {}), name: entry}
    with pytest.raises(ConfigError, match=said):
        checked(values, "my.yaml")


def test_a_source_has_the_operators_that_trainings_take_from_it():
    packages = {"own": {"kind": "folder", "path": "resources/kernels/miniature"}}
    source = {"kind": "kernels", "path": "config/kernels/miniature", "levels": {1: 1}, "packages": packages}
    values = with_problems(experiment())
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


def test_published_answers_bring_their_models_names():
    settings = load(published())
    assert settings.experiments["one"].models == ("archive/public",)
    assert load(settings.model_dump(mode="json")) == settings


def test_a_config_without_archives_is_written_as_before():
    written = load(minimal()).model_dump(mode="json")
    assert "archives" not in written
    assert "archive" not in written["experiments"]["one"]


def test_published_answers_are_to_problems_and_not_to_existing_kernels():
    folder = {"kind": "folder", "path": "p"}
    values = published()
    values["sources"] = {"mini": {"kind": "kernels", "path": "k", "levels": {1: 1}, "packages": {"own": folder}}}
    values["experiments"]["one"]["levels"] = [1]
    with pytest.raises(ConfigError, match=r"experiments\.one\.source: archive needs a source of kind: kernelbench"):
        load(values)

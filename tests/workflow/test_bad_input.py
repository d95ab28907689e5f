"""What a user gets wrong ends as one clear message and a non-zero exit, before anything is spent."""

import re

import pytest

from tests.workflow.conftest import CONFIG

ONE = {"one": CONFIG["experiments"]["one"]}


def changed(**fields):
    return {"experiments": {"one": {**ONE["one"], **fields}}}


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"llmm": {}}, ["llmm: unknown key", "did you mean 'llm'"]),
        ({"judge": {"name": "x", "threads": "two"}}, ["judge.threads", "'two'"]),
        (changed(method="two_shot"), ["experiments.one.method", "two_shot"]),
        (changed(models=["mystery/model"]), ["mystery/model", "openai/<model>"]),
        (changed(problems=["level1/9"]), ["level1/9"]),
        (
            changed(models=["recorded/tinny"]),
            ["tiny.yaml: experiments.one.models", "no transcript 'tinny'", "did you mean 'tiny'"],
        ),
        (
            {"sources": {"tiny": {"kind": "local", "path": "problems", "levels": {1: 3}}}},
            [
                "tiny.yaml: sources.tiny: problems: level 1 should have problems 1 to 3",
                "missing: 3",
                "write 1: 2 under",
            ],
        ),
    ],
)
def test_a_wrong_config_stops_before_the_dag(pipeline, sections, words):
    pipeline.configure(**sections)
    output = pipeline.run(check=False)
    for word in words:
        assert word in output
    assert "Traceback" not in output
    assert not (pipeline.folder / "results").exists()


def test_two_experiments_of_one_name_stop_before_the_dag(pipeline):
    pipeline.configure()
    with (pipeline.folder / "tiny.yaml").open("a") as file:
        file.write("batch_size: 1\nbatch_size: 2\n")
    output = pipeline.run("--dry-run", check=False)
    assert re.search(r"tiny\.yaml: 'batch_size' stands twice, in lines \d+ and \d+", output), output
    assert not (pipeline.folder / "results").exists()


@pytest.mark.parametrize(
    ("sections", "variable", "words"),
    [
        (
            {**changed(models=["openai/o4-mini"]), "llm": {"mode": "live"}}, "OPENAI_API_KEY",
            ["tiny.yaml: experiments.one.models: openai/o4-mini: OPENAI_API_KEY is not set", "remedy: export OPENAI"],
        ),
        (changed(), "CXX", ["tiny.yaml: experiments.one: no compiler: 'none'", "remedy: install g++"]),
    ],
)  # fmt: skip
def test_what_the_machine_lacks_is_said_before_the_first_job(pipeline, monkeypatch, sections, variable, words):
    monkeypatch.setenv(variable, {"CXX": "none"}.get(variable, ""))
    pipeline.configure(**sections)
    output = pipeline.run(check=False)
    for word in words:
        assert word in output
    assert not any((pipeline.folder / "results").rglob("*"))
    pipeline.run("--dry-run")


def repository(**fields):
    source = {"kind": "kernelbench", "url": "nowhere/at/all", "commit": "0" * 40, "levels": {1: 1}}
    experiment = {**ONE["one"], "source": "bench"}
    return {"sources": {"bench": {**source, **fields}}, "experiments": {"one": experiment}}


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        (repository(), ["nowhere/at/all", "remedy"]),
        (changed(models=["openai/o4-mini"]), ["ledger", "remedy"]),
    ],
    ids=["unreachable url", "replay without answers"],
)
def test_a_failing_stage_says_what_to_do(pipeline, monkeypatch, sections, words):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pipeline.configure(**sections)
    output = pipeline.run(check=False)
    for word in words:
        assert word in output, output
    assert "Traceback" not in output, output

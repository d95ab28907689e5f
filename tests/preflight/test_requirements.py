"""What planned jobs lack is said before the first of them runs: the config's field, and what to do."""

from pathlib import Path

import pytest

from hone.config.settings import load
from hone.core.errors import MachineError, ProviderError
from hone.gnn import packages
from hone.machine import gpus as gpu
from hone.preflight.requirements import PlannedJob, check_needs, lacking_models

ASKING = PlannedJob("generate", "one", "openai--o4-mini")
BUILDING = PlannedJob("build", "one", "openai--o4-mini")
JUDGING = PlannedJob("judge", "one", "openai--o4-mini", gpus=1)


@pytest.fixture
def needs(monkeypatch, tmp_path):
    """Checks jobs of a config with one experiment, where there is no key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def check(*jobs, here=True, mode="live", device="cpu", **experiment):
        one = {"method": "one_shot", "source": "s", "levels": [1], "models": ["openai/o4-mini"], "language": "cpp"}
        settings = load(
            {
                "sources": {"s": {"kind": "local", "path": "p", "levels": {1: 1}}},
                "experiments": {"one": one | experiment},
                "judge": {"name": "test", "device": device},
                "llm": {"mode": mode},
            },
            "x",
        )
        check_needs(settings, jobs, config="my.yaml", here=here)

    return check


def test_a_missing_key_names_config_field_and_variable(needs):
    with pytest.raises(ProviderError) as caught:
        needs(ASKING)
    for words in ("my.yaml: experiments.one.models", "OPENAI_API_KEY is not set", "remedy: export OPENAI_API_KEY"):
        assert words in str(caught.value)


def test_a_key_in_the_environment_or_the_file_is_enough(needs, monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("OPENAI_API_KEY=word\n")
    needs(ASKING)
    (tmp_path / ".env").unlink()
    monkeypatch.setenv("OPENAI_API_KEY", "word")
    needs(ASKING)


def test_a_key_is_needed_by_who_asks_alone(needs):
    needs(BUILDING)
    needs(ASKING, mode="replay")
    needs(ASKING, mode="export")
    needs(PlannedJob("generate", "one", "recorded--x"), models=["recorded/x"])


def asking(mode, *models):
    one = {"method": "one_shot", "source": "s", "levels": [1], "models": list(models)}
    sources = {"s": {"kind": "local", "path": "p", "levels": {1: 1}}}
    experiments = {"one": one, "two": one, "gold": {"method": "gold", "source": "s", "levels": [1]}}
    return load({"sources": sources, "experiments": experiments, "judge": {"name": "t"}, "llm": {"mode": mode}}, "x")


def test_a_status_tells_every_missing_key_and_price_once(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    models = ("openai/o4-mini", "recorded/x", "openai/o4-minii")
    (error,) = lacking_models(asking("live", *models))
    assert str(error).startswith("experiments.one.models: openai/o4-mini: OPENAI_API_KEY is not set")
    assert not list(lacking_models(asking("replay", *models)))
    monkeypatch.setenv("OPENAI_API_KEY", "word")
    (error,) = lacking_models(asking("live", *models))
    assert "did you mean 'openai/o4-mini'" in str(error)


def test_a_misspelt_model_is_named_before_the_first_job(needs, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "word")
    with pytest.raises(
        ProviderError, match=r"experiments\.one\.models: openai/o4-minii .*did you mean 'openai/o4-mini'"
    ):
        needs(PlannedJob("generate", "one", "openai--o4-minii"), models=["openai/o4-minii"])


def test_a_missing_compiler_stops_jobs_of_this_machine_alone(needs, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(MachineError, match=r"my\.yaml: experiments\.one: no compiler: 'no-such-compiler'.*\n.*g\+\+"):
        needs(BUILDING)
    needs(BUILDING, here=False)
    needs(BUILDING, language="python")


def test_cuda_needs_nvcc_where_a_gpu_judges(needs, monkeypatch):
    monkeypatch.setenv("NVCC", "no-such-compiler")
    monkeypatch.chdir(Path(__file__).parents[2])  # where the table of GPUs is
    with pytest.raises(MachineError, match="no-such-compiler"):
        needs(BUILDING, language="cuda", device="cuda")
    needs(BUILDING, language="cuda")  # a CPU's judge only compiles them where there is nvcc


def test_several_hosts_need_slurm(needs):
    hosts = PlannedJob("train", nodes=8)
    with pytest.raises(MachineError, match=r"my\.yaml: rules train: several hosts need Slurm\n.*--profile slurm"):
        needs(hosts)
    needs(hosts, here=False)


@pytest.mark.parametrize(
    ("system", "words"), [("wholegraph", r"pip install 'hone\[peers\]'"), ("pyg", "install pyg-lib or torch-sparse")]
)
def test_a_peer_s_missing_package_names_training_and_remedy(needs, monkeypatch, system, words):
    job = PlannedJob("train", training="ladder", system=system)
    monkeypatch.setattr(packages, "find_spec", lambda module: None)
    said = (
        rf"my\.yaml: trainings\.ladder: systems: {system} needs the package .*\n  remedy: {words}.*, or take {system}"
    )
    with pytest.raises(MachineError, match=said):
        needs(job)
    needs(job, here=False)
    needs(PlannedJob("train", training="ladder", system="pyg_gpu"))
    monkeypatch.setattr(packages, "find_spec", lambda module: module in ("torch_sparse", "pylibwholegraph"))
    needs(job)


def test_a_missing_gpu_names_the_rules_that_want_it(needs, monkeypatch):
    def none():
        raise MachineError("no NVIDIA GPU is visible", remedy="x")

    monkeypatch.setattr(gpu, "visible_gpus", none)
    with pytest.raises(MachineError, match=r"my\.yaml: rules judge: no NVIDIA GPU is visible\n.*run this where"):
        needs(JUDGING, ASKING, mode="replay")
    needs(JUDGING, here=False)
    needs(BUILDING)

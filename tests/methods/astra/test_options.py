"""The options of the rounds are checked before anything runs."""

import pytest

from hone.config.experiments import Rounds
from hone.config.settings import load
from hone.core.errors import ConfigError


def settings(*, judge=None, sources=None, baselines=("torch_eager", "upstream"), batch_size=25, **experiment):
    package = {"own": {"kind": "folder", "path": "p"}}
    values = {
        "sources": sources or {"k": {"kind": "kernels", "path": "k", "levels": {1: 3}, "packages": package}},
        "experiments": {
            "a": {
                "method": "astra", "source": "k", "levels": [1], "models": ["openai/o4-mini"], "language": "cuda",
                "turns": 6, **experiment,
            }
        },
        "baselines": list(baselines),
        "batch_size": batch_size,
        "judge": {"name": "test", **(judge or {})},
    }  # fmt: skip
    return load(values, where="my.yaml")


@pytest.mark.parametrize("method", ["astra", "astra_single"])
def test_both_methods_take_all_common_options(method):
    options = {"start_from": "best", "stop_at_floor_share": 0.9}
    found = settings(method=method, samples=4, astra=options).experiments["a"]
    assert (found.astra.start_from, found.astra.stop_at_floor_share, found.astra.notes) == ("best", 0.9, False)


def test_the_papers_loop_is_the_default():
    found = settings().experiments["a"].astra
    assert (found.start_from, found.stop_at_floor_share, found.notes) == ("last", None, False)
    assert "roofline" not in found.model_dump(), "so that runs without it keep their digests"
    assert found.enough_share is None
    assert Rounds(roofline=True).enough_share == 0.95
    assert Rounds(roofline=True, stop_at_floor_share=0.9).enough_share == 0.9


LOCAL = {"k": {"kind": "local", "path": "p", "levels": {1: 3}}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"turns": 1}, "astra needs turns: 2 or more"),
        ({"language": "python"}, "needs language: cuda or cpp"),
        ({"baselines": ["torch_eager"]}, "needs baselines: [..., upstream]"),
        ({"judge": {"timing": False}}, "needs judge.timing: true"),
        ({"sources": LOCAL}, "needs a source of kind: kernels"),
        ({"astra": {"notes": True}}, "set batch_size: 1"),
        ({"astra": {"notes": True}, "method": "astra_single", "batch_size": 1}, "astra.notes needs method: astra"),
        ({"astra": {"start_from": "first"}}, "experiments.a.astra.start_from"),
        ({"astra": {"stop_at_floor_share": 1.5}}, "experiments.a.astra.stop_at_floor_share"),
        ({"astra": {"start_form": "best"}}, "did you mean 'start_from'?"),
        ({"method": "one_shot", "turns": 1, "astra": {"start_from": "best"}}, "astra: needs method: astra"),
        ({"feedback": ["execution"]}, "feedback needs method: refine"),
        ({"strategy": {"kind": "beam"}}, "experiments.a.strategy"),
        ({"strategy": {"kind": "beam", "width": 1}}, "experiments.a.strategy"),
        ({"strategy": {"kind": "bean", "width": 3}}, "experiments.a.strategy"),
        ({"strategy": {"kind": "linear", "width": 3}}, "experiments.a.strategy"),
        ({"strategy": {"kind": "beam", "width": 3}, "method": "astra_single"}, "beam has no conversation"),
        ({"strategy": {"kind": "beam", "width": 3}, "astra": {"start_from": "best"}}, "leave astra.start_from out"),
        (
            {"strategy": {"kind": "beam", "width": 3}, "method": "one_shot", "turns": 1},
            "strategy: beam needs method: astra",
        ),
    ],
)
def test_a_wrong_option_is_named(changes, words):
    with pytest.raises(ConfigError) as caught:
        settings(**changes)
    assert words in str(caught.value)


def test_notes_need_several_jobs():
    assert settings(astra={"notes": True}, batch_size=1).batches("a") == ["000", "001", "002"]

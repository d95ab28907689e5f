"""Prompts say what the method is allowed to say, and a broken template is named."""

import shutil
from pathlib import Path

import pytest

from hone.config.experiments import Experiment
from hone.core.errors import ConfigError
from hone.methods.feedback import Previous
from hone.methods.render import Renderer, prompt_files, selected
from hone.records import Definition, Language, Tolerance, Workload

PROMPTS, GPUS = Path("config/prompts"), Path("resources/hardware/gpus.yaml")
METHODS = ("zero_shot", "one_shot", "few_shot", "refine")
LANGUAGES = ("python", "cpp", "cuda", "triton")


class Workloads(dict):
    """One workload for any definition that is asked for."""

    def __missing__(self, name):
        axes, tolerance = {"rows": 4, "columns": 8}, Tolerance(atol=1e-4, rtol=1e-3)
        own = Workload(definition=name, name="own", axes=axes, tolerance=tolerance)
        return [own.model_copy(update={"held_out": True, "dtype": "hidden"}), own]


def renderer(prompts=PROMPTS, **changes):
    values = {"method": "one_shot", "source": "tiny", "levels": (1,), "language": "cpp", **changes}
    return Renderer("e", Experiment.model_validate(values), Workloads(), prompts, GPUS)


def text(prompt):
    (message,) = prompt.messages
    return message.content


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_renders_in_every_language(definition, method, language):
    prompt = text(renderer(method=method, language=language).first(definition))
    assert definition.reference.strip() in prompt
    assert "rows = 4, columns = 8" in prompt
    assert "0.0001" in prompt
    assert ("void launch(" in prompt) == (language in ("cpp", "cuda"))
    assert ("ModelNew" in prompt) == (language in ("python", "triton"))
    assert prompt.count("```") % 2 == 0
    assert "{{" not in prompt
    assert "{%" not in prompt


@pytest.mark.parametrize(("method", "examples"), [("zero_shot", 0), ("one_shot", 1), ("few_shot", 3), ("refine", 1)])
def test_a_method_has_its_number_of_examples(definition, method, examples):
    assert text(renderer(method=method).first(definition)).count("## Example") == examples


def test_one_prompt_serves_all_samples(definition):
    prompt = renderer(samples=5).first(definition)
    assert prompt.samples == (0, 1, 2, 3, 4)
    assert prompt.turn == 0


@pytest.mark.parametrize("gpu", ["H200", "B200", "L40S"])
def test_hardware_facts_are_in_the_prompt_only_when_asked_for(definition, gpu):
    assert f"NVIDIA {gpu}" in text(renderer(hardware=gpu, language="cuda").first(definition))
    assert "NVIDIA" not in text(renderer(language="cuda").first(definition))


def test_an_unknown_gpu_is_named():
    with pytest.raises(ConfigError, match="H20"):
        renderer(hardware="H20")


def test_a_later_turn_shows_the_last_answer_and_no_more(definition):
    refine = renderer(method="refine", feedback=("execution", "profile"), turns=3)
    full = text(refine.next(definition, 1, 2, Previous(code="int old;", execution="too slow", profile="aten::add")))
    for word in ("int old;", "too slow", "aten::add"):
        assert word in full
    bare = text(refine.next(definition, 1, 2, Previous(code="int old;")))
    assert "What happened" not in bare
    assert "profile" not in bare
    assert "no usable code: no code block" in text(refine.next(definition, 1, 2, Previous(problem="no code block")))


def test_a_later_prompt_is_for_its_sample(definition):
    prompt = renderer(method="refine", turns=3).next(definition, 2, 4, Previous(code="x"))
    assert (prompt.turn, prompt.samples) == (2, (4,))


def test_feedback_is_not_read_as_a_template(definition):
    hostile = Previous(code="{{ definition.reference }}", execution="{% raw %}")
    assert "{{ definition.reference }}" in text(renderer(method="refine", turns=2).next(definition, 1, 0, hostile))


@pytest.mark.parametrize(
    ("content", "words"),
    [("{{ nonsense }}", "nonsense"), ("{% if %}", r"coder\.md:1"), ('{% include "parts/none.md" %}', r"none\.md")],
)
def test_a_broken_template_is_named(tmp_path, definition, content, words):
    shutil.copytree(PROMPTS, tmp_path / "prompts")
    (tmp_path / "prompts/one_shot/coder.md").write_text(content)
    with pytest.raises(ConfigError, match=words):
        renderer(tmp_path / "prompts").first(definition)


def test_selection_is_by_batch_and_filter_in_order(definition):
    def numbered(number):
        return Definition.model_validate({**definition.model_dump(), "number": number})

    experiment = Experiment(method="one_shot", source="tiny", levels=(1,), limit=3)
    chosen = selected([numbered(n) for n in (4, 3, 1, 2)], experiment, [(1, 1), (1, 3), (1, 4)])
    assert [item.number for item in chosen] == [1, 3]


@pytest.mark.parametrize(
    ("method", "role", "own", "foreign"),
    [
        ("zero_shot", "coder", "zero_shot/coder.md", "parts/examples.md"),
        ("one_shot", "coder", "examples/add/answer.cpp", "examples/add/answer.cu"),
        ("few_shot", "coder", "examples/fused_gelu/problem.py", "examples/add/problem.py"),
        ("refine", "coder_next", "refine/coder_next.md", "refine/coder.md"),
        ("astra", "planning", "astra/planning.md", "astra/coding.md"),
    ],
)
def test_a_prompt_depends_on_what_it_is_made_of_and_on_nothing_else(method, role, own, foreign):
    files = prompt_files(method, role, Language.CPP, PROMPTS)
    assert str(PROMPTS / own) in files
    assert str(PROMPTS / foreign) not in files


def test_a_missing_template_is_left_to_rendering():
    assert prompt_files("one_shot", "nobody", Language.CPP, PROMPTS) == []


def test_a_template_of_its_own_is_a_new_method(tmp_path, definition):
    """But for its name in `Method`, which the config would miss."""
    shutil.copytree(PROMPTS, tmp_path / "prompts")
    (tmp_path / "prompts/terse").mkdir()
    (tmp_path / "prompts/terse/coder.md").write_text(
        'Be terse.\n{% set examples = ["fused_gelu", "add"] %}\n{% include "parts/examples.md" %}\n'
    )
    terse = renderer(tmp_path / "prompts")
    terse.experiment = terse.experiment.model_copy(update={"method": "terse"})
    prompt = text(terse.first(definition))
    assert prompt.startswith("Be terse.")
    assert prompt.index("## Example 1: fused_gelu") < prompt.index("## Example 2: add")
    files = prompt_files("terse", "coder", Language.CPP, tmp_path / "prompts")
    assert {Path(file).relative_to(tmp_path / "prompts").parts[0] for file in files} == {"terse", "parts", "examples"}
    assert len(files) == 6


def test_an_example_that_is_not_there_is_named(tmp_path, definition):
    shutil.copytree(PROMPTS, tmp_path / "prompts")
    template = tmp_path / "prompts/one_shot/coder.md"
    template.write_text(template.read_text().replace('"add"', '"ad"'))
    with pytest.raises(ConfigError, match="no example 'ad'; did you mean 'add'"):
        renderer(tmp_path / "prompts").first(definition)

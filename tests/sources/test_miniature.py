"""Our own twelve problems: they define, and nothing but the right answer passes."""

from pathlib import Path

import pytest
import torch

from hone.config.sources import LocalSource
from hone.launcher import signature
from hone.records import Language
from hone.sources.fetch import fetch
from hone.sources.inspect import define
from hone.sources.soundness import Soundness

FOLDER = Path(__file__).parents[2] / "resources/problems/miniature"
TOLERANCE = 1e-4
FILES = fetch("miniature", LocalSource(kind="local", path=str(FOLDER), levels={1: 8, 2: 2, 3: 2}))


def load(file):
    module = {}
    exec(file.text, module)
    torch.manual_seed(42)
    return module, module["Model"](*module["get_init_inputs"]())


def outputs(file, seeds):
    """The output of one model for the inputs of every seed."""
    module, model = load(file)
    results = []
    for seed in seeds:
        torch.manual_seed(seed)
        with torch.no_grad():
            results.append(model(*module["get_inputs"]()))
    return results


def close(got, expected):
    return torch.allclose(got, expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_every_problem_becomes_a_definition_for_every_language():
    definitions, unsupported = define(FILES, Soundness())
    assert not unsupported
    assert [definition.name for definition in definitions] == [file.name for file in FILES]
    for definition, file in zip(definitions, FILES, strict=True):
        assert definition.languages == tuple(Language)
        assert definition.sound
        assert "launch(" in signature(definition, Language.CPP)
        assert len(definition.axes) <= 12
        result = outputs(file, [0])[0]
        assert definition.shape_of(definition.outputs[0]) == tuple(result.shape)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_zeros_constants_and_answers_to_other_inputs_fail(file):
    first, second = outputs(file, [1, 2])
    best_constant = torch.full_like(first, float((first.max() + first.min()) / 2))
    for wrong in (torch.zeros_like(first), best_constant, second):
        assert not close(wrong, first)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_answer_is_repeatable_and_float32_is_far_within_the_tolerance(file):
    first, again = outputs(file, [1, 1])
    assert torch.equal(first, again)
    module, model = load(file)
    torch.manual_seed(1)
    inputs = [value.double() for value in module["get_inputs"]()]
    with torch.no_grad():
        exact = model.double()(*inputs)
    error = (first - exact).abs() / (TOLERANCE + TOLERANCE * exact.abs())
    assert error.max() < 0.2


@pytest.mark.parametrize("file", [file for file in FILES if "nn.Parameter" in file.text], ids=lambda file: file.name)
def test_parameters_matter(file):
    module, model = load(file)
    torch.manual_seed(1)
    inputs = module["get_inputs"]()
    with torch.no_grad():
        first = model(*inputs)
        for parameter in model.parameters(recurse=False):
            parameter.fill_(1.0)
        assert not close(model(*inputs), first)

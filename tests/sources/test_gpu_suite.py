"""The eight problems that kernels on a GPU are judged with here: sizes, names, and answers that matter."""

from pathlib import Path

import pytest
import torch

from hone.config.sources import LocalSource
from hone.launcher import signature
from hone.records import Language
from hone.sources.fetch import fetch
from hone.sources.inspect import define
from hone.sources.soundness import Soundness

FOLDER = Path(__file__).parents[2] / "resources/problems/gpu_suite"
FIXTURES = Path(__file__).parents[1] / "evil/gpu"
TOLERANCE = 1e-4
FILES = fetch("gpu_suite", LocalSource(kind="local", path=str(FOLDER), levels={1: 8}))
PARAMETERS = {  # of the launcher, before the stream
    "1_Scale": "const float* x, const float* weight, float* out, int64_t rows, int64_t columns",
    "2_Row_sum": "const float* x, float* out, int64_t rows, int64_t columns, int64_t out_1",
    "3_Softmax": "const float* x, float* out, int64_t rows, int64_t columns",
    "4_Matmul": "const float* a, const float* b, float* out, int64_t m, int64_t k, int64_t n",
    "5_Add_rms_norm": "const float* x, const float* residual, const float* weight, float* out0, float* out1, "
    "int64_t rows, int64_t columns",
    "6_Small_relu": "const float* x, float* out, int64_t rows, int64_t columns",
    "7_In_place_scale": "const float* x, float* out, int64_t rows, int64_t columns",
    "8_Gather": "const float* table, const int64_t* index, float* out, int64_t entries, int64_t dim, int64_t count",
}


@pytest.fixture(scope="module")
def definitions():
    found, unsupported = define(FILES, Soundness())
    assert not unsupported
    return {definition.name.removeprefix("gpu_suite/level1/"): definition for definition in found}


def results(file, sizes, seed):
    """(outputs, inputs afterwards) at other sizes, small enough for a CPU."""
    module = {}
    exec(file.text, module)
    module.update(sizes)
    torch.manual_seed(42)
    model = module["Model"](*module["get_init_inputs"]())
    torch.manual_seed(seed)
    inputs = module["get_inputs"]()
    with torch.no_grad():
        output = model(*inputs)
    return output if isinstance(output, tuple) else (output,), inputs


def test_launchers_take_the_axes_by_their_names(definitions):
    for name, parameters in PARAMETERS.items():
        expected = f'extern "C" void launch({parameters}, cudaStream_t stream)'
        assert signature(definitions[name], Language.CUDA) == expected


def test_every_problem_has_held_out_sizes_which_are_not_shown(definitions):
    for definition in definitions.values():
        assert definition.held_out
        assert all(size != definition.axes[axis] for entry in definition.held_out for axis, size in entry.items())
        assert "held_out" not in definition.reference
        assert definition.languages == tuple(Language)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.title)
def test_held_out_shapes_are_those_of_a_real_run_and_other_inputs_give_other_answers(definitions, file):
    definition = definitions[f"{file.number}_{file.title}"]
    sizes = definition.held_out[0]
    (first, inputs), (second, _) = results(file, sizes, 1), results(file, sizes, 2)
    axes = {**definition.axes, **sizes}
    arguments = (*definition.inputs, *definition.outputs)
    for argument, value in zip(arguments, (*inputs, *first), strict=True):
        assert tuple(value.shape) == tuple(axes[axis] for axis in argument.shape)
    for one, other in zip(first, second, strict=True):
        for wrong in (other, torch.zeros_like(one)):
            assert not torch.allclose(wrong, one, rtol=TOLERANCE, atol=TOLERANCE)


def test_honest_kernels_say_what_they_are_for(definitions):
    honest = sorted(FIXTURES.glob("honest_*"))
    assert len(honest) >= 18
    for path in honest:
        sign = "//" if path.suffix == ".cu" else "#"
        lines = [line.removeprefix(sign).strip() for line in path.read_text().splitlines()[:5]]
        assert lines[0].endswith(".")
        assert lines[1].removeprefix("definition: gpu_suite/level1/") in definitions
        assert lines[2:] == ["group: honest", "expected: passed", "earns: fast"]

"""The kernels for the public harness: each is for the problem of its name, and those without CUDA are right."""

from pathlib import Path

import pytest
import torch

from hone.judge.needs import compiles_when_run
from hone.records import Language
from hone.sources.solution_files import read_file, source_files

FOLDER = Path("resources/kernels/public_harness")
PLAIN = [path for path in source_files(FOLDER) if "load_inline" not in path.read_text()]


def softmax(x, dim):
    powers = torch.exp(x - x.amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)


def normalized(x):
    """LayerNorm over all but the first dimension, as it is defined: no gain, no shift, epsilon 1e-5."""
    flat = x.flatten(1).double()
    mean = flat.mean(1, keepdim=True)
    variance = ((flat - mean) ** 2).mean(1, keepdim=True)
    return ((flat - mean) / torch.sqrt(variance + 1e-5)).view(x.shape).float()


def convolved(x, weight, bias):
    """A convolution of three dimensions without padding, from all windows at once."""
    size = weight.shape[-1]
    windows = x.unfold(2, size, 1).unfold(3, size, 1).unfold(4, size, 1)
    return torch.einsum("ncdhwijk,ocijk->nodhw", windows, weight) + bias[:, None, None, None]


def conv_min_softmax(model, x):
    weight, bias = model.state_dict().values()
    return softmax(convolved(x, weight, bias).amin(2), 1)


CASES = {
    "1_1": ((), ((5, 5), (5, 5)), lambda _, a, b: (a[:, :, None] * b[None]).sum(1)),
    "1_12": ((), ((5,), (5, 7)), lambda _, a, b: torch.diag(a) @ b),
    "1_40": (((3, 4, 5),), ((2, 3, 4, 5),), lambda _, x: normalized(x)),
    "1_48": ((1,), ((2, 6, 5),), lambda _, x: x.sum(1) / 6),
    "2_24": ((3, 4, 3, 2), ((2, 3, 6, 7, 5),), conv_min_softmax),
}
"""Name -> arguments of the model, shapes of its inputs, what it computes."""


@pytest.mark.parametrize("path", source_files(FOLDER), ids=lambda path: path.stem)
def test_a_kernel_is_for_the_problem_of_its_name(path):
    file = read_file(path)
    assert path.stem == f"{file.level}_{file.number}"
    assert file.solution.language is Language.PYTHON
    assert not compiles_when_run(file.solution)


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.stem)
def test_a_plain_kernel_computes_its_problem(path):
    arguments, shapes, expected = CASES[path.stem]
    names = {}
    exec(compile(path.read_text(), path, "exec"), names)
    torch.manual_seed(3)
    model = names["ModelNew"](*arguments)
    inputs = [torch.rand(shape) for shape in shapes]
    torch.testing.assert_close(model(*inputs), expected(model, *inputs))

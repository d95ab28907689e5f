"""Groups of 128 numbers in eight bits, in an emulator of a GPU: few groups and many, places that no wide load reads,
rounding, and numbers that a scale can lose."""

import pytest
import torch

from hone.sources.solution_files import tunable_of

from .conftest import FILES
from .test_committed_kernels import called

TITLE = "per_token_group_quant_fp8"
MULTIPROCESSORS = 132
"""Of the emulated GPU."""
SPACE = tunable_of(FILES[TITLE])
OTHERS = [{"LANES": 8}, {"GROUPS": 1}, {"GROUPS": 4, "HINTS": 3}, {"LANES": 8, "GROUPS": 1, "SMALL": 64, "HINTS": 2}]
"""What differs from the first values, so that each branch that values decide is taken."""


def at(values):
    return next(k for k, point in enumerate(SPACE.points) if all(point[name] == it for name, it in values.items()))


POINTS = [0, *(pytest.param(at(it), marks=pytest.mark.slow, id=str(it)) for it in OTHERS)]
TYPES = [torch.float16, torch.bfloat16]


def quantised(library, given, places=(0, 0)):
    """What a launcher makes of `given`, with the input and the result so many elements behind their memory's start."""
    tokens, hidden = given.shape
    memory = torch.full((places[0] + given.numel(),), 5, dtype=given.dtype)
    memory[places[0] :] = given.flatten()
    out = torch.full((places[1] + given.numel() + 16,), 77, dtype=torch.uint8)
    groups = hidden // 128
    scale = torch.full((tokens * groups + 4,), 77.0)
    called(library, given.dtype, memory[places[0] :], out[places[1] :], scale, tokens, hidden, groups)
    assert (out[: places[1]] == 77).all() and (out[-16:] == 77).all() and (scale[-4:] == 77).all(), "nothing beside it"
    return out[places[1] : -16].view(tokens, hidden), scale[:-4].view(tokens, groups)


def reference(given):
    wide = given.float().unflatten(-1, (-1, 128))
    scale = wide.abs().amax(dim=-1).clamp(min=1e-10) / 448
    rounded = (wide / scale.unsqueeze(-1)).clamp(-448, 448).to(torch.float8_e4m3fn)
    return rounded.flatten(-2).view(torch.uint8), scale


def steps(bits):
    """Numbers of eight bits by their order: neighbours are one apart."""
    size = (bits & 0x7F).int()
    return torch.where(bits > 127, -size, size)


def check(found, expected):
    assert torch.allclose(found[1], expected[1], rtol=1e-6, atol=0)
    apart = (steps(found[0]) - steps(expected[0])).abs()
    assert apart.max() <= 1
    assert (apart != 0).float().mean() < 0.01


@pytest.mark.parametrize("number", POINTS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("tokens", "hidden"), [(1, 128), (3, 384), (31, 896), (2, 18432)], ids=str)
def test_few_groups_are_the_references(emulated, dtype, tokens, hidden, number):
    torch.manual_seed(1)
    given = torch.randn(tokens, hidden) * torch.logspace(-3, 3, tokens * hidden).view(tokens, hidden)
    given = given.to(dtype)
    check(quantised(emulated(TITLE, number), given), reference(given))


@pytest.mark.parametrize("number", POINTS)
@pytest.mark.parametrize("dtype", TYPES)
def test_groups_that_fill_a_gpu_are_the_references(emulated, dtype, number):
    """Blocks of the many, the last one with a part of a warp's groups."""
    point = SPACE.points[number]
    groups = point["WAVES"] * MULTIPROCESSORS * point["THREADS"] // point["LANES"] * point["GROUPS"] + 1
    torch.manual_seed(1)
    given = torch.randn(groups, 128).to(dtype)
    check(quantised(emulated(TITLE, number), given), reference(given))


@pytest.mark.parametrize("number", POINTS)
@pytest.mark.parametrize("places", [(1, 0), (0, 1), (4, 4), (8, 8)], ids=str)
def test_tensors_begin_anywhere(emulated, places, number):
    torch.manual_seed(1)
    given = torch.randn(7, 640).to(torch.bfloat16)
    check(quantised(emulated(TITLE, number), given, places), reference(given))


@pytest.mark.parametrize("number", POINTS)
@pytest.mark.parametrize("dtype", TYPES)
def test_a_groups_scale_is_its_own(emulated, dtype, number):
    """Zeros, subnormal numbers, the largest ones, infinity and NaN: neighbours' scales do not change."""
    torch.manual_seed(1)
    given = torch.randn(7, 128).to(dtype)
    most, least = torch.finfo(dtype).max, torch.finfo(dtype).smallest_normal / 8
    given[:2] = 0
    for group, value in enumerate([0.0, least, most, -most, float("inf"), float("nan")]):
        given[group, 7 * group + 3] = value
    found, expected = quantised(emulated(TITLE, number), given), reference(given)
    assert torch.allclose(found[1], expected[1], rtol=1e-6, atol=0, equal_nan=True)
    kept = torch.isfinite(expected[1].flatten())
    assert kept.tolist() == [True] * 4 + [False] * 2 + [True]
    assert (steps(found[0][kept]) - steps(expected[0][kept])).abs().max() <= 1
    assert torch.equal(found[0][~kept] & 0x7F, expected[0][~kept] & 0x7F)

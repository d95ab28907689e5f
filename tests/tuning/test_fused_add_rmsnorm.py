"""The kernel of fused_add_rmsnorm with declared parameters, in an emulator of a GPU."""

import ctypes

import pytest
import torch

from hone.sources.solution_files import tunable_of

from .conftest import FILES

EPS = 1e-6
TITLE = "fused_add_rmsnorm"
DTYPES = [torch.float16, torch.bfloat16, torch.float32]
ONE_STEP = {
    torch.float16: {"rtol": 1e-3, "atol": 1e-5},
    torch.bfloat16: {"rtol": 8e-3, "atol": 1e-5},
    torch.float32: {"rtol": 1e-5, "atol": 1e-6},
}
"""The tolerances of config/kernels/sglang/2_fused_add_rmsnorm.yaml."""
SIZES = [
    (5, 40),  # a warp has a row
    (31, 77),  # so it does, and rows begin anywhere
    (3, 5),  # rows smaller than 16 bytes of the widest type
    (1, 1),
    (2, 1000),
    (3, 4099),
    (2, 8192),
    (1, 13824),
]
MANY = [(270, 264), (267, 77), (266, 640), (266, 2050), (265, 5120)]
"""More rows than two for each multiprocessor: several to a block, of one block, odd, of several vectors to a thread."""
LONG = [(1, 70_000), (2, 33_001)]
"""More than the largest block keeps."""


def place(tensor, shift):
    """A copy that begins `shift` elements after a multiple of 16 bytes."""
    room = torch.full((tensor.numel() + 32,), 77, dtype=tensor.dtype)
    first = -room.data_ptr() % 16 // room.element_size() + shift
    room[first : first + tensor.numel()] = tensor.flatten()
    return room, room[first : first + tensor.numel()].view(tensor.shape)


def numbers(first=False):
    """The first values; others that change each parameter at least once."""
    points = tunable_of(FILES[TITLE]).points
    wanted = [
        {"THREADS": 256, "VECTORS": 4, "FEW": 2, "HINTS": 3},
        {"THREADS": 1024, "VECTORS": 1, "ROWS": 2, "OVERLAP": 1},
    ]
    found = [next(n for n, it in enumerate(points) if values.items() <= it.items()) for values in wanted]
    return [0] if first else [0, *(pytest.param(number, marks=pytest.mark.slow) for number in found)]


def check(library, dtype, tokens, hidden, shifts=(0, 0, 0), factors=(1.0, 1.0)):
    torch.manual_seed(1)
    given = [*(factor * torch.randn(tokens, hidden) for factor in factors), torch.randn(hidden)]
    given = [it.to(dtype) for it in given]
    rooms, placed = zip(*map(place, given, shifts), strict=True)
    outside = [(room == 77).sum() - (it == 77).sum() for room, it in zip(rooms, placed, strict=True)]
    pointers = [ctypes.c_void_p(it.data_ptr()) for it in placed]
    sizes = [ctypes.c_int64(it) for it in (tokens, hidden)]
    launcher = getattr(ctypes.CDLL(str(library)), f"launch_{str(dtype).removeprefix('torch.')}")
    launcher(*pointers, ctypes.c_double(EPS), *sizes, None)

    total = given[0].float() + given[1].float()
    exact = total.double()
    scale = torch.rsqrt(exact.square().mean(dim=-1, keepdim=True) + EPS)
    assert torch.equal(placed[1], total.to(dtype))
    assert torch.allclose(placed[0].double(), exact * scale * given[2].double(), **ONE_STEP[dtype])
    assert torch.equal(placed[2], given[2])
    for room, it, count in zip(rooms, placed, outside, strict=True):
        assert (room == 77).sum() - (it == 77).sum() == count, "nothing is written beside the tensors"


@pytest.mark.parametrize("number", numbers())
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("tokens", "hidden"), SIZES, ids=str)
def test_few_rows_are_the_references(emulated, dtype, tokens, hidden, number):
    check(emulated(TITLE, number), dtype, tokens, hidden)


@pytest.mark.parametrize("number", numbers())
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("tokens", "hidden"), MANY, ids=str)
def test_many_rows_are_the_references(emulated, dtype, tokens, hidden, number):
    check(emulated(TITLE, number), dtype, tokens, hidden)


@pytest.mark.parametrize("number", numbers())
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("tokens", "hidden"), LONG, ids=str)
def test_rows_beyond_the_largest_block_are_the_references(emulated, dtype, tokens, hidden, number):
    check(emulated(TITLE, number), dtype, tokens, hidden)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shifts", [(1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 3), (3, 2, 1)], ids=str)
def test_tensors_may_begin_anywhere(emulated, dtype, shifts):
    check(emulated(TITLE), dtype, 3, 520, shifts)


@pytest.mark.parametrize("tokens", [300, 140])
def test_rows_of_several_vectors_to_a_thread(emulated, tokens):
    """In float32 these are eight, in blocks of the usual size."""
    check(emulated(TITLE), torch.float32, tokens, 14336)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_norm_takes_sums_before_they_are_rounded(emulated, dtype):
    """Inputs that are small beside the residual: rounded sums would lose most of them."""
    check(emulated(TITLE), dtype, 4, 512, factors=(2**-9, 1.0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_rows_are_divided_by_more_than_their_mean(emulated, dtype):
    """Where squares are no larger than `eps`."""
    check(emulated(TITLE), dtype, 4, 512, factors=(2**-10, 2**-10))


def test_no_rows_are_no_launch(emulated):
    check(emulated(TITLE), torch.float32, 0, 16)

"""The rotary embedding with parameters, in an emulator of a GPU, beside a rotation in float64."""

import ctypes

import pytest
import torch

from hone.sources.solution_files import tunable_of

from .conftest import FILES

TITLE = "rotary_embedding"
TOLERANCES = {torch.float16: 1e-3, torch.bfloat16: 8e-3}
"""Those of config/kernels/sglang/6_rotary_embedding.yaml, whose absolute one is 1e-5."""
FEW_SIZES = [
    (1, 1, 0, 64, 1),
    (3, 5, 3, 64, 2),
    (7, 7, 1, 128, 40),
    (5, 0, 3, 256, 9000),  # a table too large to be asked for
    (2, 12, 4, 80, 6),  # five vectors to half a head
    (9, 4, 1, 40, 3),  # halves that no load of 16 bytes begins
    (4, 3, 2, 2, 5),
]
MANY_SIZES = [(640, 20, 7, 256, 300), (700, 9, 1, 72, 1000)]
"""Tokens, heads of queries, of keys, size of a head, and positions: groups of heads with some left over."""


def inputs(tokens, q_heads, k_heads, head_dim, positions, dtype):
    torch.manual_seed(1)
    q, k = (torch.randn(tokens, heads, head_dim).to(dtype) for heads in (q_heads, k_heads))
    angle = 7 * torch.rand(positions, head_dim // 2).double()
    table = torch.cat([angle.cos(), angle.sin()], dim=1).float()
    return q, k, table, (torch.arange(tokens) % positions)[torch.randperm(tokens)]


def expected(heads, table, position):
    cos, sin = table.double()[position].unsqueeze(1).chunk(2, dim=-1)
    first, second = heads.double().chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def launched(library, q, k, table, position):
    """What the launcher writes, with room behind it that it must leave alone."""
    room = [torch.full((it.numel() + 64,), 77, dtype=it.dtype) for it in (q, k)]
    tensors = [ctypes.c_void_p(it.data_ptr()) for it in (q, k, table, position, *room)]
    sizes = [len(q), q.shape[1], k.shape[1], q.shape[2], len(table)]
    name = f"launch_{str(q.dtype).removeprefix('torch.')}"
    getattr(ctypes.CDLL(str(library)), name)(*tensors, *map(ctypes.c_int64, sizes), None)
    assert all((it[-64:] == 77).all() for it in room)
    return [it[:-64].view(like.shape) for it, like in zip(room, (q, k), strict=True)]


def check(library, q, k, table, position):
    for found, heads in zip(launched(library, q, k, table, position), (q, k), strict=True):
        exact = expected(heads, table, position)
        assert torch.allclose(found.double(), exact, rtol=TOLERANCES[q.dtype], atol=1e-5)


def number_of(**values):
    """The first choice with these values."""
    space = tunable_of(FILES[TITLE])
    return next(i for i, it in enumerate(space.points) if all(it[name] == value for name, value in values.items()))


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("sizes", FEW_SIZES, ids=str)
def test_few_heads_are_the_references(emulated, sizes, dtype):
    check(emulated(TITLE), *inputs(*sizes, dtype))


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("sizes", MANY_SIZES, ids=str)
def test_heads_that_fill_a_gpu_are_the_references(emulated, sizes, dtype):
    """More threads than WAVES asks for: each has several heads, but for those of a last group."""
    tokens, q_heads, k_heads, head_dim, _ = sizes
    first = tunable_of(FILES[TITLE]).first
    lanes = head_dim // 16 if head_dim % 16 == 0 else head_dim // 2
    units = tokens * lanes * -(-(q_heads + k_heads) // first["HEADS"])
    assert units >= first["WAVES"] * 132 * first["THREADS"]
    check(emulated(TITLE), *inputs(*sizes, dtype))


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        {"THREADS": 128, "HEADS": 8, "SMALL": 64, "HINTS": 3, "AHEAD": 0},
        {"THREADS": 512, "HEADS": 2, "WAVES": 1, "HINTS": 2, "SMALL": 64},
        {"THREADS": 256, "HEADS": 2, "WAVES": 4, "HINTS": 0},
    ],
    ids=str,
)
def test_other_choices_are_the_references(emulated, values):
    library = emulated(TITLE, number_of(**values))
    for sizes in (*FEW_SIZES, *MANY_SIZES):
        check(library, *inputs(*sizes, torch.bfloat16))


@pytest.mark.parametrize("shifted", range(3), ids=["q", "k", "table"])
def test_tensors_may_begin_anywhere(emulated, shifted):
    """No load of 16 bytes then."""
    values = list(inputs(5, 6, 2, 64, 4, torch.float16))
    moved = torch.empty(values[shifted].numel() + 1, dtype=values[shifted].dtype)[1:].view(values[shifted].shape)
    values[shifted] = moved.copy_(values[shifted])
    assert moved.data_ptr() % 16 != 0
    check(emulated(TITLE), *values)

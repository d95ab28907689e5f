"""The kernel with parameters of topk_softmax against the reference, in an emulator of a GPU."""

import pytest
import torch

from hone.sources.solution_files import tunable_of

from .conftest import FILES
from .test_committed_kernels import called

TITLE = "topk_softmax"
DTYPES = [torch.float16, torch.bfloat16, torch.float32]
OTHERS = [{"ELEMENTS": 32, "FEW": 16, "SMALL": 128}, {"ELEMENTS": 16, "FEW": 16, "THREADS": 64, "WARPS": 8}]
MANY = 8 * 32 * 132 + 3
"""Tokens that leave no multiprocessor idle, whatever the values."""


def number_of(values):
    """The first choice that has these values."""
    return next(i for i, it in enumerate(tunable_of(FILES[TITLE]).points) if values.items() <= it.items())


def launched(library, logits, chosen, room=0):
    """Weights and indices, which begin `room` elements into their memory; what lies around them stays as it was."""
    (tokens, experts), size = logits.shape, logits.shape[0] * chosen
    weights, indices = torch.full((size + 8 + room,), 77.0), torch.full((size + 8 + room,), 77, dtype=torch.int32)
    called(library, logits.dtype, logits, weights[room:], indices[room:], tokens, experts, chosen)
    for it in (weights, indices):
        assert (it[:room] == 77).all()
        assert (it[room + size :] == 77).all()
    return [it[room : room + size].view(tokens, chosen) for it in (weights, indices)]


def check(library, logits, chosen, room=0):
    weights, indices = launched(library, logits, chosen, room)
    # Of equal logits the first expert is taken.
    order = logits.double().sort(dim=-1, descending=True, stable=True)
    assert torch.equal(indices.long(), order.indices[:, :chosen])
    exact = order.values[:, :chosen].softmax(dim=-1)
    assert torch.allclose(weights.double(), exact, rtol=2e-5, atol=1e-7)


def given(tokens, experts, dtype):
    """As the operator's inputs are: multiples of an eighth, here of both signs."""
    torch.manual_seed(tokens + experts)
    return ((torch.rand(tokens, experts).argsort(dim=-1) - experts // 3).float() / 8).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("tokens", "experts", "chosen"),
    [
        (64, 8, 2),
        (33, 8, 8),
        (131, 32, 1),
        (77, 16, 3),
        (77, 64, 6),
        (40, 128, 8),
        (1, 128, 8),
        (9, 256, 8),
        (5, 256, 2),
    ],
    ids=str,
)
def test_few_tokens(emulated, dtype, tokens, experts, chosen):
    check(emulated(TITLE), given(tokens, experts, dtype), chosen)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("tokens", "experts", "chosen"), [(9001, 8, 2), (8501, 64, 6), (2201, 256, 8)], ids=str)
def test_tokens_that_fill_a_gpu(emulated, dtype, tokens, experts, chosen):
    """Lanes have ELEMENTS numbers, and blocks THREADS threads."""
    check(emulated(TITLE), given(tokens, experts, dtype), chosen)


@pytest.mark.slow
@pytest.mark.parametrize("values", OTHERS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("experts", "chosen"), [(8, 5), (32, 1), (32, 4), (256, 8)], ids=str)
def test_other_values(emulated, dtype, experts, chosen, values):
    for tokens in (35, MANY * 16 // experts):
        check(emulated(TITLE, number_of(values)), given(tokens, experts, dtype), chosen)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("experts", "chosen"), [(1, 1), (4, 2), (100, 7), (64, 9), (128, 40), (512, 8)], ids=str)
def test_rows_that_lanes_do_not_share(emulated, dtype, experts, chosen):
    check(emulated(TITLE), given(7, experts, dtype), chosen)


@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_that_begins_anywhere(emulated, dtype):
    logits = given(12, 64, dtype)
    apart = torch.empty(logits.numel() + 1, dtype=dtype)[1:].view(12, 64).copy_(logits)
    check(emulated(TITLE), apart, 6)
    check(emulated(TITLE), logits, 6, room=1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("experts", "chosen"), [(8, 2), (64, 8), (256, 8), (128, 7)], ids=str)
def test_logits_that_are_equal(emulated, dtype, experts, chosen):
    """All of them, or most."""
    torch.manual_seed(1)
    check(emulated(TITLE), torch.full((5, experts), -1.5, dtype=dtype), chosen)
    check(emulated(TITLE), torch.randint(-3, 2, (70, experts)).to(dtype), chosen)


@pytest.mark.parametrize(("experts", "chosen"), [(8, 8), (64, 8), (256, 8), (128, 5), (32, 1)], ids=str)
def test_logits_that_differ_in_the_last_bits(emulated, experts, chosen):
    """Whose keys are equal: in some rows of a warp, in all of them, and where only the last chosen is in doubt."""
    torch.manual_seed(2)
    steps = torch.rand(90, experts).argsort(dim=-1).float()
    close = 1 + steps * 2**-23
    apart = given(90, experts, torch.float32)
    some = torch.where(torch.arange(90)[:, None] % 5 == 3, -close, apart)
    border = apart.clone()
    order = apart.argsort(dim=-1, descending=True)
    if chosen < experts:
        last, next_one = order[:, chosen - 1 : chosen], order[:, chosen : chosen + 1]
        border.scatter_(1, next_one, border.gather(1, last).nextafter(torch.tensor(1e9)))
    for logits in (close, -close, some, border):
        check(emulated(TITLE), logits, chosen)


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_and_small_logits(emulated, dtype):
    torch.manual_seed(3)
    largest = torch.finfo(dtype).max
    for size in (30.0, 1e-3, largest / 8):
        logits = (torch.randn(50, 128).clamp(-7, 7) * size).to(dtype)
        check(emulated(TITLE), logits, 8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_number_is_lost_where_some_are_infinite(emulated, dtype):
    """Experts that are masked out."""
    logits = given(20, 64, dtype)
    logits[:, ::2] = -torch.inf
    check(emulated(TITLE), logits, 8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_without_an_answer_have_experts_all_the_same(emulated, dtype):
    logits = given(20, 64, dtype)
    logits[3] = torch.nan
    logits[4, :60] = torch.nan
    logits[5] = -torch.nan
    _, indices = launched(emulated(TITLE), logits, 8)
    assert ((indices >= 0) & (indices < 64)).all()
    assert all(len(row.unique()) == 8 for row in indices)

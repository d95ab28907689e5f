"""Merged attention states with declared parameters: in an emulator of a GPU they are the reference's."""

import ctypes

import pytest
import torch

from hone.core.modules import load_module
from hone.sources.extraction.entry import parse_entry
from hone.sources.solution_files import tunable_of
from tests.graph_ops import ROOT

from .conftest import FILES

TITLE = "merge_attn_states"
ENTRY = ROOT / "config/kernels/sglang/3_merge_attn_states.yaml"
DTYPES = [torch.float16, torch.bfloat16]
MEMORY = 77
"""What outputs hold before."""
POINTS = (
    {},
    {"THREADS": 128, "VECTORS": 4, "SMALL": 32, "WAVES": 4, "LOADS": 0, "STORES": 1},
    pytest.param({"THREADS": 512, "VECTORS": 1, "SMALL": 128, "WAVES": 1, "LOADS": 2}, marks=pytest.mark.slow),
    pytest.param({"THREADS": 256, "VECTORS": 4, "SMALL": 128, "WAVES": 1, "STORES": 1}, marks=pytest.mark.slow),
)
"""Values other than the first ones."""
FEW = [(2, 40, 128), (3, 5, 256), (61, 16, 64)]
"""Tokens, heads, head dimensions: one vector to a thread, in some the last block is not full."""
MANY = [(467, 20, 256), (1001, 32, 128), (1607, 43, 64)]
"""Several vectors to a thread with all of POINTS: four times 132 blocks of 512 vectors, or more."""
OTHER = [(5, 3, 40), (7, 3, 17), (2, 1, 1), (1, 3, 5000), (1, 1, 40_001)]
"""Rows of whole vectors that are no power of two, rows that begin anywhere, long ones."""


@pytest.fixture(scope="module")
def tolerances():
    return parse_entry(ENTRY.read_text(), str(ENTRY)).tolerances


@pytest.fixture(scope="module")
def module():
    return load_module(f"hone_{TITLE}", parse_entry(ENTRY.read_text(), str(ENTRY)).reference)


@pytest.fixture
def merged(emulated):
    """Values of parameters and inputs -> the launcher's outputs."""
    space = tunable_of(FILES[TITLE])

    def run(point, values):
        library = ctypes.CDLL(str(emulated(TITLE, space.points.index(space.first | point))))
        v_a, s_a, *_ = values
        outputs = [torch.full_like(v_a, MEMORY), torch.full_like(s_a, MEMORY)]
        passed = [ctypes.c_void_p(it.data_ptr()) for it in (*values, *outputs)]
        getattr(library, f"launch_{str(v_a.dtype).removeprefix('torch.')}")(
            *passed, *map(ctypes.c_int64, v_a.shape), None
        )
        return outputs

    return run


def inputs(module, sizes, dtype):
    torch.manual_seed(1)
    module.TOKENS, module.HEADS, module.HEAD_DIM = sizes
    v_a, s_a, v_b, s_b = module.get_inputs()
    return [v_a.to(dtype), s_a, v_b.to(dtype), s_b]


def check(found, module, values, tolerance):
    for have, want in zip(found, module.Model()(*values), strict=True):
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        assert torch.allclose(have.double(), want.double(), rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True)


@pytest.mark.parametrize("point", POINTS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("sizes", [*FEW, *MANY, *OTHER], ids=str)
def test_merged_states_are_the_references(merged, module, tolerances, sizes, dtype, point):
    values = inputs(module, sizes, dtype)
    check(merged(point, values), module, values, tolerances[str(dtype).removeprefix("torch.")])


def test_states_that_are_empty_or_infinite_are_the_references(merged, module, tolerances):
    """All pairs of them, and sums whose powers of two no float32 holds."""
    ends = torch.tensor([-torch.inf, torch.inf, torch.nan, 0.0, -0.0, 3e38, -3e38, 1000.0, -1000.0, 1e-40])
    s_a, s_b = (it.reshape(-1, 4).contiguous() for it in torch.meshgrid(ends, ends, indexing="ij"))
    torch.manual_seed(1)
    v_a, v_b = torch.randn(2, *s_a.shape, 64).half()
    values = [v_a, s_a, v_b, s_b]
    found = merged({}, values)
    check(found, module, values, tolerances["float16"])
    assert 0 < found[1].isnan().sum() < found[1].numel()


def test_states_that_begin_anywhere_are_the_references(merged, module, tolerances):
    """Their rows could be read in vectors, if one of the tensors did not begin between two."""
    v_a, s_a, v_b, s_b = inputs(module, (5, 3, 128), torch.float16)
    room = torch.zeros(v_a.numel() + 1, dtype=v_a.dtype)
    shifted = room[1:].view_as(v_a).copy_(v_a)
    assert shifted.data_ptr() % 16
    values = [shifted, s_a, v_b, s_b]
    check(merged({}, values), module, values, tolerances["float16"])


def test_nothing_is_written_where_there_is_nothing(merged, module):
    for sizes in ((0, 4, 128), (4, 0, 64)):
        values = inputs(module, sizes, torch.float16)
        assert [it.numel() for it in merged({}, values)] == [0, 0]

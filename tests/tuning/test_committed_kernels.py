"""The kernels that config/h200_tuned.yaml searches: what they declare and, in an emulator of a GPU, what they give."""

import ctypes
import re

import pytest
import torch

from hone.config.files import read_values
from hone.config.settings import load
from hone.launcher import signatures
from hone.methods.files import check_files
from hone.records import Language
from hone.sources.extraction.define import _definition
from hone.sources.extraction.fetch import entry_paths, read_entries
from hone.sources.solution_files import read_file, tunable_of
from hone.tunables import evaluate
from hone.tuning.search import GENERATION, Plan
from tests.graph_ops import ROOT, Calls

from .conftest import FILES

STATES = {"count": 77, "room": 203, "sizes": 2, "keys": 1, "fanout": 12}
WIDTHS = [{"width": width, "both": 2 * width} for width in (16, 40, 6)]
"""Several sources to a block, lanes left over, and rows that no load of 16 bytes reads."""
POINTS = (0, pytest.param(-1, marks=pytest.mark.slow))
"""The first values, and the last."""


def settings():
    return load(read_values(ROOT / "config/h200_tuned.yaml"))


def test_every_file_belongs_to_a_problem_that_a_search_selects(monkeypatch):
    monkeypatch.chdir(ROOT)
    for item in settings().experiments.values():
        levels = settings().sources[item.source].levels
        check_files(item, {(level, n) for level, count in levels.items() for n in range(1, count + 1)})
    searched = {item.source for item in settings().experiments.values() if item.strategy.kind == "tuned"}
    assert {read_file(path).source for path in FILES.values()} == searched


def test_a_budget_reaches_beyond_the_first_choices():
    for item in settings().experiments.values():
        if item.strategy.kind == "tuned":
            plan = Plan.within(item.strategy.budget.evaluations // item.strategy.workloads, item.strategy.finalists)
            assert plan.field >= 2 * GENERATION


@pytest.mark.parametrize("title", FILES)
def test_a_space_is_worth_a_search_and_no_point_has_too_many_threads(title):
    space = tunable_of(FILES[title])
    assert 4 <= len(space.parameters) <= 6
    assert 100 <= len(space.points) <= 600
    assert space.first == {item.name: item.values[0] for item in space.parameters}
    assert all(32 <= evaluate(space.threads, point) <= 1024 for point in space.points)


@pytest.mark.parametrize("title", FILES)
def test_every_parameter_stands_in_the_code(title):
    space = tunable_of(FILES[title])
    code = re.sub(r"//.*", "", space.source)
    assert [item.name for item in space.parameters if not re.search(rf"\b{item.name}\b", code)] == []


def test_every_launcher_is_there():
    checked = []
    for name, source in settings().sources.items():
        for file in read_entries(name, entry_paths(ROOT / source.path), source.packages):
            if file.title in FILES:
                text = " ".join(FILES[file.title].read_text().split())
                wanted = signatures(_definition(file, file.entry, settings().baselines), Language.CUDA)
                assert [it for it in wanted if it not in text] == []
                checked.append(file.title)
    assert sorted(checked) == sorted(FILES)


@pytest.mark.parametrize("number", POINTS)
@pytest.mark.parametrize("sizes", WIDTHS, ids=lambda sizes: f"width {sizes['width']}")
@pytest.mark.parametrize("title", ["mean_of_states", "gradient_of_states"])
def test_an_operator_of_the_loop_is_the_references(emulated, title, sizes, number):
    """At one half, at another share, and without ReLU and dropout."""
    calls = Calls(title, {**STATES, **sizes}, "bfloat16")
    values = calls.values(1)
    for dropout in ([2.0, 32768], [1.25, 13107], [0.0, 0]):
        values[-2:] = dropout
        (found,) = calls.launched(emulated(title, number), values)
        (expected,) = calls.expected(values, wide=True)
        assert torch.allclose(found.double(), expected.double(), rtol=2**-7, atol=1e-4)
        assert len(found.unique()) > 20, "not all of it is zero"


@pytest.mark.parametrize(
    ("title", "sizes"),
    [
        ("mean_of_states", {"count": 4300, "room": 4300, "fanout": 2}),
        ("gradient_of_states", {"count": 900, "room": 8700, "fanout": 30}),
    ],
)
def test_rows_that_fill_a_gpu_are_not_shared(emulated, title, sizes):
    """More threads than it holds at once: a row has one team, a thread several groups of columns."""
    calls = Calls(title, {**STATES, **sizes, "width": 128, "both": 256}, "bfloat16")
    values = calls.values(1)
    (found,), (expected,) = calls.launched(emulated(title), values), calls.expected(values, wide=True)
    assert torch.allclose(found.double(), expected.double(), rtol=2**-7, atol=1e-3)


@pytest.mark.parametrize("number", POINTS)
def test_few_rows_are_shared_and_many_readers_too(emulated, number):
    """All neighbours are one source, as no generated input has it."""
    sizes = {"count": 3, "room": 9, "sizes": 2, "keys": 1, "fanout": 40, "width": 64, "both": 128}
    calls = Calls("gradient_of_states", sizes, "bfloat16")
    begins, readers, degrees, given, states, filled, *dropout = calls.values(1)
    slots = [row * 40 + k for row, degree in enumerate(degrees.tolist()) for k in range(degree)]
    readers.flatten()[: len(slots)] = torch.tensor(slots, dtype=torch.int32)
    begins[:] = torch.tensor([0] * 5 + [len(slots)] * 4)
    values = [begins, readers, degrees, given, states, filled, *dropout]
    (found,), (expected,) = (
        calls.launched(emulated("gradient_of_states", number), values),
        calls.expected(values, wide=True),
    )
    assert len(slots) > 40
    assert torch.allclose(found.double(), expected.double(), rtol=2**-7, atol=1e-3)
    calls = Calls("mean_of_states", sizes, "bfloat16")
    values = calls.values(2)
    (found,), (expected,) = (
        calls.launched(emulated("mean_of_states", number), values),
        calls.expected(values, wide=True),
    )
    assert torch.allclose(found.double(), expected.double(), rtol=2**-7, atol=1e-4)


def called(library, dtype, *arguments):
    """A launcher: tensors as pointers, numbers as int64, no stream."""
    passed = [ctypes.c_void_p(it.data_ptr()) if torch.is_tensor(it) else ctypes.c_int64(it) for it in arguments]
    getattr(ctypes.CDLL(str(library)), f"launch_{str(dtype).removeprefix('torch.')}")(*passed, None)


@pytest.mark.parametrize("number", POINTS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize(("tokens", "hidden"), [(5, 40), (3, 17), (300, 2064)], ids=str)
def test_silu_and_mul_is_the_references(emulated, dtype, tokens, hidden, number):
    torch.manual_seed(1)
    given, out = 3 * torch.randn(tokens, 2 * hidden).to(dtype), torch.full((tokens, hidden), 77, dtype=dtype)
    called(emulated("silu_and_mul", number), dtype, given, out, tokens, hidden, 2 * hidden)
    gate, up = given.double().chunk(2, dim=-1)
    exact = torch.nn.functional.silu(gate) * up
    assert torch.allclose(out.double(), exact, rtol=max(torch.finfo(dtype).eps, 1e-5), atol=1e-6)


@pytest.mark.parametrize("number", POINTS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("tokens", "hidden"), [(5, 40), (600, 140), (2, 8200), (1, 40_000), (3, 17)], ids=str)
def test_quantised_rows_are_the_references(emulated, dtype, tokens, hidden, number):
    torch.manual_seed(1)
    given = torch.randn(tokens, hidden).to(dtype)
    quantised, scale = torch.full((tokens, hidden), 77, dtype=torch.uint8), torch.full((tokens,), 77.0)
    called(emulated("per_token_quant_fp8", number), dtype, given, quantised, scale, tokens, hidden)
    assert torch.allclose(scale, given.float().abs().amax(-1) / 448, rtol=1e-6)
    exact = (given.float() / scale[:, None]).to(torch.float8_e4m3fn)
    ordered = torch.arange(127, dtype=torch.uint8).view(torch.float8_e4m3fn).float()  # all that are not negative
    steps = torch.cat([-ordered.flip(0)[:-1], ordered])
    near = [torch.searchsorted(steps, it) for it in (exact.float(), quantised.view(torch.float8_e4m3fn).float())]
    assert (near[0] - near[1]).abs().max() <= 1
    assert (near[0] != near[1]).float().mean() < 0.01

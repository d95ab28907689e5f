"""The operators of the training loops: kernels and references agree, on a CPU and in the emulator of a GPU."""

import pytest
import torch

from hone.compile import build_all
from hone.compile.kernels import kernel_solution
from hone.launcher import signatures
from hone.records import BuildStatus, Language
from tests.gnn.sampling.specified import below, halves, positions
from tests.graph_ops import Calls, definitions

ON_A_CPU = ("sample_neighbours", "copy_rows")
HUB = {"offsets": 401, "edges": 9001, "count": 203}
ROOMS = {"count": 77, "room": 203, "sizes": 2, "keys": 1}
CASES = [
    ("mean_of_features", "bfloat16", {"count": 77, "fanout": 5, "table": 130, "width": 24, "both": 48, "sizes": 2}),
    ("mean_of_features", "bfloat16", {"count": 3, "fanout": 1, "table": 700, "width": 8, "both": 16, "sizes": 2}),
    ("mean_of_states", "bfloat16", {**ROOMS, "fanout": 6, "width": 16, "both": 32}),
    ("gradient_of_states", "bfloat16", {**ROOMS, "fanout": 6, "width": 16, "both": 32}),
    ("gather_rows", "float16", {"count": 130, "width": 24}),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Title -> the shared object of a C++ kernel, built as the pipeline does it."""
    items = {item.name: item for item in definitions().values() if item.title in ON_A_CPU}
    store = tmp_path_factory.mktemp("store")
    solutions = [kernel_solution(item, "upstream") for item in items.values()]
    builds = build_all(solutions, items, store=store, timeout_s=60, workers=2, progress=False)
    assert {build.status for build in builds} == {BuildStatus.BUILT}, [build.log for build in builds]
    return {item.title: store / build.artifact for item, build in zip(items.values(), builds, strict=True)}


def test_every_source_stands_alone_and_exports_its_launchers():
    for item in definitions().values():
        language = Language.CPP if item.title in ON_A_CPU else Language.CUDA
        text = item.kernels["upstream"]
        assert item.kernel_language is language
        assert all(signature in text for signature in signatures(item, language))
        assert '#include "' not in text


@pytest.mark.parametrize("fanout", [1, 5, 20, 40])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_inner_loop_is_the_references_bit_for_bit(built, fanout, seed):
    calls = Calls("sample_neighbours", {**HUB, "fanout": fanout})
    values = calls.values(seed)
    for found, expected in zip(calls.launched(built["sample_neighbours"], values), calls.expected(values), strict=True):
        assert torch.equal(found, expected)


@pytest.mark.parametrize("width", [32, 77])
def test_rows_are_copied_whole(built, width):
    calls = Calls("copy_rows", {"table": 300, "width": width, "count": 101}, "float16")
    values = calls.values(1)
    assert torch.equal(calls.launched(built["copy_rows"], values)[0], calls.expected(values)[0])


def test_the_inner_loops_reference_is_the_samplers_specification():
    """Lists from none to some hundred neighbours, and the -1 behind the short ones."""
    calls = Calls("sample_neighbours", {**HUB, "fanout": 5})
    indptr, indices, rows, key = calls.values(3)
    neighbours, degrees = calls.expected([indptr, indices, rows, key])
    lengths = indptr.diff()[rows.long()]
    assert {0, 1} <= set(lengths.tolist()) and int(lengths.max()) > 100 and len(set(rows.tolist())) == len(rows)
    for i, node in enumerate(rows.tolist()):
        start, length = int(indptr[node]), int(lengths[i])
        expected = [int(indices[start + at]) for at in positions(key % 2**64, node, length, 5)]
        assert neighbours[i].tolist() == expected + [-1] * (5 - len(expected))
        assert int(degrees[i]) == len(expected)


def test_numbers_that_are_refused_are_drawn_again():
    """With a bound for which three in ten are: in a graph it is one in a million."""
    calls, bound = Calls("sample_neighbours", {**HUB, "fanout": 5}), 1_500_000_000
    calls.module.REDRAWS = 40
    node, key, used = 17, 123456789, torch.zeros(1, dtype=torch.int64)
    numbers = halves(key, node)
    state = calls.module.mixed(key + calls.module.GOLDEN * torch.tensor([node]))
    for _ in range(50):
        drawn, used = calls.module.below(state, used, torch.tensor([bound]))
        assert int(drawn) == below(numbers, bound)
    assert int(used) > 60


@pytest.mark.parametrize(("title", "dtype", "sizes"), CASES, ids=[f"{case[0]}-{case[2]['count']}" for case in CASES])
def test_a_cuda_kernel_is_the_references(emulated, title, dtype, sizes):
    calls = Calls(title, sizes, dtype)
    for seed in (1, 2):
        values = calls.values(seed)
        (found,) = calls.launched(emulated(title), values)
        (own,), (exact,) = calls.expected(values), calls.expected(values, wide=True)
        for expected in (own, exact):
            assert torch.allclose(found.double(), expected.double(), rtol=2**-7, atol=1e-4)
        assert len(found.unique()) > 20, "not all of it is zero"


def test_without_a_scale_states_go_through_as_they_are(emulated):
    calls = Calls("mean_of_states", CASES[2][2], "bfloat16")
    values = calls.values(5)
    values[-2:] = [0.0, 0]
    (found,), (expected,) = calls.launched(emulated("mean_of_states"), values), calls.expected(values, wide=True)
    assert torch.allclose(found.double(), expected, rtol=2**-7, atol=1e-4)
    assert (found < 0).any()


@pytest.mark.parametrize("case", [CASES[0], CASES[2]], ids=["features", "states"])
def test_inputs_name_every_row_of_a_table_where_there_are_slots_enough(case):
    """Else the bytes of the inputs, which the judge's floor is made of, would be more than have to be read."""
    calls = Calls(case[0], case[2], case[1])
    neighbours, degrees = calls.values(1)[:2]
    filled = calls.values(1)[-1 if case[0] == "mean_of_features" else 3]
    drawn = neighbours[neighbours >= 0]
    assert len(drawn) == int(degrees.sum()) > int(filled[1])
    assert len(drawn.unique()) == int(filled[1])

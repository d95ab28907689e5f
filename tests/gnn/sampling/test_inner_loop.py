"""Another kernel in the place of the sampler's inner loop: the same batches, bit for bit."""

import pytest
import torch

from hone.compile import build_all
from hone.compile.kernels import kernel_solution
from hone.core.errors import MachineError
from hone.core.files import read_records
from hone.gnn.sampling import Design, Sampler
from hone.gnn.seeds import Plan
from hone.llm.recorded import RecordedAnswer
from hone.methods.extract import fenced_blocks
from hone.records import BuildStatus, Language, Solution
from tests.gnn.sampling.test_batches import FANOUTS
from tests.graph_ops import ROOT, definitions

TRANSCRIPT = ROOT / "resources/recorded/miniature_graph_ops.jsonl"
THREADED = """
#include <omp.h>
#include <cstdint>
extern "C" void launch(const int64_t* indptr, const int32_t* indices, const int32_t* rows, int64_t, int32_t* neighbours,
                       int32_t* degrees, int64_t, int64_t, int64_t count, int64_t fanout) {
#pragma omp parallel
  for (int64_t i = 0; i < count; ++i) {  // the last neighbour of each row, as often as there are threads
    const int64_t degree = indptr[rows[i] + 1] - indptr[rows[i]];
    degrees[i] = degree < omp_get_num_threads() ? 0 : omp_get_num_threads();
    for (int64_t k = 0; k < degrees[i]; ++k) neighbours[i * fanout + k] = indices[indptr[rows[i] + 1] - 1];
  }
}
"""


def recorded_kernels():
    """The versions of the transcript: coding's answers in the order of the rounds."""
    rows = [row for row in read_records(TRANSCRIPT, RecordedAnswer) if row.role == "coding"]
    return [next(iter(fenced_blocks(row.response)))[0] for row in rows]


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Compiles a source as a solution of `sample_neighbours`."""
    item, store = definitions()["sample_neighbours"], tmp_path_factory.mktemp("store")

    def built(source):
        solution = Solution(definition=item.name, language=Language.CPP, entry_point="launch", source=source)
        (made,) = build_all([solution], {item.name: item}, store=store, timeout_s=60, workers=1, progress=False)
        assert made.status is BuildStatus.BUILT, made.log
        return store / made.artifact

    return built


@pytest.fixture(scope="module", params=["own", "recorded"])
def kernel(request, build):
    """The sampler's own loop as a kernel, and the last version of the transcript."""
    own = kernel_solution(definitions()["sample_neighbours"], "upstream").source
    return build(own if request.param == "own" else recorded_kernels()[-1])


def batches(graph, fanouts, library, *, threads, **options):
    """All tensors of an epoch's batches: every node twice in ten batches."""
    order = torch.cat([torch.arange(len(graph.labels)), torch.arange(len(graph.labels)).flip(0)])
    found = []
    with Sampler(graph, fanouts, library, seed=11, threads=threads, **options) as sampler:
        for batch in sampler.epoch(Plan(order, 180, 3)):
            found += [tensor.clone() for tensor in (batch.nodes, *batch.device_tensors())]
            batch.release()
    return found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fanouts", FANOUTS)
def test_batches_are_bit_identical(odd_graph, library, kernel, fanouts, threads):
    expected = batches(odd_graph, fanouts, library, threads=1)
    found = batches(odd_graph, fanouts, library, threads=threads, inner_loop=kernel)
    assert len(found) == len(expected) > 10
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("design", [Design(), Design("tagged", block=0), Design("direct", block=7, fused=True)])
def test_with_any_design(odd_graph, library, kernel, design):
    expected = batches(odd_graph, (6, 4), library, threads=1, design=design)
    found = batches(odd_graph, (6, 4), library, threads=1, design=design, inner_loop=kernel)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_a_hop_of_many_rows_is_drawn_in_several_calls(odd_graph, library, kernel):
    """1,024 rows go into one call."""
    seeds = torch.arange(900)
    plain = Sampler(odd_graph, (40, 150), library).sample(seeds, 0, 0)
    drawn = Sampler(odd_graph, (40, 150), library, inner_loop=kernel).sample(seeds, 0, 0)
    assert all(torch.equal(a, b) for a, b in zip(drawn.device_tensors(), plain.device_tensors(), strict=True))


def test_the_kernel_is_what_draws_and_has_one_thread(odd_graph, library, build):
    with Sampler(odd_graph, (3,), library, inner_loop=build(THREADED), threads=2) as sampler:
        (batch,) = sampler.epoch(Plan(torch.arange(100, 160), 60))
        block = batch.blocks[0]
        assert block.indptr.diff().max() == 1
        for node, local in zip(range(100, 160), block.indptr[:-1].tolist(), strict=True):
            neighbours = odd_graph.neighbours(node)
            if len(neighbours):
                assert int(batch.nodes[block.indices[local]]) == neighbours[-1]


def test_what_is_no_kernel_is_told(odd_graph, library, tmp_path):
    with pytest.raises(MachineError, match="not a kernel that draws"):
        Sampler(odd_graph, (3,), library, inner_loop=library)
    with pytest.raises(MachineError, match=r"missing\.so"):
        Sampler(odd_graph, (3,), library, inner_loop=tmp_path / "missing.so")

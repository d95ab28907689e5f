"""A small operator in the place of the sampler's inner loop: the first neighbours of each row, as they stand."""

from hone.machine.environment import cpu_model
from hone.records import (
    Argument,
    Definition,
    Language,
    SelectedKernel,
    Selection,
    Solution,
    Tolerance,
    Upstream,
    Workload,
)

REFERENCE = """
import torch

offsets, edges, count, fanout = 5, 12, 3, 2

class Model(torch.nn.Module):
    def forward(self, indptr, indices, rows, key):
        start = indptr[rows.long()]
        degree = indptr[rows.long() + 1] - start
        place = torch.arange(fanout)
        there = place < degree[:, None]
        found = indices[torch.where(there, start[:, None] + place, 0)]
        return torch.where(there, found, -1).int(), degree.clamp(max=fanout).int()

def get_inputs():
    indptr = torch.linspace(0, edges, offsets).long()
    indices = torch.randint(offsets - 1, (edges,), dtype=torch.int32)
    return [indptr, indices, torch.randint(offsets - 1, (count,), dtype=torch.int32), 7]

def get_init_inputs():
    return []
"""
LAUNCHER = """#include <cstdint>
#include <cstdlib>
extern "C" void launch(const int64_t* indptr, const int32_t* indices, const int32_t* rows, int64_t key,
                       int32_t* neighbours, int32_t* degrees, int64_t offsets, int64_t edges, int64_t count,
                       int64_t fanout) {
    for (int64_t i = 0; i < count; ++i) {
        const int64_t start = indptr[rows[i]], degree = indptr[rows[i] + 1] - start;
        degrees[i] = degree < fanout ? degree : fanout;
        for (int64_t j = 0; j < fanout; ++j) neighbours[i * fanout + j] = j < degree ? indices[start + j] : -1;
    }
}
"""
FASTER = LAUNCHER.replace("++i", "i++")
WRONG = LAUNCHER.replace(": -1;", ": -2;")
WRONG_ON_LARGE_BATCHES = LAUNCHER.replace("degrees[i] =", "if (i < 40) degrees[i] =")
ABORTS = LAUNCHER + "__attribute__((constructor)) static void at_load() { abort(); }\n"
EXITS = LAUNCHER + "__attribute__((constructor)) static void at_load() { _Exit(0); }\n"
HANGS = LAUNCHER + "__attribute__((constructor)) static void at_load() { for (volatile int x = 0; ; x = 1) {} }\n"
NO_CPP = LAUNCHER.replace("int64_t* indptr", "int64* indptr")
OTHER_NAME = LAUNCHER.replace("void launch", "void lunch")
HERE = cpu_model()


def ids(name, axis, dtype):
    return Argument(name=name, shape=(axis,), dtype=dtype, fixed_dtype=True)


DEFINITION = Definition(
    name="ops/level1/1_sample_neighbours", source="ops", level=1, number=1, title="sample_neighbours",
    axes={"offsets": 5, "edges": 12, "count": 3, "fanout": 2},
    inputs=(
        ids("indptr", "offsets", "int64"), ids("indices", "edges", "int32"), ids("rows", "count", "int32"),
        Argument(name="key", kind="scalar", dtype="int64"),
    ),
    parameters=(),
    outputs=(
        Argument(name="neighbours", shape=("count", "fanout"), dtype="int32", fixed_dtype=True),
        ids("degrees", "count", "int32"),
    ),
    reference=REFERENCE, kernels={"upstream": LAUNCHER}, kernel_language=Language.CPP, compulsory_bytes=1, flops=0,
    upstream=Upstream(repository="local", commit="local", path="x", sha256="0" * 64),
)  # fmt: skip


def workload(name="given", held_out=False, **axes):
    return Workload(
        definition=DEFINITION.name, name=name, axes={**DEFINITION.axes, **axes}, held_out=held_out,
        tolerance=Tolerance(atol=0, rtol=0),
    )  # fmt: skip


WORKLOADS = (
    workload("large", offsets=500, edges=4000, count=90, fanout=4), workload("small", fanout=4),
    workload("held", held_out=True, count=4), workload("larger", offsets=900, edges=9000, count=99, fanout=5),
)  # fmt: skip


def solution(source):
    return Solution(definition=DEFINITION.name, language=Language.CPP, entry_point="launch", source=source)


FAST, FASTEST = solution(FASTER), solution(f"// best\n{FASTER}")
BUILTIN = solution(LAUNCHER)


def selection(source, where=HERE, artifact="builds/none/kernel.so", target="none"):
    """With two small workloads; by default nothing of it is in any store."""
    kernel = SelectedKernel(where=where, solution=solution(source), artifact=artifact, target=target)
    return Selection(
        operator="sample_neighbours", runs_on="cpu", definition=DEFINITION, workloads=WORKLOADS[1:3], kernels=(kernel,)
    )  # fmt: skip

"""Several workloads of one definition on the CPU: sizes, data types, results in place, what a trace's key covers."""

import pytest

from hone.compile.kernels import kernel_solution
from hone.core.errors import RecordError
from hone.judge import judging
from hone.judge.device.cpu import bench as cpu_bench
from hone.judge.judging import judge_all
from hone.judge.plan import make_plan
from hone.judge.verdict import Verdict
from hone.records import Build, BuildStatus, Language, Status, Tolerance, Workload
from hone.sources.gold import gold_solution
from hone.sources.workloads import moved_bytes, spread

from .conftest import QUICK, SCALE, definition, scale_definition, solution_of, tensor, workload_of

pytestmark = pytest.mark.filterwarnings("default:this machine confines")
UNTIMED = QUICK.model_copy(update={"timing": False, "correctness_trials": 1})

ADD_NORM = """
import torch
from torch import nn

ROWS = 6
COLUMNS = 40

class Model(nn.Module):
    def forward(self, x, residual, scale):
        residual.add_(x)
        x.copy_(residual.float() * scale[:, None])

def get_inputs():
    return [torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS), torch.rand(ROWS) + 1e-4]

def get_init_inputs():
    return []
"""
"""Writes two inputs in place, returns nothing, and has an input that is float32 whatever the workload's type."""

ADD_NORM_CPP = """
#include <cstdint>
template <typename T> void run(T* x, T* residual, const float* scale, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows * columns; i++) {
    residual[i] = (T)((float)x[i] + (float)residual[i]);
    x[i] = (T)((float)residual[i] * scale[i / columns]);
  }
}
"""
EXPORT = """extern "C" void launch_{dtype}({c}* x, {c}* residual, const float* scale, int64_t rows, int64_t columns) {{
  {body}
}}
"""
RUN = "run<{c}>(x, residual, scale, rows, columns);"
FLOAT = {"dtype": "float32", "c": "float"}
HALF = {"dtype": "float16", "c": "_Float16"}


def exported(*types, body=RUN):
    return ADD_NORM_CPP + "".join(EXPORT.format(**item, body=body.format(**item)) for item in types)


def add_norm(**others):
    in_place = {"in_place": True}
    return definition(
        "add_norm",
        ADD_NORM,
        {"rows": 6, "columns": 40},
        (
            tensor("x", "rows", "columns").model_copy(update=in_place),
            tensor("residual", "rows", "columns").model_copy(update=in_place),
            tensor("scale", "rows").model_copy(update={"fixed_dtype": True}),
        ),
        (),
        dtypes=("float16", "float32"),
        **others,
    )


def sized(item, name, dtype="float32", **axes):
    tolerance = Tolerance(atol=1e-2, rtol=1e-2) if dtype == "float16" else Tolerance(atol=1e-5, rtol=1e-5)
    return Workload(definition=item.name, name=name, axes={**item.axes, **axes}, dtype=dtype, tolerance=tolerance)


def three(item):
    return [sized(item, "own"), sized(item, "odd", rows=3, columns=77), sized(item, "half", "float16", rows=1)]


# ------------------------------------------------------------------------------------------- sizes and data types


def test_results_in_place_of_all_sizes_and_types(bench):
    item = add_norm()
    traces = bench.judge(item, solution_of(item, exported(FLOAT, HALF)), gold_solution(item), workload=three(item))
    assert [trace.status for trace in traces] == [Status.PASSED] * 6, [trace.detail for trace in traces]
    ids = [workload.id for workload in three(item)]
    assert [trace.workload for trace in traces] == ids * 2
    assert len({trace.solution for trace in traces[:3]}) == 1
    assert all(trace.performance.solution.latency_ms > 0 for trace in traces)
    assert traces[0].errors.wrong_fraction == 0


def test_large_results_in_place_are_not_shared(bench, monkeypatch):
    monkeypatch.setattr("hone.judge.plan.SHARED_INPUT_BYTES", 0)
    item = add_norm()
    (trace,) = bench.judge(item, solution_of(item, exported(FLOAT)), workload=sized(item, "own"))
    assert trace.status is Status.PASSED, trace.detail


def test_a_missing_launcher_fails_its_workloads_alone(bench):
    item = add_norm()
    traces = bench.judge(item, solution_of(item, exported(FLOAT)), protocol=UNTIMED, workload=three(item))
    assert [trace.status for trace in traces] == [Status.PASSED, Status.PASSED, Status.LOAD_ERROR]
    assert "launch_float16" in traces[2].detail


WRONG = {
    "nothing": ("", Status.WRONG_VALUE, "x[0, 0]"),
    "second": (RUN + " x[1] += 1;", Status.WRONG_VALUE, "x[0, 1]"),
    "residual": (RUN + " residual[rows * columns - 1] += 1;", Status.WRONG_VALUE, "residual[5, 39]"),
    "const": (RUN + " ((float*)scale)[0] = 2;", Status.INPUT_CHANGED, "scale"),
    "beyond": (RUN + " residual[rows * columns] = 1;", Status.RUNTIME_ERROR, "outside"),
    "own size": ("run<{c}>(x, residual, scale, 6, 40);", None, ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_results_in_place(bench, name):
    body, status, words = WRONG[name]
    item = add_norm()
    workloads = [sized(item, "own"), sized(item, "odd", rows=3, columns=77)]
    kernel = solution_of(item, exported(FLOAT, body=body))
    own, odd = bench.judge(item, kernel, protocol=UNTIMED, workload=workloads)
    assert own.status is (status or Status.PASSED), own.detail
    assert words in own.detail
    assert odd.status is not Status.PASSED


def test_modules_write_in_place_too(bench):
    item = add_norm()
    lazy = gold_solution(item).model_copy(update={"source": gold_solution(item).source.replace("x.copy_(", "(")})
    (trace,) = bench.judge(item, lazy, protocol=UNTIMED, workload=sized(item, "own"))
    assert trace.status is Status.WRONG_VALUE
    returns = gold_solution(item).source.replace("x.copy_(", "return x.copy_(")
    (trace,) = bench.judge(
        item, lazy.model_copy(update={"source": returns}), protocol=UNTIMED, workload=sized(item, "own")
    )
    assert trace.status is Status.WRONG_SHAPE
    assert "1 outputs, expected 0" in trace.detail


# --------------------------------------------------------------------------------- what cannot be judged, and order


def test_one_workload_that_cannot_be_judged_leaves_the_others(bench):
    item = add_norm()
    workloads = [
        sized(item, "large", columns=1 << 27),
        sized(item, "type", dtype="bfloat16"),
        sized(item, "axes").model_copy(update={"axes": {"rows": 1}}),
        sized(item, "own"),
    ]
    kernels = [solution_of(item, exported(FLOAT)), gold_solution(item)]
    traces = bench.judge(item, *kernels, protocol=UNTIMED, workload=workloads)
    expected = [Status.NOT_JUDGED] * 3 + [Status.PASSED]
    assert [trace.status for trace in traces] == expected * 2
    assert [words in trace.detail for words, trace in zip(("GiB", "bfloat16", "rows"), traces, strict=False)] == [1] * 3


def test_sizes_without_a_constant_are_refused():
    item = scale_definition()
    with pytest.raises(Verdict, match="no constant for rows"):
        make_plan(item, sized(item, "other", rows=5), QUICK)
    own = scale_definition(reference=f"ROWS, DIM = 64, 256\n{SCALE}", flops=7)
    plan = make_plan(own, sized(own, "other", rows=5), QUICK)
    assert (plan.definition.axes, plan.definition.flops) == ({"rows": 5, "columns": 256}, 0)
    assert make_plan(own, workload_of(own), QUICK).definition.flops == 7
    assert plan.native_signature()[-2:] == [{"name": "rows", "value": 5}, {"name": "columns", "value": 256}]


def test_references_are_loaded_once_for_each_workload(bench, monkeypatch):
    made, original = [], cpu_bench.Reference.__init__
    monkeypatch.setattr(
        cpu_bench.Reference,
        "__init__",
        lambda self, zygote, plan, *others, **named: (
            made.append(plan.workload.name) or original(self, zygote, plan, *others, **named)
        ),
    )
    item = add_norm()
    kernels = [solution_of(item, exported(FLOAT, HALF)), gold_solution(item)]
    bench.judge(item, *kernels, protocol=UNTIMED, workload=three(item))
    assert made == ["own", "odd", "half"]
    bench.judge(item, *kernels, protocol=UNTIMED, workload=[*three(item), sized(item, "more", rows=2)])
    assert made == ["own", "odd", "half", "more"]


def test_a_definition_without_workloads_is_an_error(tmp_path):
    item = add_norm()
    kernel = gold_solution(item)
    builds = {kernel.id: Build(solution=kernel.id, status=BuildStatus.INTERPRETED)}
    with pytest.raises(RecordError, match="no workload"):
        judge_all([kernel], builds, {item.name: item}, {item.name: []}, QUICK, store=tmp_path)


# ----------------------------------------------------------------------------------------------------- keys, sizes


def key(item, workload, builds=None, baselines=("torch_eager", "upstream")):
    kernel = solution_of(item, exported(FLOAT))
    build = Build(solution=kernel.id, status=BuildStatus.REJECTED)
    cases = judging.Cases(
        {kernel.id: build, **(builds or {})}, {item.name: item}, {item.name: [workload]}, QUICK, baselines, None
    )
    (case,) = cases.of(kernel)
    return judging.trace_key(case, QUICK, baselines)


def test_keys_cover_baseline_kernels_and_their_flags():
    plain = add_norm()
    item = add_norm(kernels={"upstream": "// one", "current": "// two"}, kernel_language=Language.CPP)
    kernel = kernel_solution(item, "upstream")

    def built(*command):
        return {kernel.id: Build(solution=kernel.id, status=BuildStatus.REJECTED, command=command)}

    own = sized(item, "own")
    found = {
        key(plain, own),
        key(item, own, built("g++", "-O3")),
        key(item, own, built("g++", "-O2")),
        key(item, own, built("g++", "-O3"), ("upstream",)),
    }
    assert len(found) == 4
    assert key(plain, own) == key(plain, own, baselines=("torch_eager",))  # it has no such kernel
    assert key(plain, own) == key(item, own, baselines=("torch_eager",))  # it is not asked for
    with pytest.raises(RecordError, match="kernel upstream"):
        key(item, own)


def test_held_out_is_no_part_of_id_or_key():
    item = add_norm()
    own = sized(item, "own")
    hidden = own.model_copy(update={"held_out": True})
    assert own.id == hidden.id
    assert key(item, own) == key(item, hidden)
    assert key(item, own) != key(item, sized(item, "own", rows=7))


def test_moved_bytes():
    item = add_norm()
    assert moved_bytes(item, sized(item, "own")) == 4 * (4 * 6 * 40 + 6)
    assert moved_bytes(item, sized(item, "half", "float16", rows=2, columns=8)) == 2 * 4 * 16 + 4 * 2


def test_workloads_that_a_search_times_lie_between_the_fewest_and_the_most_bytes():
    item = add_norm()
    given = [sized(item, f"rows_{rows}", rows=rows) for rows in (30, 10, 50, 20, 40)]

    def rows(number):
        return [workload.axes["rows"] for workload in spread(item, given, number)]

    assert rows(2) == [10, 50]
    assert rows(3) == [30, 10, 50]
    assert rows(1) == [30]
    assert rows(4) == [30, 10, 50, 20]
    assert rows(5) == rows(9) == rows(None) == [30, 10, 50, 20, 40]

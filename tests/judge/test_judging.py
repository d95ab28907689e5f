"""Whole judgements: honest solutions, the machine's own failures, the store, interrupts."""

import warnings

import pytest

from hone.compile import build_all
from hone.compile.toolchain import cpu_target
from hone.core import scratch
from hone.core.errors import RecordError
from hone.judge import case as cases
from hone.judge import judging
from hone.judge.case import Case
from hone.judge.device.cpu import bench as cpu_bench
from hone.judge.judging import judge_all
from hone.judge.verdict import Verdict
from hone.machine.confinement import FULL, Shortfall
from hone.machine.environment import environment_of
from hone.records import AsPublished, Build, BuildStatus, Language, Status
from hone.sources.gold import gold_solution

from .conftest import (
    MATMUL,
    QUICK,
    SCALE,
    definition,
    matmul_definition,
    scale_definition,
    solution_of,
    tensor,
    workload_of,
)

pytestmark = pytest.mark.filterwarnings("default:this machine confines")
UNTIMED = QUICK.model_copy(update={"timing": False, "correctness_trials": 1})

SCALE_CPP = """
#include <cmath>
#include <cstdint>
extern "C" void launch(const float* x, const float* weight, float* out, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows * columns; i++) out[i] = weight[i % columns] / (1.0f + std::exp(-x[i]));
}
"""


def only(traces):
    (trace,) = traces
    return trace


PUBLISHED = AsPublished(
    version="v0", trials=1, solution_ms=1.0, baselines_ms={"torch_eager": 3.0}, solution_wall_ms=1.0
)


class Says:
    """A session that finds this out about every solution."""

    def __init__(self, status, as_published, device):
        self.status, self.as_published = status, as_published
        self.protocol = QUICK.model_copy(update={"device": device})

    def examine(self, _, findings):
        findings.status_as_published = self.as_published
        findings.as_published = PUBLISHED
        if self.status is not Status.PASSED:
            raise Verdict(self.status, "it")


@pytest.mark.parametrize(
    ("status", "found", "published"),
    [
        (Status.PASSED, Status.PASSED, Status.PASSED),
        (Status.PASSED, Status.WRONG_VALUE, Status.WRONG_VALUE),  # right with what is added for rounding
        (Status.IMPRECISE, Status.PASSED, Status.PASSED),
        (Status.WRONG_VALUE, Status.PASSED, Status.PASSED),  # on other values
        (Status.RUNTIME_ERROR, None, Status.RUNTIME_ERROR),  # before any trial
        (Status.NOT_JUDGED, Status.PASSED, None),
        (Status.MACHINE_ERROR, None, None),
    ],
)
def test_kernelbenchs_verdict_stands_beside_ours(monkeypatch, status, found, published):
    item = scale_definition()
    solution = gold_solution(item)
    environment = environment_of(QUICK.device)
    monkeypatch.setattr(judging, "environment_of", lambda _: environment)
    case = Case(solution, Build(solution=solution.id, status=BuildStatus.INTERPRETED), item, workload_of(item), None)
    trace = judging.judge_one(case, Says(status, found, "cuda"))
    assert (trace.status, trace.status_as_published) == (status, published)
    assert (trace.as_published is None) == (Status.PASSED not in (status, published))
    assert judging.judge_one(case, Says(status, found, "cpu")).status_as_published is None


def test_what_fails_at_held_out_sizes_alone_says_nothing_about_kernelbenchs_rule(monkeypatch):
    class AtHeldOut(Says):
        def examine(self, case, findings):
            findings.only_held_out = True
            super().examine(case, findings)

    item = scale_definition()
    environment = environment_of(QUICK.device)
    monkeypatch.setattr(judging, "environment_of", lambda _: environment)
    solution = gold_solution(item)
    case = Case(solution, Build(solution=solution.id, status=BuildStatus.INTERPRETED), item, workload_of(item), None)
    trace = judging.judge_one(case, AtHeldOut(Status.WRONG_VALUE, None, "cuda"))
    assert (trace.status, trace.status_as_published) == (Status.WRONG_VALUE, None)


def test_honest_solutions_pass(bench):
    item = scale_definition()
    native, module = bench.judge(item, solution_of(item, SCALE_CPP), gold_solution(item))
    assert (native.status, module.status) == (Status.PASSED, Status.PASSED)
    assert module.errors.max_abs_error == 0
    assert 0 < native.errors.max_abs_error < 1e-5
    assert 3 <= len(native.performance.solution.samples_ms) <= QUICK.timing_runs
    assert set(native.performance.baselines) == {"torch_eager"}
    assert native.environment.device and native.environment.torch
    assert set(native.environment.confinement) <= set(FULL)
    assert {"memory_limit", "own_session", "clean_environment"} <= set(native.environment.confinement)
    assert {"inputs", "reference", "load", "correctness", "timing"} <= set(native.phase_s)


def test_gold_of_several_inputs_and_profile(bench):
    protocol = UNTIMED.model_copy(update={"profile": True})
    trace = only(bench.judge(matmul_definition(), gold_solution(matmul_definition()), protocol=protocol))
    assert trace.status is Status.PASSED
    assert trace.performance is None
    assert "aten::" in trace.profile


def test_random_operators_agree(bench):
    source = SCALE.replace("return torch", "return nn.functional.dropout(x, 0.5) + torch")
    item = scale_definition(reference=source)
    trace = only(bench.judge(item, gold_solution(item), protocol=QUICK))
    assert trace.status is Status.PASSED
    assert trace.errors.max_abs_error == 0


def test_a_reference_that_writes_to_its_input_allows_it(bench):
    item = scale_definition(reference=SCALE.replace("torch.sigmoid(x)", "x.sigmoid_()"))
    trace = only(bench.judge(item, gold_solution(item), protocol=QUICK))
    assert trace.status is Status.PASSED


def test_large_inputs_are_shared(bench, monkeypatch):
    monkeypatch.setattr("hone.judge.plan.SHARED_INPUT_BYTES", 0)
    item = scale_definition(reference=SCALE.replace("torch.sigmoid(x)", "x.sigmoid_()"))
    assert only(bench.judge(item, gold_solution(item))).status is Status.PASSED


def test_half_precision_and_numbers_by_value(bench):
    source = MATMUL.replace("def forward(self, a, b):", "def forward(self, a, factor, b):")
    source = source.replace("torch.matmul(a, b)", "(a @ b) * factor").replace(", torch.rand(128", ", 3, torch.rand(128")
    inputs = (tensor("a", "rows", "inner"), tensor("factor", dtype="int64"), tensor("b", "inner", "columns"))
    inputs = (inputs[0], inputs[1].model_copy(update={"kind": "scalar"}), inputs[2])
    plain = matmul_definition()
    item = definition("matmul", source, plain.axes, inputs, plain.outputs)
    workload = workload_of(item, dtype="bfloat16", tolerance=1e-2)
    trace = only(bench.judge(item, gold_solution(item), protocol=UNTIMED, workload=workload))
    assert trace.status is Status.PASSED
    native = """#include <cstdint>
extern "C" void launch(const float* a, int64_t factor, const float* b, float* out, int64_t m, int64_t k, int64_t n) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
      for (int64_t l = 0; l < k; l++) sum += a[i * k + l] * b[l * n + j];
      out[i * n + j] = sum * factor;
    }
}
"""
    trace = only(bench.judge(item, solution_of(item, native), protocol=UNTIMED))
    assert trace.status is Status.PASSED, trace.detail


# ------------------------------------------------------------------------- not the solution's fault, not kept


FAILING = {
    "raises": ("raise ValueError('broken')", "machine_error", "broken"),
    "package": ("import no_such_package_x", "not_judged", "no_such_package_x"),
    "slow": ("import time; time.sleep(60)", "not_judged", "over 0.5 s"),
    "large": ("torch.ones(1 << 40)", "not_judged", "GiB"),
    "exits": ("import os; os._exit(3)", "machine_error", "status 3"),
}


def test_failing_references(bench):
    protocol = UNTIMED.model_copy(update={"run_timeout_s": 0.5})
    items = {
        name: scale_definition(reference=SCALE.replace("return torch.sigmoid", f"{code}\n        return torch.sigmoid"))
        for name, (code, _, _) in FAILING.items()
    }
    items["shape"] = scale_definition(reference=SCALE.replace("randn(64,", "randn(63,"))
    items = {name: item.model_copy(update={"name": f"hand/level1/{name}"}) for name, item in items.items()}
    solutions = [make(item) for item in items.values() for make in (gold_solution, native_solution)]
    traces = bench.judge_many(items.values(), solutions, protocol=protocol)
    for name, (_, status, words) in {**FAILING, "shape": ("", "machine_error", "expected float32 [64, 256]")}.items():
        found = [trace for trace in traces if trace.definition.endswith(name)]
        assert [trace.status for trace in found] == [status, status], found
        assert words in found[0].detail
    assert not list((bench.store / "traces").rglob("*.json"))


def native_solution(item):
    return solution_of(item, SCALE_CPP)


def test_work_beyond_the_machine_is_not_tried(bench):
    item = scale_definition(flops=10**18)
    trace = only(bench.judge(item, gold_solution(item), protocol=UNTIMED))
    assert trace.status is Status.NOT_JUDGED
    assert "GFLOP/s" in trace.detail


@pytest.mark.parametrize(
    ("language", "build_status", "status"),
    [
        (Language.CPP, BuildStatus.REJECTED, Status.COMPILE_ERROR),
        (Language.CUDA, BuildStatus.REJECTED, Status.COMPILE_ERROR),
        (Language.PYTHON, BuildStatus.REJECTED, Status.LOAD_ERROR),
        (Language.CPP, BuildStatus.TIMEOUT, Status.COMPILE_ERROR),
        (Language.CPP, BuildStatus.NO_COMPILER, Status.MACHINE_ERROR),
        (Language.CUDA, BuildStatus.BUILT, Status.NOT_JUDGED),
        (Language.TRITON, BuildStatus.INTERPRETED, Status.NOT_JUDGED),
        (Language.CPP, BuildStatus.BUILT, Status.MACHINE_ERROR),  # its artifact is gone
    ],
)
def test_statuses_that_follow_from_the_build(tmp_path, language, build_status, status):
    item = scale_definition()
    solution = solution_of(item, "text", language)
    artifact = "builds/none.so" if build_status is BuildStatus.BUILT else None
    build = Build(solution=solution.id, status=build_status, artifact=artifact, log="x\nx: error: so\n")
    known, loads = {item.name: item}, {item.name: [workload_of(item)]}
    trace = only(judge_all([solution], {solution.id: build}, known, loads, QUICK, store=tmp_path, progress=False))
    assert trace.status is status
    assert trace.detail


def test_missing_records_are_named(tmp_path):
    item = scale_definition()
    solution = solution_of(item, "text")
    with pytest.raises(RecordError, match="build"):
        judge_all([solution], {}, {item.name: item}, {item.name: [workload_of(item)]}, QUICK, store=tmp_path)


# ---------------------------------------------------------------------------------------------------- store


def test_known_traces_are_not_judged_again(bench, monkeypatch):
    item = scale_definition()
    wrong = solution_of(item, "not C++")
    first = bench.judge(item, wrong, solution_of(item, SCALE_CPP), protocol=UNTIMED)
    monkeypatch.setattr(judging, "judge_one", lambda *_: pytest.fail("judged again"))
    assert bench.judge(item, wrong, solution_of(item, SCALE_CPP), protocol=UNTIMED) == first
    with pytest.raises(pytest.fail.Exception, match="judged again"):
        bench.judge(item, wrong, protocol=UNTIMED.model_copy(update={"correctness_trials": 3}))
    with pytest.raises(pytest.fail.Exception, match="judged again"):
        bench.judge(item, wrong, protocol=UNTIMED, again=True)


def test_no_device_is_waited_for_where_all_verdicts_are_known(bench, monkeypatch):
    item = scale_definition()
    first = bench.judge(item, solution_of(item, SCALE_CPP), protocol=UNTIMED)
    monkeypatch.setattr(judging, "Session", lambda *_: pytest.fail("opened the device"))
    assert bench.judge(item, solution_of(item, SCALE_CPP), protocol=UNTIMED) == first


def test_what_another_process_judged_meanwhile_stands(bench, monkeypatch):
    item = scale_definition()
    judge_one, judged = judging.judge_one, []

    def judge_beside_another(case, current):
        """While the first solution is judged here, both are judged elsewhere."""
        judged.append(case)
        if len(judged) == 1:
            elsewhere.extend(bench.judge(item, *solutions, protocol=QUICK))
        return judge_one(case, current)

    solutions, elsewhere = [solution_of(item, f"{SCALE_CPP}// {number}") for number in range(2)], []
    monkeypatch.setattr(judging, "judge_one", judge_beside_another)
    here = bench.judge(item, *solutions, protocol=QUICK)
    assert [trace.status for trace in here] == [Status.PASSED] * 2
    assert here == elsewhere  # times and all
    assert len(judged) == 3  # one, two elsewhere; the second is found when its turn comes
    assert bench.judge(item, *solutions, protocol=QUICK) == here
    assert only(bench.judge(item, solutions[0], protocol=QUICK, again=True)) != here[0]
    assert bench.judge(item, solutions[0], protocol=QUICK) != here[:1]  # the newer one is kept


def test_a_verdict_of_another_process_goes_before_a_broken_machine(bench, monkeypatch):
    item = scale_definition()
    solution, judge_one = solution_of(item, SCALE_CPP), judging.judge_one

    def broken(case, current):
        monkeypatch.setattr(judging, "judge_one", judge_one)
        elsewhere.extend(bench.judge(item, solution, protocol=UNTIMED))
        return elsewhere[0].model_copy(update={"status": Status.MACHINE_ERROR})

    elsewhere = []
    monkeypatch.setattr(judging, "judge_one", broken)
    assert bench.judge(item, solution, protocol=UNTIMED) == elsewhere
    assert only(elsewhere).status is Status.PASSED


def test_what_a_killed_run_left_is_removed_even_where_all_verdicts_are_known(bench, monkeypatch, tmp_path):
    item = scale_definition()
    bench.judge(item, solution_of(item, "not C++"), protocol=UNTIMED)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / f"hone-judge-{scratch._host()}-left"
    left.mkdir()
    bench.judge(item, solution_of(item, "not C++"), protocol=UNTIMED)
    assert not left.exists()


def test_an_interrupt_loses_nothing_that_was_judged(bench, monkeypatch):
    item = scale_definition()
    solutions = [solution_of(item, f"not C++ {number}") for number in range(3)]
    judge_one, judged = judging.judge_one, []

    def interrupted(case, current):
        if len(judged) == 2:
            raise KeyboardInterrupt
        judged.append(case)
        return judge_one(case, current)

    monkeypatch.setattr(judging, "judge_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bench.judge(item, *solutions)
    judged.clear()
    bench.judge(item, *solutions)
    assert len(judged) == 1


def test_weak_confinement_is_warned_about_once(monkeypatch):
    current = Shortfall()
    with pytest.warns(RuntimeWarning, match="no_network"):
        current.warn_once([part for part in FULL if part != "no_network"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        current.warn_once([])
        Shortfall().warn_once(FULL)


def test_runners_get_as_many_cpus_as_threads():
    assert len(cpu_bench.runner_cpus(QUICK)) in (0, 1)
    assert cpu_bench.runner_cpus(UNTIMED) == []


# --------------------------------------------------------------------------- other machines, keys of the store


def test_a_build_for_another_machine_is_not_judged(bench, tmp_path):
    item = scale_definition()
    solution = solution_of(item, SCALE_CPP)
    (build,) = build_all([solution], {item.name: item}, store=tmp_path, timeout_s=60, workers=1, progress=False)
    known, loads = {item.name: item}, {item.name: [workload_of(item)]}
    builds = {solution.id: build.model_copy(update={"target": "another CPU"})}
    trace = only(judge_all([solution], builds, known, loads, UNTIMED, store=tmp_path, progress=False))
    assert trace.status is Status.MACHINE_ERROR
    assert trace.detail.startswith("built for another CPU, this machine is ") and cpu_target() in trace.detail


def test_a_slow_compiler_is_not_held_against_the_source_for_good(tmp_path):
    item = scale_definition()
    solution = solution_of(item, "text")
    build = Build(solution=solution.id, status=BuildStatus.TIMEOUT, log="the compiler took over 1 s")
    known, loads = {item.name: item}, {item.name: [workload_of(item)]}
    judge_all([solution], {solution.id: build}, known, loads, QUICK, store=tmp_path, progress=False)
    assert not list(tmp_path.rglob("*.json"))


def key_of(item, protocol=QUICK, target="x"):
    solution = solution_of(item, "text")
    build = Build(solution=solution.id, status=BuildStatus.REJECTED, target=target)
    return judging.trace_key(cases.Case(solution, build, item, workload_of(item), None), protocol, ["torch_eager"])


def test_only_what_is_executed_is_part_of_the_key():
    item = scale_definition()
    key = key_of(item)
    upstream = item.upstream.model_copy(update={"repository": "elsewhere"})
    renamed = item.model_copy(update={"upstream": upstream, "title": "t", "source": "s", "number": 7})
    assert key_of(renamed, QUICK.model_copy(update={"name": "other", "build_timeout_s": 1.0})) == key
    assert key_of(item.model_copy(update={"reference": "other"})) != key
    assert key_of(item.model_copy(update={"flops": 3})) != key
    assert key_of(item.model_copy(update={"held_out": ({"rows": 7},)})) != key
    assert key_of(item, QUICK.model_copy(update={"threads": 2})) != key
    assert key_of(item, target="y") != key


def test_a_kept_trace_comes_with_the_protocols_present_name(bench, monkeypatch):
    item = scale_definition()
    bench.judge(item, solution_of(item, "not C++"))
    monkeypatch.setattr(judging, "judge_one", lambda *_: pytest.fail("judged again"))
    renamed = QUICK.model_copy(update={"name": "renamed"})
    assert only(bench.judge(item, solution_of(item, "not C++"), protocol=renamed)).protocol == renamed


NEEDS_GPU = SCALE.replace("class Model(", "class ModelNew(").replace("torch.sigmoid(x)", "torch.sigmoid(x.cuda())")


def test_what_needs_a_gpu_is_not_judged_and_the_next_solution_is(bench, monkeypatch):
    monkeypatch.setattr("hone.judge.needs.sees_gpu", lambda: False)
    item = scale_definition()
    raising = (
        NEEDS_GPU.replace("x.cuda()", "fail()") + "\ndef fail():\n    raise RuntimeError('Found no NVIDIA driver')"
    )
    sources = [solution_of(item, text, Language.PYTHON) for text in (NEEDS_GPU, raising)]
    *needy, good = bench.judge(item, *sources, gold_solution(item), protocol=UNTIMED)
    assert [trace.status for trace in needy] == [Status.NOT_JUDGED] * 2, [trace.detail for trace in needy]
    assert all("no GPU on this machine" in trace.detail for trace in needy)
    assert good.status is Status.PASSED


@pytest.mark.parametrize("failure", ["time.sleep(30)", "os._exit(3)", "raise ValueError('no compiler')"])
def test_a_failing_baseline_compiler_costs_that_baseline_only(bench, monkeypatch, failure):
    monkeypatch.setattr("hone.judge.device.cpu.reference.COMPILE_TIMEOUT_S", 0.5)
    item = scale_definition(
        reference=f"{SCALE}\nimport os, time\ndef broken(*_, **__):\n    {failure}\ntorch.compile = broken\n"
    )
    native, module = bench.judge(
        item, solution_of(item, SCALE_CPP), gold_solution(item).model_copy(update={"source": GOLD}),
        baselines=("torch_eager", "torch_compile"),
    )  # fmt: skip
    for trace in (native, module):
        assert trace.status is Status.PASSED, trace.detail
        assert trace.detail.startswith("the baseline torch_compile could not be prepared")
        assert set(trace.performance.baselines) == {"torch_eager"}


GOLD = SCALE.replace("class Model(", "class ModelNew(")


def test_an_error_of_the_machinery_is_the_machines(bench, monkeypatch):
    def broken(*_):
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr("hone.judge.device.cpu.bench.Subject", broken)
    item = scale_definition()
    trace = only(bench.judge(item, gold_solution(item), protocol=UNTIMED))
    assert trace.status is Status.MACHINE_ERROR
    assert "Bad file descriptor" in trace.detail

"""Existing kernels as baselines on the CPU: right ones are timed, others cost themselves only."""

import pytest

from hone.compile.kernels import kernel_solution
from hone.core.errors import MachineError
from hone.judge.baselines import BaselineFailedError, KernelBaselines, blamed_on
from hone.judge.device.cpu import bench as cpu_bench
from hone.judge.device.cpu.side import Subject
from hone.judge.protocols import hone as protocol
from hone.judge.verdict import Verdict
from hone.records import Status
from hone.sources.gold import gold_solution

from .conftest import QUICK, scale_definition, solution_of, workload_of
from .test_judging import SCALE_CPP, only
from .test_workloads import FLOAT, HALF, add_norm, exported, sized

pytestmark = pytest.mark.filterwarnings("default:this machine confines")
ALL = ("torch_eager", "upstream", "current")
OTHER = f"{SCALE_CPP}// current\n"
HEAD = SCALE_CPP.partition("{")[0].rpartition('extern "C"')[0]
ARGUMENTS = "(const float* x, const float* weight, float* out, int64_t rows, int64_t columns)"


def item_with(upstream=SCALE_CPP, current=OTHER, **others):
    return scale_definition(kernels={"upstream": upstream, "current": current}, kernel_language="cpp", **others)


def baselines(trace):
    assert trace.status is Status.PASSED, trace.detail
    return set(trace.performance.baselines)


@pytest.mark.parametrize("wanted", [ALL, ("upstream",), ("current", "torch_eager"), ()])
def test_the_baselines_that_are_wanted_are_timed_and_no_others(bench, wanted):
    item = item_with()
    native, module = bench.judge(item, solution_of(item, SCALE_CPP), gold_solution(item), baselines=wanted)
    for trace in (native, module):
        assert baselines(trace) == set(wanted)
        assert trace.detail == ""
        counts = {len(timing.samples_ms) for timing in trace.performance.baselines.values()}
        assert counts <= {len(trace.performance.solution.samples_ms)}


def test_a_kernel_is_judged_beside_itself(bench):
    item = item_with()
    trace = only(bench.judge(item, kernel_solution(item, "upstream"), baselines=ALL))
    assert baselines(trace) == set(ALL)


def test_what_a_definition_lacks_is_left_out(bench):
    item = scale_definition()
    assert baselines(only(bench.judge(item, gold_solution(item), baselines=ALL))) == {"torch_eager"}
    cuda = scale_definition(kernels={"upstream": "no C++"}, kernel_language="cuda")
    trace = only(bench.judge(cuda, gold_solution(cuda), baselines=ALL))
    assert (baselines(trace), trace.detail) == ({"torch_eager"}, "")


BROKEN = {
    "refused": ("no C++", "compile_error"),
    "no symbol": ('extern "C" void other() {}', "load_error: no function launch"),
    "wrong": (SCALE_CPP.replace("1.0f +", "1.1f +"), "wrong_value"),
    "other input": (f'{HEAD}extern "C" void launch{ARGUMENTS} {{ const_cast<float*>(x)[0] = 1; }}', "input_changed"),
    "crash": (f'{HEAD}extern "C" void launch{ARGUMENTS} {{ __builtin_trap(); }}', "runtime_error"),
    "hang": (f'{HEAD}extern "C" void launch{ARGUMENTS} {{ for (;;) asm volatile(""); }}', "timeout"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_kernel_that_fails_costs_that_baseline_only(bench, name):
    source, words = BROKEN[name]
    item = item_with(upstream=source)
    protocol = QUICK.model_copy(update={"run_timeout_s": 0.5})
    solutions = [solution_of(item, SCALE_CPP), gold_solution(item)]
    for trace in bench.judge(item, *solutions, baselines=ALL, protocol=protocol):
        assert baselines(trace) == {"torch_eager", "current"}
        assert trace.detail.startswith(f"the baseline upstream is of no use, {words}")
    assert not list((bench.store / "traces").rglob("*.json"))  # the baseline may be there next time


def test_kernels_write_in_place_and_have_a_launcher_for_each_type(bench):
    source = exported(FLOAT, HALF)
    item = add_norm(kernels={"upstream": source}, kernel_language="cpp")
    loads = [sized(item, "float", rows=9), sized(item, "half", "float16")]
    for trace in bench.judge(item, kernel_solution(item, "upstream"), workload=loads, baselines=ALL):
        assert (baselines(trace), trace.detail) == ({"torch_eager", "upstream"}, "")
    lacks_half = add_norm(kernels={"upstream": exported(FLOAT)}, kernel_language="cpp")
    _, half = bench.judge(lacks_half, solution_of(lacks_half, source), workload=loads, baselines=ALL)
    assert baselines(half) == {"torch_eager"}
    assert "no function launch_float16" in half.detail


def test_large_inputs_reach_kernels_too(bench, monkeypatch):
    monkeypatch.setattr("hone.judge.plan.SHARED_INPUT_BYTES", 0)
    item = item_with()
    assert baselines(only(bench.judge(item, solution_of(item, SCALE_CPP), baselines=ALL))) == set(ALL)


def test_a_kernel_that_tires_is_dropped_and_times_are_taken_again(bench):
    count = "static int calls; if (++calls > 3) __builtin_trap(); for (int64_t i"
    item = item_with(upstream=SCALE_CPP.replace("for (int64_t i", count, 1))
    first, second = bench.judge(item, solution_of(item, SCALE_CPP), gold_solution(item), baselines=ALL)
    for trace in (first, second):
        assert baselines(trace) == {"torch_eager", "current"}
        assert trace.detail.startswith("the baseline upstream failed when it was timed: killed by")
        assert len(trace.performance.solution.samples_ms) >= protocol.LEAST_TIMED_RUNS


def test_kernels_are_checked_once_for_all_solutions_of_a_workload(bench, monkeypatch):
    started = []

    def noted(*arguments):
        started.append(arguments[3].source)
        return Subject(*arguments)

    monkeypatch.setattr(cpu_bench, "Subject", noted)
    item = item_with()
    sources = [f"{SCALE_CPP}// {number}\n" for number in range(3)]
    bench.judge(item, *(solution_of(item, source) for source in sources), baselines=ALL)
    assert sorted(started) == sorted([*sources, SCALE_CPP, OTHER])


def test_nothing_is_started_where_no_times_are_taken(bench, monkeypatch):
    monkeypatch.setattr(cpu_bench, "KernelBaselines", lambda *_: pytest.fail("started"))
    item = item_with()
    untimed = QUICK.model_copy(update={"timing": False})
    assert only(bench.judge(item, gold_solution(item), baselines=ALL, protocol=untimed)).performance is None


# ------------------------------------------------------------------------------------------------ who is blamed


class Process:
    """A kernel's process, or a reference's."""

    alive = True

    def close(self):
        self.alive = False


def test_processes_end_when_one_cannot_start():
    made = [Process()]

    def start(name):
        if name == "second":
            raise MachineError("no process")
        return made[0]

    with pytest.raises(MachineError):
        KernelBaselines(["first", "second"], start, Process())
    assert not made[0].alive


def test_the_death_of_the_reference_is_no_kernels_failure():
    verdict, dead = Verdict(Status.MACHINE_ERROR, "the reference's process failed"), Process()
    dead.close()

    def start(_):
        raise verdict

    assert set(KernelBaselines(["a"], start, Process()).problems) == {"a"}
    for reference, expected in ((Process(), BaselineFailedError), (dead, Verdict)):
        with pytest.raises(expected), blamed_on("a", reference):
            raise verdict
    with pytest.raises(Verdict):
        KernelBaselines(["a"], start, dead)


def test_workloads_have_kernels_of_their_own(bench):
    item = item_with()
    other = workload_of(item, tolerance=1e-3).model_copy(update={"name": "loose"})
    traces = bench.judge(item, solution_of(item, SCALE_CPP), workload=[workload_of(item), other], baselines=ALL)
    assert [baselines(trace) for trace in traces] == [set(ALL)] * 2

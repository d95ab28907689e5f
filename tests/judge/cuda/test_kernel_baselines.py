"""Existing kernels as baselines on a GPU: timed like solutions, on a simulated GPU and in the real hosts."""

import ctypes
import os
import subprocess

import pytest

from hone.compile.kernels import kernel_solution
from hone.judge.baselines import BaselineFailedError, BesideError
from hone.judge.case import Case
from hone.judge.child.cuda.candidate import CandidateHost
from hone.judge.child.cuda.reference import ReferenceHost
from hone.judge.clocks.busy import BUSY_BATCHES
from hone.judge.device.cuda import driver, kept
from hone.judge.device.cuda.batches import STREAM
from hone.judge.device.cuda.bench import CudaBench
from hone.judge.device.cuda.plan import make_device_plan
from hone.judge.device.cuda.reference import GRAPH_BELOW_MS, DeviceReference
from hone.judge.device.cuda.sets import BatchShape
from hone.judge.device.cuda.side import DeviceSubject
from hone.judge.device.cuda.timing import DeviceTiming
from hone.judge.device.cuda.ways import ALL_MODES
from hone.judge.findings import Findings
from hone.judge.verdict import Verdict
from hone.records import Argument, Build, BuildStatus, Status, Tolerance
from hone.sources.gold import gold_solution

from ..conftest import solution_of, tensor, workload_of
from .bench import FakeRunner, free_bytes_for
from .fakes import AFTER, GPU, PROTOCOL, QUEUED_MS, Honest
from .rigs import HONEST, MODES_OF, SETS, problem
from .sessions import FakeZygote, fake_session

# ------------------------------------------------------------------------------------------------ simulated GPU

LONG, SHORT, TINY = 450.0, 0.1, 0.02
MODES = pytest.mark.parametrize(("mode", "run_ms"), [("stream", LONG), ("graph", SHORT)])


def beside(made, kernel=Honest, run_ms=0.1):
    """An existing kernel's process on the bench's GPU, loaded."""
    channel = FakeRunner(kernel(made.device, run_ms), made.device)
    subject = DeviceSubject(
        channel, GPU.uuid, made.protocol, solution_of(made.reference.plan.definition, ""),
        artifact="upstream.so", extensions={},
    )  # fmt: skip
    subject.attach(made.reference)
    subject.load(made.reference.plan)
    gated = "graph" if kernel.captures else "queued"  # as a rehearsal would find
    subject.shape = BatchShape(gated, made.reference.sets) if run_ms <= GRAPH_BELOW_MS else STREAM
    return subject


def measure(made, baselines=("torch_eager", "upstream"), **kernels):
    return made.measure(baselines, **kernels)


@MODES
def test_a_kernel_gets_its_time_as_a_solution_does(bench, mode, run_ms):
    made = bench(run_ms=run_ms)
    made.ground.run_ms = 2 * run_ms
    found = measure(made, upstream=beside(made, run_ms=1.5 * run_ms))
    assert found.clock.mode == mode
    assert found.speedup("upstream") == pytest.approx(1.5, rel=1e-6)
    assert found.speedup("torch_eager") == pytest.approx(2.0, rel=1e-6)
    kept = PROTOCOL.timing_runs if mode == "graph" else (PROTOCOL.timing_runs + 1) // 2  # the lower half
    assert len(found.baselines["upstream"].samples_ms) == kept


def test_without_pytorchs_baseline_its_model_is_not_timed(bench):
    made = bench()
    assert set(measure(made, ("upstream",), upstream=beside(made)).baselines) == {"upstream"}
    assert made.ground.modes == []


def test_a_kernel_beside_itself_is_as_fast(bench):
    for run_ms in (0.002, 0.005, TINY, SHORT, LONG):
        made = bench(run_ms=run_ms, sets=128)
        assert measure(made, upstream=beside(made, run_ms=run_ms)).speedup("upstream") == pytest.approx(1.0, rel=1e-6)


def test_short_kernels_are_timed_by_cupti_too(bench):
    made = bench(run_ms=TINY, sets=75)
    made.ground.run_ms = 3 * TINY
    found = measure(made, upstream=beside(made, run_ms=2 * TINY))
    assert (found.clock.source, found.speedup("upstream")) == ("cupti", pytest.approx(2.0))
    assert found.baselines["upstream"].samples_ms == (2 * TINY,) * BUSY_BATCHES


class NotCapturable(Honest):
    captures = False


def test_a_kernel_that_cannot_be_captured_changes_nobody_elses_way(bench):
    made = bench()
    found = measure(made, upstream=beside(made, NotCapturable, 0.3))
    assert found.clock.mode == "graph"
    assert found.clock.baseline_modes == {"torch_eager": "graph", "upstream": "queued"}
    assert found.speedup("upstream") == pytest.approx((0.3 + QUEUED_MS) / 0.1, rel=1e-6)


class Hindered(Honest):
    """Slow in the stream, where a solution may have left something behind that hinders it."""

    hindered = False

    def time(self, message):
        wall_ms, answer = super().time(message)
        return wall_ms + 8.0 * self.hindered, {"device_ms": answer["device_ms"] + 8.0 * self.hindered}


def test_how_many_runs_a_batch_has_follows_from_a_kernels_rehearsal(bench):
    made = bench(run_ms=TINY, sets=75)
    kernel = beside(made, Hindered, TINY)
    DeviceTiming(made.reference, kernel, made.protocol, [{}]).rehearse()
    kernel._runner._process.hindered = True
    assert measure(made, ("upstream",), upstream=kernel).clock.runs_per_sample == 75


class InPlace(Honest):
    def compute(self, index):
        assert self.device.inputs[index] == self.device.pristine[index], "it ran on what somebody has changed"
        super().compute(index)
        self.device.inputs[index] = AFTER


@MODES
def test_what_is_written_in_place_is_new_for_every_side(bench, mode, run_ms):
    made = bench(InPlace, run_ms=run_ms, written=["x"])
    made.ground.run_ms = run_ms
    found = measure(made, upstream=beside(made, InPlace, 2 * run_ms))
    assert (found.clock.mode, found.speedup("upstream")) == (mode, pytest.approx(2.0, rel=1e-6))


@MODES
def test_the_numbers_of_a_batch_reach_the_kernel(bench, mode, run_ms):
    made = bench(run_ms=run_ms, scalars=lambda seed: {"factor": seed if mode == "stream" else 2})
    kernel = beside(made, run_ms=run_ms)
    measure(made, upstream=kernel)
    told = [item["factor"] for item in kernel._runner._process.scalars]
    assert set(told) == {2} if mode == "graph" else len(set(told)) == len(told)


class Fails(Honest):
    """Its graph ends with an error of the driver's, after which there are no others."""

    failed = False

    def _collect(self, message):
        self.failed = self.loaded
        return super()._collect(message)

    def act(self, message):
        answer = super().act(message)
        return {"error": {"kind": "run", "text": "an illegal memory access"}} if self.failed else answer


class Lies(Honest):
    def claim(self, true_ms):
        return None


@MODES
def test_a_kernel_that_fails_when_it_is_timed_is_named(bench, mode, run_ms):
    made = bench(run_ms=run_ms)
    kernel = beside(made, Fails if mode == "graph" else Lies, run_ms)
    with pytest.raises(BaselineFailedError) as caught:
        measure(made, upstream=kernel)
    assert caught.value.name == "upstream"


class FailsUnderCupti(Honest):
    """What its work on the GPU came to is known when it is asked for something else."""

    failed = False

    def _spans(self, message):
        self.failed = True
        return super()._spans(message)

    def _prepare(self, message):
        return {"error": {"kind": "run", "text": "an error"}} if self.failed else super()._prepare(message)


@pytest.mark.parametrize(("solution", "run_ms"), [(Fails, SHORT), (FailsUnderCupti, TINY)])
def test_the_solutions_own_failure_stays_its_own(bench, solution, run_ms):
    made = bench(solution, run_ms=run_ms, sets=75)
    with pytest.raises(Verdict) as caught:
        measure(made, upstream=beside(made, run_ms=run_ms))
    assert caught.value.status is Status.RUNTIME_ERROR


def test_a_kernel_that_fails_under_cupti_is_named(bench):
    made = bench(run_ms=TINY, sets=75)
    with pytest.raises(BaselineFailedError, match="upstream"):
        measure(made, upstream=beside(made, FailsUnderCupti, TINY))


def test_nobody_is_awake_while_another_is_timed(bench):
    made = bench(run_ms=TINY, sets=75)
    kernel, awake = beside(made, run_ms=TINY), []
    spans = made.ground._spans
    made.ground._spans = lambda message: awake.append(not made.device.subject_frozen) or spans(message)
    assert measure(made, upstream=kernel).clock.source == "cupti"
    assert awake == [False] * BUSY_BATCHES


# ------------------------------------------------------------------------------ real hosts on a simulated driver

LAUNCHER = """
#include <cstdint>
#include <functional>
#include <vector>
static void (*enqueue)(void*, long);
static std::vector<std::function<void()>> jobs;
extern "C" void set_enqueue(void (*given)(void*, long)) { enqueue = given; }
extern "C" void run_job(long job) { jobs[job](); }
extern "C" void ENTRY(
    TYPE* x, const float* weight, float factor, float* out, int64_t rows, int64_t columns, void* stream
) {
    jobs.push_back([=] {
        static int calls = 0;
        calls += 1;
        for (int64_t i = 0; i < rows * columns; ++i) {
            x[i] = TYPE(float(x[i]) * factor);
            out[i] = float(x[i]) * weight[i % columns];
        }
        EXTRA
    });
    enqueue(stream, long(jobs.size()) - 1);
}
"""
ITEM = problem(
    "scale_in_place", "x.mul_(factor); return x.float() * weight", (tensor("out", "rows", "columns"),),
    inputs=(
        tensor("x", "rows", "columns").model_copy(update={"in_place": True}),
        tensor("weight", "columns").model_copy(update={"fixed_dtype": True}),
        Argument(name="factor", kind="scalar", dtype="float32"),
    ),
    given="[torch.randn(rows, COLUMNS), torch.randn(COLUMNS), 1.5]",
    dtypes=("float16", "float32"), kernels={"upstream": "upstream", "current": "current"}, kernel_language="cuda",
)  # fmt: skip
ITEM = ITEM.model_copy(update={"outputs": (tensor("out", "rows", "columns").model_copy(update={"fixed_dtype": True}),)})
TYPES = {"float32": "float", "float16": "_Float16"}
EXTRAS = {
    "right": "",
    "wrong": "out[3] += 1;",
    "wrong in place": "x[3] = TYPE(7);",
    "wrong later": "if (calls > 1) out[3] += 1;",
    "outside": "out[rows * columns] = 1;",
}
WORDS = {
    "wrong": "wrong_value: out[0, 3]",
    "wrong in place": "wrong_value: x[0, 3]",
    "wrong later": "wrong_value: wrong in a timed run",
    "outside": "runtime_error: it wrote outside",
    "symbol": 'load_error: no function launch_float32 with C linkage; wanted is extern "C" void launch_float32(',
    "refused": "compile_error: error: no",
    "gone": "machine_error: nowhere.so is not in the store",
}


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Shared objects by name and data type."""
    folder = tmp_path_factory.mktemp("kernels")
    chosen = [(name, "float32", name) for name in EXTRAS] + [("half", "float16", "right"), ("symbol", "other", "right")]
    running = []
    for title, dtype, extra in chosen:
        text = LAUNCHER.replace("ENTRY", f"launch_{dtype}").replace("EXTRA", EXTRAS[extra])
        source = folder / f"{title}.cpp".replace(" ", "_")
        source.write_text(text.replace("TYPE", TYPES.get(dtype, "float")))
        command = ["g++", "-O1", "-shared", "-fPIC", "-o", str(source.with_suffix(".so")), str(source)]
        running.append(subprocess.Popen(command))
    assert [process.wait() for process in running] == [0] * len(running)
    return {title: folder / f"{title}.so".replace(" ", "_") for title, *_ in chosen}


@pytest.fixture
def judge(fake_driver, objects, tmp_path):
    """Judges solutions with `upstream` from one of the objects; gives findings and the process that were started."""
    callback, callbacks = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long), []
    for path in objects.values():
        library = ctypes.CDLL(str(path))

        def enqueue(stream, job, library=library):
            fake_driver.enqueue(stream, lambda: library.run_job(job) or True)

        callbacks.append(callback(enqueue))
        library.set_enqueue(callbacks[-1])
    zygotes = []

    def examine(upstream="right", *solutions, item=ITEM, dtype="float32", protocol=PROTOCOL, wanted=("torch_eager",)):
        workload = workload_of(item).model_copy(
            update={"dtype": dtype, "tolerance": Tolerance(atol=1e-2, rtol=1e-2) if dtype == "float16" else
                    Tolerance(atol=1e-5, rtol=1e-5)}
        )  # fmt: skip
        fake_driver.free_bytes = free_bytes_for(make_device_plan(item, workload, {}), SETS)
        zygotes.append(FakeZygote(fake_driver))
        session = fake_session(zygotes[-1], protocol, (*wanted, "upstream"))
        kernels = {name: built(kernel_solution(item, name), upstream) for name in ("upstream",) if name in item.kernels}
        found = []
        for solution in solutions or (gold_solution(item),):
            build = built(solution, "right" if dtype == "float32" else "half")
            if "ModelNew" in solution.source:
                build = Build(solution=solution.id, status=BuildStatus.INTERPRETED)
            findings = Findings()
            session.examine(Case(solution, build, item, workload, tmp_path, kernels), findings)
            found.append(findings)
        session._bench.drop()
        return found, zygotes[-1].runners

    def built(solution, name):
        if name == "refused":
            return Build(solution=solution.id, status=BuildStatus.REJECTED, log="error: no")
        path = "nowhere.so" if name == "gone" else os.path.relpath(objects[name], tmp_path)
        return Build(solution=solution.id, status=BuildStatus.BUILT, artifact=path)

    yield examine
    for zygote in zygotes:
        for runner in zygote.runners:
            if isinstance(runner.host, ReferenceHost):
                for descriptor in runner.host._descriptors:
                    os.close(descriptor)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("wanted", [("torch_eager",), ()])
def test_a_kernel_is_timed_beside_a_module_and_beside_itself(judge, dtype, wanted):
    upstream = "right" if dtype == "float32" else "half"
    solutions = [gold_solution(ITEM), kernel_solution(ITEM, "upstream")]
    found, runners = judge(upstream, *solutions, dtype=dtype, wanted=wanted)
    for findings in found:
        assert findings.remark == ""
        assert findings.performance.clock.mode == "graph"
        assert findings.performance.clock.runs_per_sample > 1
        assert set(findings.performance.baselines) == {*wanted, "upstream"}
    roles = [runner.role.split()[0] for runner in runners]
    assert roles.count("cuda_native") == 2  # the kernel once for both solutions, and itself as one of them
    assert roles.count("cuda_reference") == 1
    assert not any(runner.alive for runner in runners)


@pytest.mark.parametrize("name", WORDS)
def test_a_kernel_that_is_no_good_costs_that_baseline_only(judge, name):
    found, runners = judge(name, gold_solution(ITEM), kernel_solution(ITEM, "current"))
    for findings in found:
        assert set(findings.performance.baselines) == {"torch_eager"}
        assert findings.remark.startswith(f"the baseline upstream is of no use, {WORDS[name]}")
    assert not any(runner.alive for runner in runners)


def test_kernels_are_not_started_where_no_times_are_taken(judge):
    untimed = PROTOCOL.model_copy(update={"timing": False})
    (findings,), runners = judge("right", protocol=untimed)
    assert findings.performance is None
    assert [runner.role.split()[0] for runner in runners] == ["cuda_reference", "cuda_candidate"]


def test_a_module_whose_graph_has_branches_is_timed_in_a_process_like_a_solutions(judge, monkeypatch):
    monkeypatch.setattr(driver, "captured_steps", lambda stream: (3, False))
    found, runners = judge("right", gold_solution(ITEM), kernel_solution(ITEM, "current"))
    for findings in found:
        assert findings.remark == ""
        assert findings.performance.clock.mode == "graph"
        assert findings.performance.clock.baseline_modes == {"torch_eager": "graph", "upstream": "graph"}
        assert set(findings.performance.baselines) == {"torch_eager", "upstream"}
    roles = [runner.role.split()[0] for runner in runners]
    assert roles.count("cuda_candidate") == 2  # one for both solutions, and itself as one of them
    assert not any(runner.alive for runner in runners)


@pytest.mark.parametrize("source", ["raise MemoryError", "class ModelNew(torch.nn.Module): ..."])
def test_a_module_that_fails_in_a_process_of_its_own_is_timed_by_the_reference(judge, monkeypatch, source):
    monkeypatch.setattr(driver, "captured_steps", lambda stream: (3, False))
    broken = gold_solution(ITEM).model_copy(update={"source": f"import torch\n{source}\n"})
    monkeypatch.setattr(kept, "gold_solution", lambda definition: broken)
    (findings,), _ = judge("right", gold_solution(ITEM))
    assert findings.remark.startswith("torch_eager is timed by the process that makes inputs: ")
    assert (findings.performance.clock.mode, findings.performance.clock.baseline_modes["torch_eager"]) == (
        "graph", "replay",
    )  # fmt: skip
    assert set(findings.performance.baselines) == {"torch_eager", "upstream"}


@pytest.mark.parametrize("chain", [True, False])
@pytest.mark.parametrize("name", HONEST)
def test_a_module_is_timed_beside_itself_whatever_its_graph_is_like(judge, monkeypatch, name, chain):
    monkeypatch.setattr(driver, "captured_steps", lambda stream: (3, chain))
    item = HONEST[name][0].model_copy(update={"kernels": {}})
    (findings,), runners = judge("right", gold_solution(item), item=item)
    mode = "stream" if name == "synchronizes" else MODES_OF.get(name, "graph")
    assert findings.remark == ""
    assert findings.performance.clock.mode == mode
    assert findings.performance.clock.baseline_modes == {"torch_eager": mode}
    assert set(findings.performance.baselines) == {"torch_eager"}
    own = [runner.role.split()[0] for runner in runners].count("cuda_candidate") - 1
    assert own == (not chain or name in ("random", "synchronizes"))  # numbers that change are found out later


def test_a_solution_cannot_take_the_modules_baseline_from_itself_or_others(judge, monkeypatch):
    """The first one leaves no memory for the baseline's graph."""
    monkeypatch.setattr(driver, "captured_steps", lambda stream: (3, False))
    capture, find, found = CandidateHost._capture, DeviceTiming._shape_of_baseline, []

    def finding(self, name):
        found.append(name)
        full = {"error": {"kind": "memory", "text": "CUDA out of memory"}}
        if len(found) == 1:
            monkeypatch.setattr(CandidateHost, "_capture", lambda host, message: full)
        try:
            return find(self, name)
        finally:
            monkeypatch.setattr(CandidateHost, "_capture", capture)

    monkeypatch.setattr(DeviceTiming, "_shape_of_baseline", finding)
    item = ITEM.model_copy(update={"kernels": {}})
    with pytest.raises(BesideError, match="beside it the baseline torch_eager"):
        judge("right", gold_solution(item), item=item)
    (findings,), _ = judge("right", gold_solution(item), item=item)
    assert set(findings.performance.baselines) == {"torch_eager"}


def test_processes_of_a_reference_that_is_gone_hold_no_memory_when_the_next_one_starts(judge, monkeypatch):
    monkeypatch.setattr(driver, "captured_steps", lambda stream: (3, False))
    judging, load, zygotes, alive = CudaBench._judge, DeviceReference.load, [], []

    def dying(self, case, subject, reference, findings, figures, modes=ALL_MODES):
        judging(self, case, subject, reference, findings, figures, modes)
        reference._runner.end()  # as of one that has not answered in time

    def loading(self):
        runners = zygotes[0].runners
        alive.append([runner.role for runner in runners if runner.alive and hasattr(runner.host, "_outputs")])
        load(self)

    monkeypatch.setattr(CudaBench, "_judge", dying)
    spawn = FakeZygote.spawn
    monkeypatch.setattr(FakeZygote, "spawn", lambda self, *given: zygotes.append(self) or spawn(self, *given))
    monkeypatch.setattr(DeviceReference, "load", loading)
    item = ITEM.model_copy(update={"kernels": {}})
    judge("right", gold_solution(item), gold_solution(item), item=item)
    assert alive == [[], []]

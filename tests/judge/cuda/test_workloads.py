"""Workloads of several sizes and types on a GPU, and results in place: the real hosts on a fake driver."""

import ctypes
import subprocess

import pytest

from hone.judge.case import Case
from hone.judge.device.cuda import kept as kept_module
from hone.judge.device.cuda.kept import Kept
from hone.judge.device.cuda.plan import make_device_plan
from hone.machine.turns import Turns
from hone.records import Status, Tolerance
from hone.sources.workloads import moved_bytes

from ..conftest import tensor, workload_of
from .fakes import GPU
from .rigs import ALL, OUT, SCALE, SETS, STRICT, batch, problem, refused

IN_PLACE = {"in_place": True}
UPDATE = problem(
    "update",
    "residual.add_(x); x.copy_((residual.float() * scale[:, None]).to(x.dtype) if x.dtype != torch.float64"
    " else residual * scale[:, None])",
    (),
    inputs=(
        tensor("x", "rows", "columns").model_copy(update=IN_PLACE),
        tensor("residual", "rows", "columns").model_copy(update=IN_PLACE),
        tensor("scale", "rows").model_copy(update={"fixed_dtype": True}),
    ),
    given="[torch.randn(rows, COLUMNS), torch.randn(rows, COLUMNS), torch.rand(rows) + 1e-4]",
    dtypes=("float16", "bfloat16", "float32"),
)
"""Two results in place, no output, and an input that stays in float32."""
RIGHT = "residual += x; x.copy_(residual.float() * scale[:, None])"
NAMES = "x, residual, scale"
LOOSE = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-4}

LAUNCHER = """
#include <cstdint>
#include <functional>
#include <vector>
static void (*enqueue)(void*, long);
static std::vector<std::function<void()>> jobs;
extern "C" void set_enqueue(void (*given)(void*, long)) { enqueue = given; }
extern "C" void run_job(long job) { jobs[job](); }
template <typename T>
static void run(T* x, T* residual, const float* scale, int64_t rows, int64_t columns, void* stream) {
    jobs.push_back([=] {
        for (int64_t i = 0; i < rows * columns; ++i) {
            residual[i] = T(float(x[i]) + float(residual[i]));
            x[i] = T(float(residual[i]) * scale[i / columns]);
        }
    });
    enqueue(stream, long(jobs.size()) - 1);
}
extern "C" void launch_float16(
    _Float16* x, _Float16* residual, const float* scale, int64_t rows, int64_t columns, void* stream
) { run(x, residual, scale, rows, columns, stream); }
extern "C" void launch_float32(
    float* x, float* residual, const float* scale, int64_t rows, int64_t columns, void* stream
) { run(x, residual, scale, rows, columns, stream); }
"""


def workload(item, dtype="float32", **axes):
    tolerance = Tolerance(atol=LOOSE[dtype], rtol=LOOSE[dtype])
    update = {"dtype": dtype, "axes": {**item.axes, **axes}, "tolerance": tolerance}
    return workload_of(item).model_copy(update=update)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A shared object whose work is put on a stream of the fake driver."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "launch.cpp").write_text(LAUNCHER)
    command = ["g++", "-O1", "-shared", "-fPIC", "-o", str(folder / "launch.so"), str(folder / "launch.cpp")]
    subprocess.run(command, check=True)
    return folder / "launch.so"


# ------------------------------------------------------------------------------------------------ sizes and types


@pytest.mark.parametrize("dtype", LOOSE)
def test_results_in_place_without_outputs_pass_and_are_timed(rig, dtype):
    made = rig(UPDATE, RIGHT, names=NAMES, workload=workload(UPDATE, dtype, rows=3, columns=7))
    assert made.reference.written == ["x", "residual"]
    assert made.reference.sets == SETS  # other sizes, but not held-out ones: there is a batch to be timed
    assert made.inputs[0]["x"].shape == (3, 7)
    assert [str(tensor.dtype)[6:] for tensor in made.inputs[0].values()] == [dtype, dtype, "float32"]
    found = made.measure()
    assert found.clock.mode == "graph"
    assert found.floor_ms > 0


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_launchers_of_each_type_write_in_place(rig, built, dtype):
    made = []
    library, callback = ctypes.CDLL(str(built)), ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long)
    kept = callback(lambda stream, job: made[0].device.enqueue(stream, lambda: library.run_job(job) or True))
    library.set_enqueue(kept)
    made.append(rig(UPDATE, source="code", artifact=built, workload=workload(UPDATE, dtype, rows=3, columns=7)))
    assert made[0].measure().clock.mode == "graph"
    assert made[0].device.rights == [True, True, False, True]


def test_a_launcher_of_a_missing_type_is_a_load_error(rig, built):
    verdict = refused(lambda: rig(UPDATE, source="code", artifact=built, workload=workload(UPDATE, "bfloat16")))
    assert verdict.status is Status.LOAD_ERROR
    assert "launch_bfloat16" in verdict.detail


def test_plans_size_everything_by_the_workload():
    own = make_device_plan(UPDATE, workload(UPDATE), {})
    other = make_device_plan(UPDATE, workload(UPDATE, "float16", rows=3, columns=7), {})
    assert (own.sizes, own.held_out) == ({}, False)
    assert (other.sizes, other.held_out) == ({"rows": 3, "columns": 7}, False)
    assert other.written_bytes == 2 * 2 * 21
    assert other.compulsory_bytes == moved_bytes(UPDATE, other.workload) == 4 * 2 * 21 + 4 * 3
    assert [slot.name for slot in other.results] == ["x", "residual"]
    held_out = make_device_plan(SCALE, workload(SCALE, rows=3), {"columns": 2})
    assert (held_out.sizes, held_out.held_out) == ({"rows": 3, "columns": 2}, True)
    assert held_out.definition.axes == {"rows": 3, "columns": 2}
    assert held_out.compulsory_bytes == 4 * (6 + 2 + 6)


# ------------------------------------------------------------------------------------------------ what is compared


def test_results_in_place_have_exact_errors_and_the_precision_rule(rig):
    made = rig(UPDATE, RIGHT, names=NAMES)
    answer = made.trial()
    assert 0 < answer["baseline_error"] < 1e-6
    assert made.compare()["exact_error"] == answer["baseline_error"]
    coarse = "residual.copy_((residual + x).half()); x.copy_(residual * scale[:, None])"
    loose = workload(UPDATE).model_copy(update={"tolerance": Tolerance(atol=1e-2, rtol=1e-2)})
    assert refused(rig(UPDATE, coarse, names=NAMES, workload=loose).examine).status is Status.IMPRECISE


@pytest.mark.parametrize("body", ["pass", "residual += x", RIGHT + "; x[0, 1] += 0.1", RIGHT + "; residual[5, 4] = 7"])
def test_results_in_place_that_are_wrong(rig, body):
    made = rig(UPDATE, body, names=NAMES)
    assert refused(made.examine).status is Status.WRONG_VALUE
    batch(made, 2)
    assert made.compare(audit=[1])["wrong"] > 0


def test_what_stays_const_must_not_change(rig):
    made = rig(UPDATE, RIGHT + "; scale.add_(1)", names=NAMES)
    verdict = refused(made.examine)
    assert verdict.status is Status.INPUT_CHANGED
    assert "scale" in verdict.detail


def test_writing_between_inputs_is_found(rig):
    made = rig(UPDATE, RIGHT, names=NAMES)
    made.trial()
    rows = made.ground._inputs.rows()
    rows[0, -1] = 1
    assert not made.compare()["guards"]
    batch(made, 2)  # new inputs leave nothing of it
    assert made.compare(audit=[0, 1])["guards"]


def test_runs_that_had_not_begun_leave_their_results_in_place_alone(rig):
    made = rig(UPDATE, RIGHT, names=NAMES)
    made.reference.refresh(3, 9, SETS)
    made.reference.reveal(0, SETS)
    assert made.reference.untouched(0)
    made.inputs[2]["residual"][0, 0] += 1
    assert (made.reference.untouched(1), made.reference.untouched(3)) == (False, True)


def test_runs_left_out_when_time_counts_are_found(rig):
    """In the stream, where its calls are counted: a graph holds all of its work or is not used."""
    lazy = (
        "x.sum().item(); self.calls = getattr(self, 'calls', 0) + 1; lazy = self.calls > 4 and self.calls % 2 == 0;"
        "_ = None if lazy else (residual.add_(x), x.copy_(residual * scale[:, None]))"
    )
    made = rig(UPDATE, lazy, names=NAMES, protocol=STRICT.model_copy(update={"audit_every": 1}))
    assert refused(made.measure).status is Status.WRONG_VALUE


def test_random_references_are_found_by_what_they_write(rig):
    chance = problem(
        "chance",
        "x.copy_(torch.rand_like(x))",
        (),
        inputs=(tensor("x", "rows", "columns").model_copy(update=IN_PLACE),),
    )
    assert rig(chance, "x.copy_(torch.rand_like(x))").reference.random
    assert not rig(problem("plain", "return x + 1", OUT), "return x + 1").reference.random


# ------------------------------------------------------------------------------------------------------- sessions


def test_a_session_holds_the_references_of_one_workload(monkeypatch):
    alive, made, planned = [], [], []

    class Reference:
        alive = True

        def __init__(self, zygote, plan, protocol, **options):
            self.plan = plan
            made.append((plan.workload.name, dict(plan.sizes)))

        def open_gpu(self): ...

        def load(self):
            alive.append(self)

        def ahead(self, trials):
            planned.append([(trial.distribution, trial.exact) for trial in trials])

        def close(self):
            alive.remove(self)

    monkeypatch.setattr(kept_module, "DeviceReference", Reference)
    kept = Kept(None, GPU.uuid, STRICT, (), None, Turns())
    own, other = workload(SCALE), workload(SCALE, rows=3).model_copy(update={"name": "other"})

    def reference(chosen, sizes):
        return kept.reference(Case(None, None, SCALE, chosen, None), sizes)

    first = reference(own, {})
    assert reference(own, {"rows": 2}) is not first
    assert reference(own, {}) is first
    assert len(alive) == 2
    reference(other, {})
    assert [item.plan.workload.name for item in alive] == ["other"]
    assert reference(own, {}) is not first
    assert made == [("own", {}), ("own", {"rows": 2}), ("other", {"rows": 3}), ("own", {})]
    assert planned == 4 * [[(distribution, True) for distribution in ALL]]

"""The real host of launchers on a fake driver: a shared object without CUDA that puts its work on a stream."""

import ctypes
import subprocess

import pytest

from hone.judge.child.cuda import native as native_host
from hone.judge.device.cuda.side import NOT_CAPTURED, NOTHING_CAPTURED, RESTLESS, DeviceSubject
from hone.records import Status

from .rigs import CHANGING, NUMBER, SETS, armed, captured, refused

LAUNCHER = """
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>
static void (*enqueue)(void*, long);
static std::vector<std::function<void()>> jobs;
static int error;
extern "C" void set_enqueue(void (*given)(void*, long)) { enqueue = given; }
extern "C" void set_error(int code) { error = code; }
extern "C" void run_job(long job) { jobs[job](); }
extern "C" int hone_last_error(void) { int found = error; error = 0; return found; }
extern "C" const char* hone_error_text(int code) { return code == 2 ? "out of memory" : "invalid argument"; }
extern "C" void launch(
    const float* x, float factor, float* out, int64_t rows, int64_t columns, void* stream
) {
    jobs.push_back([=] { for (int64_t i = 0; i < rows * columns; ++i) out[i] = factor * x[i]; });
    enqueue(stream, long(jobs.size()) - 1);
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A shared object whose work is put on a stream of the fake driver."""
    folder = tmp_path_factory.mktemp("native")
    (folder / "launch.cpp").write_text(LAUNCHER)
    command = ["g++", "-O1", "-shared", "-fPIC", "-o", str(folder / "launch.so"), str(folder / "launch.cpp")]
    subprocess.run(command, check=True)
    return folder / "launch.so"


@pytest.fixture
def native(rig, built):
    """Makes rigs with the shared object, whose launcher cannot be captured or leaves its stream unused."""
    library, callback = ctypes.CDLL(str(built)), ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long)
    made = []

    def enqueue(stream, job):
        if breaking and made[0].device._captures:
            made[0].device.break_capture()
            library.set_error(900)
            return
        made[0].device.enqueue(None if ignoring else stream, lambda: library.run_job(job) or True)

    breaking, ignoring, kept = [], [], callback(enqueue)
    library.set_enqueue(kept)
    library.set_error(0)

    def make(item=NUMBER, *, cannot=False, ignores=False, **options):
        breaking[:], ignoring[:] = [True] * cannot, [True] * ignores
        made.insert(0, rig(item, source="code", artifact=built, **options))
        return made[0]

    make.callback = kept  # must live as long as the library may call it
    return make


def test_a_launcher_gets_addresses_numbers_axes_and_its_stream(native):
    made = native()
    found = made.measure()
    assert (found.clock.mode, found.clock.charged_ms >= 0) == ("graph", True)
    assert native(sizes={"rows": 2, "columns": 3}).examine().errors.wrong_fraction == 0.0
    assert native(CHANGING).measure().clock.mode == "stream"


def test_a_launchers_graph_is_launched_on_inputs_that_are_shown(native, monkeypatch):
    made = native()
    made.reference._modes["torch_eager"] = "replay"
    monkeypatch.setattr(DeviceSubject, "waits_quietly", lambda *_: RESTLESS)
    assert made.measure().clock.mode == "replay"


def test_gates_hold_back_a_launchers_runs(native):
    made = native()
    captured(made)
    armed(made, 200)
    made.reference.reveal(0, SETS)
    assert made.reference.untouched(0)
    made.reference.open_gates(0, 2, 1.0)
    assert not made.reference.untouched(1)
    assert made.reference.untouched(2)
    made.reference.open_gates(2, SETS, 1.0)
    assert made.compare(audit=range(SETS))["wrong"] == 0
    assert made.subject.collect() >= (0, 0)


def test_a_launcher_may_leave_its_stream_unused(native):
    """What it launches goes to the default stream and is in no graph."""
    made = native(ignores=True)
    clock = made.measure().clock
    assert (clock.mode, clock.runs_per_sample) == ("queued", SETS)
    assert clock.refused["graph"] == NOTHING_CAPTURED


@pytest.mark.parametrize("ignores", [True, False])
def test_gates_hold_back_a_launchers_queued_runs(native, ignores):
    made = native(ignores=ignores)
    made.subject.give_back()  # it keeps nothing
    made.subject.prepare(9, [made.reference.scalars] * SETS)
    made.subject.arm(made.reference, SETS, "queued")
    made.reference.refresh(200, 9, SETS)
    made.reference.reveal(0, SETS)
    assert made.reference.untouched(0)
    made.reference.open_gates(0, 2, 1.0)
    assert not made.reference.untouched(1)
    assert made.reference.untouched(2)
    made.reference.open_gates(2, SETS, 1.0)
    assert made.compare(audit=range(SETS))["wrong"] == 0
    assert made.subject.collect() >= (0, 0)


def test_a_launcher_that_cannot_be_captured_has_its_launches_pile_up(native):
    clock = native(cannot=True).measure().clock
    assert (clock.mode, clock.runs_per_sample) == ("queued", SETS)
    assert clock.refused["graph"] == NOT_CAPTURED


@pytest.mark.parametrize(("code", "status"), [(2, Status.OUT_OF_MEMORY), (1, Status.RUNTIME_ERROR)])
def test_what_the_runtime_holds_against_a_launch_is_said(native, built, code, status):
    made = native()
    ctypes.CDLL(str(built)).set_error(code)
    found = refused(made.examine)
    assert found.status is status
    assert "CUDA: " in found.detail


@pytest.mark.parametrize(("path", "entry"), [("/nowhere/launch.so", "launch"), ("", "nothing")])
def test_what_cannot_be_loaded_is_a_load_error(native, built, path, entry):
    made = native()
    message = {"do": "load", "artifact": path or str(built), "entry_point": entry, "wanted": ""}
    assert native_host.NativeHost.act(made.host, message)["error"]["kind"] == "load"

"""Whether a module's results need its own kernels: launches are left out of shared objects that really make them."""

import ctypes
import subprocess

import pytest
import torch

from hone.compile.outcome import UNSEEN
from hone.judge.child.cuda import left_out
from hone.judge.child.cuda.left_out import (
    UnknownLaunchesError,
    kernels_left_out,
    launching_slots,
    share_of_others,
    spoil_free_memory,
)
from hone.judge.device.cuda import own_kernels
from hone.judge.device.cuda.own_kernels import needs_own_kernels
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.records import Status

from .rigs import OUT, RANDOM, problem, refused

RUNTIME = """
static int launched = 0;
extern "C" int count() { return launched; }
extern "C" int LAUNCH(float *data, long n) {
    launched++;
    for (long i = 0; i < n; i++) data[i] *= 2;
    return 0;
}
"""
EXTENSION = """
extern "C" int LAUNCH(float *, long);
extern "C" int twice(float *data, long n) { return LAUNCH(data, n); }
static int (*volatile pointer)(float *, long) = &LAUNCH;
extern "C" int by_pointer(float *data, long n) { return pointer(data, n); }
"""

BARE = 'extern "C" int twice(float *, long) { return 0; }\n'


def compiled(folder, name, source, *flags):
    path, text = folder / f"{name}.so", folder / f"{name}.cpp"
    text.write_text(source)
    subprocess.run(["g++", "-shared", "-fPIC", "-O1", str(text), "-o", str(path), *flags], check=True)
    return path


@pytest.fixture(scope="module", params=["cudaLaunchKernel", "__cudaLaunchKernel"], ids=["cuda12", "cuda13"])
def runtime(request, tmp_path_factory):
    """With the function that nvcc lets kernels be launched by, under the names of CUDA 12 and 13."""
    folder = tmp_path_factory.mktemp("runtime")
    return compiled(folder, "libruntime", RUNTIME.replace("LAUNCH", request.param)), request.param


@pytest.fixture(params=["lazy", "now"])
def extension(request, runtime, tmp_path):
    """An extension that is bound late, or at once and then read-only."""
    library, launch = runtime
    flags = [str(library), f"-Wl,-rpath,{library.parent}", f"-Wl,-z,{request.param}", "-Wl,-z,relro"]
    return compiled(tmp_path, f"extension_{request.param}", EXTENSION.replace("LAUNCH", launch), *flags)


def test_launches_of_an_object_are_left_out_and_then_made_again(extension, runtime):
    counts, calls = ctypes.CDLL(str(runtime[0])), ctypes.CDLL(str(extension))
    data = (ctypes.c_float * 2)(1.0, 3.0)
    size = ctypes.c_long(2)
    before = counts.count()
    with kernels_left_out([extension]) as found:
        assert calls.twice(data, size) == calls.by_pointer(data, size) == 0
        assert (found.launches, counts.count() - before, list(data)) == (2, 0, [1.0, 3.0])
        counts[runtime[1]](data, size)  # others have other pointers
        assert list(data) == [2.0, 6.0]
    assert calls.twice(data, size) == calls.by_pointer(data, size) == 0
    assert (found.launches, counts.count() - before, list(data)) == (2, 3, [8.0, 24.0])


def test_what_is_not_loaded_or_launches_nothing_has_no_slots(tmp_path, extension):
    quiet = compiled(tmp_path, "quiet", 'extern "C" int nothing() { return 0; }')
    assert launching_slots(quiet) == launching_slots(tmp_path / "missing.so") == []
    ctypes.CDLL(str(quiet))
    assert launching_slots(quiet) == []
    assert launching_slots(extension) == []
    ctypes.CDLL(str(extension))
    assert len(launching_slots(extension)) == 2


class Launcher:
    def __call__(self, *arguments):
        return arguments


def test_triton_launches_are_left_out_and_then_made_again(monkeypatch):
    monkeypatch.setattr(left_out, "_triton_launcher", lambda: Launcher)
    with kernels_left_out([]) as found:
        assert Launcher()(1, 2) == 0
    assert Launcher()(1, 2) == (1, 2)
    assert found.launches == 1


NAN = float("nan")


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ([[1.0, NAN]], [[1.0, NAN]], 0), ([[1.0, 2.0]], [[1.0, 3.0]], 0.5), ([[0.0]], [[-0.0]], 1),
        ([[1.0, 2.0], [1.0]], [[1.0, 2.0], [2.0]], 1), ([[1.0]], [[1.0, 1.0]], 1), ([[1.0]], [[1.0], [1.0]], 1),
        ([], [], 0), ([[]], [[]], 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_the_share_of_elements_that_differ_in_any_bit(one, other, share, dtype):
    tensors = [[torch.tensor(values, dtype=dtype) for values in side] for side in (one, other)]
    assert share_of_others(*tensors) == share


@pytest.mark.parametrize("values", [[], [1.0, 2.0]])
def test_other_types_are_other_results(values):
    whole = torch.tensor(values)
    assert share_of_others([whole], [whole.half()]) == 1


def test_large_results_are_sampled(monkeypatch):
    monkeypatch.setattr(left_out, "SAMPLED", 10)
    (found,) = left_out.sampled([torch.arange(100).reshape(4, 25).T])
    assert found.numel() == 10


def test_only_free_blocks_are_spoilt(monkeypatch):
    filled = []
    states = ("active_allocated", "inactive", "active_pending_free")
    blocks = [{"state": state, "address": at, "size": 512} for at, state in enumerate(states)]
    monkeypatch.setattr(torch.cuda, "memory_snapshot", lambda: [{"blocks": blocks}, {"blocks": blocks[:1]}])
    monkeypatch.setattr(left_out.driver, "fill_words", lambda *given: filled.append(given))
    monkeypatch.setattr(left_out.driver, "synchronize", lambda: None)
    spoil_free_memory()
    assert filled == [(None, 1, left_out.NOT_A_NUMBER, 128)]


# ------------------------------------------------------------------------------------- modules in their process

DOUBLED = problem("doubled", "return 2 * x", OUT)
IMPORTS = "import ctypes\nimport torch\nfrom torch import nn\nfrom torch.utils.cpp_extension import load_inline\n"
MODEL = """
def ext():
    return ctypes.CDLL("{path}")
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = torch.zeros(6, 5)
    def launch(self, x, n):
        ext().twice(ctypes.c_void_p(x.data_ptr()), ctypes.c_long(n))
        return x
    def forward(self, x):
        {body}
"""
NEEDED = {
    "all": "return self.launch(x.clone(), 30)",
    "kept buffer": "self.kept.copy_(x); return self.launch(self.kept, 30)",
    "a tenth": "y = 2 * x; y[0, :3] = x[0, :3]; return self.launch(y, 3)",
    "cannot do without": "y = x.clone(); self.launch(y, 30); assert not torch.equal(x, y); return y",
}
NOT_NEEDED = {
    "decoy": "self.launch(torch.empty(3), 3); return 2 * x",
    "decoy of no elements": "return self.launch(2 * x, 0)",
    "decoy beside the result": "y = 2 * x; self.launch(x.clone(), 30); return y",
    "never launched": "return 2 * x",
    "never reached": "return self.launch(x, 30) if x.shape[0] == 123457 else 2 * x",
}


@pytest.fixture
def needs(rig, extension, monkeypatch):
    """Makes a question about a module whose forward has this body."""
    monkeypatch.setattr("hone.judge.child.cuda.candidate.spoil_free_memory", lambda: None)
    monkeypatch.setattr(own_kernels, "kind_of_kernel", lambda source: ("load_inline",))

    def ask(body, item=DOUBLED, extension=extension, **options):
        made = rig(item, source=IMPORTS + MODEL.format(path=extension, body=body), **options)
        made.host._objects = [extension]
        return needs_own_kernels(body, made.reference, made.subject, [made.reference.scalars])

    return ask


@pytest.mark.parametrize("body", NEEDED.values(), ids=NEEDED)
def test_honest_modules_need_their_kernels(needs, body):
    assert needs(body)


@pytest.mark.parametrize("body", NOT_NEEDED.values(), ids=NOT_NEEDED)
def test_modules_with_decoys_do_not(needs, body):
    assert not needs(body)


def test_one_element_is_not_a_kernels_work(needs):
    wide = problem("wide", "return 2 * x", OUT, axes={"rows": 6, "columns": 50}, given="[torch.randn(6, 50)]")
    body = "y = 2 * x; y[0, 0] = x[0, 0]; return self.launch(y, {})"
    assert not needs(body.format(1), wide)
    assert needs("y = 2 * x; y[0, :4] = x[0, :4]; return self.launch(y, 4)", wide)


def test_where_it_is_not_known_a_module_is_not_accused(needs, monkeypatch):
    decoy = NOT_NEEDED["decoy"]
    constant = problem("constant", "return torch.ones_like(x)", OUT)
    assert needs("self.launch(torch.empty(3), 3); return torch.ones_like(x)", constant)  # whatever ran, it is right
    assert needs(decoy, sets=1)
    assert needs("self.launch(torch.empty(3), 3); return torch.nn.functional.dropout(x, 0.5, True)", RANDOM)
    assert needs(f"graph = torch.cuda.CUDAGraph; {decoy}")
    for other in ("cupy", "torch.compile", "ctypes"):
        monkeypatch.setattr(own_kernels, "kind_of_kernel", lambda source, other=other: ("load_inline", other))
        assert needs(decoy)


def test_an_extension_that_only_calls_libraries_has_no_kernel(tmp_path, needs):
    """nvcc gives each object a section for kernels, also to one that has none."""
    path = compiled(tmp_path, "calls", BARE + '__asm__(".section .nv_fatbin\\n.byte 0\\n.previous");')
    ctypes.CDLL(str(path))
    assert launching_slots(path) == []
    assert not needs(NOT_NEEDED["decoy"], extension=path)


def test_kernels_that_are_launched_in_another_way_are_not_known(tmp_path, needs):
    path = compiled(
        tmp_path, "static", BARE + '__asm__(".section .x\\n.asciz \\"__cudaRegisterFunction\\"\\n.previous");'
    )
    assert launching_slots(path) == []  # not loaded
    ctypes.CDLL(str(path))
    with pytest.raises(UnknownLaunchesError, match="static"):
        launching_slots(path)
    assert needs(NOT_NEEDED["decoy"], extension=path)


# ------------------------------------------------------------------------------------- builds that nobody made

SWALLOWED = """
        try:
            load_inline("late", "int f();")
        except BaseException:
            pass
        return 2 * x
"""


@pytest.mark.parametrize("body", ['load_inline("late", "int f();"); return 2 * x', SWALLOWED.strip()])
def test_a_module_without_an_extension_that_it_called_for_is_not_judged(rig, extension, body):
    made = rig(DOUBLED, source=IMPORTS + MODEL.format(path=extension, body=body))
    found = refused(made.examine)
    assert isinstance(found, UnsuitedVerdict)
    assert (found.status, found.detail) == (Status.NOT_JUDGED, UNSEEN)


def test_a_refused_call_may_be_caught(rig, extension, monkeypatch):
    monkeypatch.setattr("hone.compile.extension_call.call_key", lambda call: "key")
    made = rig(DOUBLED, source=IMPORTS + MODEL.format(path=extension, body=SWALLOWED.strip()), refused={"key": "no"})
    assert made.examine().errors.wrong_fraction == 0.0


def test_an_error_without_its_kernels_is_no_accusation(needs, monkeypatch):
    def dies(self):
        raise Verdict(Status.TIMEOUT, "running without its own kernels took over 20 s")

    monkeypatch.setattr("hone.judge.device.cuda.side.DeviceSubject.leave_out", dies)
    assert needs(NOT_NEEDED["decoy"])


@pytest.mark.parametrize(
    "forged",
    [
        {},
        {"launches": 10**400, "changes": 0.0, "varies": 1.0},
        {"launches": 1, "changes": "0", "varies": 1.0},
        {"launches": None, "changes": 0.0, "varies": 1.0},
    ],
)
def test_a_process_that_tells_no_numbers_does_not_break_the_judge(needs, monkeypatch, forged):
    monkeypatch.setattr("hone.judge.child.cuda.candidate.CandidateHost._leave_out", lambda self, message: forged)
    assert needs(NOT_NEEDED["decoy"])

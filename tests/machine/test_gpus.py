"""Which GPU, held by whom, and what is refused on which device; NVML is a fake."""

import subprocess
import sys
import types

import pytest

from hone.core.errors import MachineError
from hone.judge.case import Case, check_build
from hone.judge.device.cpu.bench import CpuBench
from hone.judge.device.cuda.bench import CudaBench
from hone.judge.device.cuda.kept import _loaded
from hone.judge.needs import compiles_when_run, lacking_on_gpu
from hone.judge.session import Session, open_bench
from hone.judge.verdict import UnsuitedVerdict, Verdict
from hone.machine import gpus as gpu
from hone.machine.environment import cuda_environment, environment_of
from hone.machine.gpus import clocks, held_gpu, visible_gpus
from hone.records import Build, BuildStatus, Language, Status
from tests.judge.conftest import QUICK, scale_definition, solution_of, workload_of

CUDA = QUICK.model_copy(update={"device": "cuda"})
UUIDS = ("GPU-aaaa-1", "GPU-aabb-2", "GPU-cccc-3")


class NVMLError(Exception):
    """What pynvml raises."""


def fake_nvml(uuids, broken=False, reasons=0):
    """A module in pynvml's place."""

    def start():
        if broken:
            raise NVMLError("Driver Not Loaded")

    def known(uuid):
        if uuid not in uuids:
            raise NVMLError("Not Found")
        return uuid

    module = types.ModuleType("pynvml")
    values = {
        "NVMLError": NVMLError, "NVML_CLOCK_SM": 1, "NVML_CLOCK_MEM": 2, "nvmlInit": start,
        "nvmlShutdown": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: b"580.95", "nvmlSystemGetCudaDriverVersion": lambda: 13010,
        "nvmlDeviceGetCount": lambda: len(uuids), "nvmlDeviceGetHandleByIndex": lambda index: uuids[index],
        "nvmlDeviceGetUUID": lambda handle: handle, "nvmlDeviceGetName": lambda handle: b"NVIDIA H200",
        "nvmlDeviceGetCudaComputeCapability": lambda handle: (9, 0),
        "nvmlDeviceGetMemoryInfo": lambda handle: types.SimpleNamespace(total=141 << 30),
        "nvmlDeviceGetHandleByUUID": known, "nvmlDeviceGetCurrentClocksEventReasons": lambda handle: reasons,
        "nvmlDeviceGetClockInfo": lambda handle, kind: {1: 1980, 2: 2619}[kind],
    }  # fmt: skip
    vars(module).update(values)
    return module


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Sets what NVML says and CUDA_VISIBLE_DEVICES; locks lie in a folder of their own."""
    monkeypatch.setattr(gpu, "LOCKS", tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def set_up(uuids=UUIDS, visible=None, **options):
        monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(uuids, **options))
        if visible is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        visible_gpus.cache_clear()

    yield set_up
    visible_gpus.cache_clear()


# ------------------------------------------------------------------------------------------------- choosing


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, UUIDS),
        ("0,1,2", UUIDS),
        ("2", UUIDS[2:]),
        (" 2 , 0 ", (UUIDS[2], UUIDS[0])),
        ("GPU-cccc-3", UUIDS[2:]),
        ("GPU-aab", UUIDS[1:2]),
        ("1,GPU-aaaa", (UUIDS[1], UUIDS[0])),
        ("0,-1,2", UUIDS[:1]),
        ("0,7,2", UUIDS[:1]),
    ],
)
def test_gpus_are_chosen_as_cuda_chooses(machine, visible, expected):
    machine(visible=visible)
    assert tuple(found.uuid for found in visible_gpus()) == expected


def test_what_nvml_says_of_a_gpu(machine):
    machine()
    found = visible_gpus()[0]
    assert (found.name, found.driver, found.memory_bytes) == ("NVIDIA H200", "580.95, CUDA 13.1", 141 << 30)
    assert found.capability == "9.0"


@pytest.mark.parametrize("visible", ["", "-1", "7", "GPU-zzzz"])
def test_no_visible_gpu_is_said_with_the_variable(machine, visible):
    machine(visible=visible)
    with pytest.raises(MachineError, match=r"CUDA_VISIBLE_DEVICES: no NVIDIA GPU(.|\n)*judge\.device"):
        visible_gpus()


@pytest.mark.parametrize("options", [{"broken": True}, {"uuids": ()}])
def test_without_a_gpu_the_message_names_the_setting(machine, options):
    machine(**options)
    with pytest.raises(MachineError, match=r"judge\.device"):
        environment_of(CUDA.device)
    with pytest.raises(MachineError, match=r"judge\.device"), Session(CUDA, ("torch_eager",)):
        pass
    assert environment_of(QUICK.device).driver == ""


def test_the_environment_of_a_gpu_is_the_machines_with_its_name(machine):
    machine()
    cuda_environment.cache_clear()
    found = environment_of(CUDA.device)
    assert (found.device, found.driver) == ("NVIDIA H200", "580.95, CUDA 13.1")
    assert found.host == environment_of(QUICK.device).host


def test_benches_are_opened_by_device(machine):
    machine(broken=True)
    with open_bench(QUICK, ()) as found:
        assert isinstance(found, CpuBench)
    assert isinstance(open_bench(CUDA, ()), CudaBench)


def test_clocks_and_what_holds_them_down(machine):
    machine(reasons=0x04 | 0x40 | 0x01)
    visible_gpus()
    assert clocks(UUIDS[0]) == gpu.Clocks(1980, 2619, ("power cap", "hardware thermal"))
    assert clocks("GPU-gone") == gpu.Clocks(0, 0, ())


# -------------------------------------------------------------------------------------------------- holding

HOLDER = """
import sys, pathlib
from hone.machine import gpus as gpu
gpu.LOCKS = pathlib.Path(sys.argv[1])
gpu.visible_gpus = lambda: tuple(gpu.Gpu(uuid, "", "", 0, "9.0") for uuid in sys.argv[2:])
with gpu.held_gpu(0.0) as found:
    print(found.uuid, flush=True)
    sys.stdin.read()
"""


def test_two_processes_never_hold_the_same_gpu(machine, tmp_path):
    machine(UUIDS[:2])
    command = [sys.executable, "-c", HOLDER, str(tmp_path), *UUIDS[:2]]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        theirs = other.stdout.readline().strip()
        with held_gpu(0.0) as mine:
            assert {theirs, mine.uuid} == set(UUIDS[:2])
            with pytest.raises(MachineError, match="no GPU became free"), held_gpu(0.0):
                pass
        other.kill()  # the kernel takes a dead holder's lock away
        other.wait()
        with held_gpu(0.0) as one, held_gpu(0.0) as two:
            assert {one.uuid, two.uuid} == set(UUIDS[:2])
    finally:
        other.kill()
        other.communicate()


def test_who_waits_gets_the_gpu_that_becomes_free(machine, monkeypatch):
    machine(UUIDS[:1])
    first = held_gpu(0.0)
    first.__enter__()
    monkeypatch.setattr(gpu.time, "sleep", lambda _: first.__exit__(None, None, None))
    with held_gpu(60.0) as found:
        assert found.uuid == UUIDS[0]


def test_a_gpu_is_free_again_after_an_error(machine):
    machine(UUIDS[:1])
    with pytest.raises(KeyError), held_gpu(0.0):
        raise KeyError
    with held_gpu(0.0) as found:
        assert found.uuid == UUIDS[0]


# --------------------------------------------------------------------------------------- what a solution needs


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        ("import triton", True),
        ("import torch\n@torch.compile\ndef f(): ...", True),
        ("import torch as t\nf = t.compile(g)", True),
        ("from torch import compile", True),
        ("import re\nre.compile('x')", False),
        ("import triton.language as tl", True),
        ("from triton import jit", True),
        ("def late():\n    import triton", True),
        ("# import triton\nname = 'triton'", False),
        ("import tritonish", False),
        ("import tilelang.language as T", True),
        ("import cutlass.cute as cute", True),
        ("from cupy import RawKernel", True),
        ("def broken(:", False),
    ],
)
def test_python_that_imports_triton_or_compiles_starts_a_compiler(source, needs):
    item = scale_definition()
    assert compiles_when_run(solution_of(item, source, Language.PYTHON)) is needs
    assert compiles_when_run(solution_of(item, source, Language.TRITON))
    assert not compiles_when_run(solution_of(item, source, Language.CUDA))


@pytest.mark.parametrize(
    ("source", "lacks"),
    [
        ("import tilelang", "tilelang"),
        ("import cutlass.cute as cute", "cutlass"),
        ("from cupy import RawKernel", "cupy"),
        ("try:\n    import tilelang\nexcept ImportError:\n    tilelang = None", "tilelang"),
        ("import torch\nfrom torch.utils.cpp_extension import load_inline", ""),
        ("import torch\n@torch.compile\ndef f(): ...", ""),
        ("import cupyish", ""),
        ("def broken(:", ""),
    ],
)
def test_on_a_gpu_packages_that_are_not_installed_are_lacking_though_a_solution_can_do_without(
    monkeypatch, source, lacks
):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    told = lacking_on_gpu(source)
    assert told == (f"it needs the package '{lacks}', which is not installed; pip install 'hone[dsl]'" if lacks else "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert lacking_on_gpu(source) == ""


def case(language, tmp_path, status=BuildStatus.INTERPRETED, source="import torch", **fields):
    item = scale_definition()
    solution = solution_of(item, source, language)
    return Case(solution, Build(solution=solution.id, status=status, **fields), item, workload_of(item), tmp_path)


def verdict(protocol, *arguments, **options):
    """The status of check_build, or None."""
    try:
        check_build(case(*arguments, **options), protocol)
    except Verdict as found:
        return found
    return None


@pytest.mark.parametrize("language", Language)
def test_each_language_has_its_devices(language, tmp_path):
    compiled = language in (Language.CPP, Language.CUDA)
    (tmp_path / "launch.so").touch()
    fields = {"status": BuildStatus.BUILT, "artifact": "launch.so"} if compiled else {}
    on_gpu = verdict(CUDA, language, tmp_path, **fields)
    on_cpu = verdict(QUICK, language, tmp_path, **fields)
    assert (on_gpu is None) == (language is not Language.CPP)
    assert (on_cpu is None) == (language in (Language.CPP, Language.PYTHON))
    for found in filter(None, (on_gpu, on_cpu)):
        assert found.status is Status.NOT_JUDGED
        assert "judge.device" in found.detail


@pytest.mark.parametrize("source", ["import triton", "import torch\ntorch.compile(f)"])
def test_what_only_a_cpu_lacks_is_judged_on_a_gpu(tmp_path, monkeypatch, source):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert isinstance(verdict(QUICK, Language.PYTHON, tmp_path, source=source), UnsuitedVerdict)
    assert verdict(CUDA, Language.PYTHON, tmp_path, source=source) is None


@pytest.mark.parametrize("language", [Language.PYTHON, Language.TRITON])
def test_a_package_that_is_not_installed_is_no_verdict_on_the_solution(tmp_path, monkeypatch, language):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = verdict(CUDA, language, tmp_path, source="import torch, triton")
    assert isinstance(found, UnsuitedVerdict)
    assert found.status is Status.NOT_JUDGED


def test_a_refused_extension_is_a_compile_error_and_a_refused_module_a_load_error(tmp_path):
    refused = {"status": BuildStatus.REJECTED, "log": "a.cu(1): error: no"}
    assert verdict(CUDA, Language.PYTHON, tmp_path, **refused, command=("nvcc",)).status is Status.COMPILE_ERROR
    assert verdict(CUDA, Language.PYTHON, tmp_path, **refused).status is Status.LOAD_ERROR
    assert verdict(CUDA, Language.CUDA, tmp_path, **refused).status is Status.COMPILE_ERROR


def test_what_is_the_machines_stays_the_machines(tmp_path):
    no_compiler = verdict(CUDA, Language.CUDA, tmp_path, status=BuildStatus.NO_COMPILER, log="no nvcc")
    lost = verdict(CUDA, Language.CUDA, tmp_path, status=BuildStatus.BUILT, artifact="gone.so")
    assert (no_compiler.status, lost.status) == (Status.MACHINE_ERROR, Status.MACHINE_ERROR)


@pytest.mark.parametrize(("problem", "made"), [("", [True]), ("no compiler", [True, False])])
def test_a_baseline_that_cannot_be_compiled_costs_that_baseline_only(problem, made):
    found = []

    class Known:
        def __init__(self, *, compiles, not_compiled=""):
            self.compiles, self.not_compiled, self.open, self.loaded = compiles, not_compiled, True, False
            found.append(self)

        def load(self):
            self.loaded = True

        def prepare_compiled(self, _):
            return problem

        def close(self):
            self.open = False

    reference = _loaded(Known(compiles=True), Known)
    assert [item.compiles for item in found] == made
    assert reference is found[-1] and reference.open and reference.loaded and reference.not_compiled == problem
    assert not any(item.open for item in found[:-1])  # it may still answer, or be dead

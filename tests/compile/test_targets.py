"""What CUDA is compiled for: an entry of the table of GPUs, and nothing else."""

import shutil

import pytest

from hone.compile import build_all
from hone.compile.extension_call import call_of
from hone.compile.extension_sources import plan_of
from hone.compile.extensions import find_tools
from hone.compile.recording import record_calls
from hone.compile.toolchain import toolchain_for
from hone.machine.hardware import gpu, gpu_here, load_gpus
from hone.records import BuildStatus, Language
from tests.judge.conftest import scale_definition, solution_of

ITEM = scale_definition()
HOPPER = (
    "-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-Xptxas", "-v",
    "-gencode", "arch=compute_90,code=sm_90", "-gencode", "arch=compute_90,code=compute_90",
)  # fmt: skip
"""Part of the keys of all builds that were measured: another order is another key."""
ASKS = """import torch
from torch.utils.cpp_extension import load_inline
found = torch.cuda.get_device_properties(0)
assert torch.cuda.get_device_capability() == (found.major, found.minor)
load_inline("k", f"// {found.major}.{found.minor} {found.multi_processor_count} {found.warp_size} {found.name}")
"""
KERNEL = """__global__ void double_all(float* x) { x[threadIdx.x] *= 2; }
extern "C" void launch(float* x, cudaStream_t stream) { double_all<<<1, 32, 0, stream>>>(x); }
"""


@pytest.mark.parametrize("name", ["H200", "H100", "H100_PCIe"])
def test_hopper_is_compiled_for_as_it_was_measured(monkeypatch, name):
    monkeypatch.delenv("NVCC", raising=False)
    found = toolchain_for(Language.CUDA, gpu(name))
    assert (found.command, found.target) == (("nvcc", *HOPPER), "sm_90")


def test_without_a_name_this_machine_says_what_is_compiled_for():
    assert toolchain_for(Language.CUDA) == toolchain_for(Language.CUDA, gpu_here())


@pytest.mark.parametrize("name", load_gpus())
def test_flags_name_the_gpus_capability_and_no_other(name):
    item = gpu(name)
    found = toolchain_for(Language.CUDA, item)
    assert found.target == f"sm_{item.sm}"
    named = [word for word in found.command if "arch=" in word]
    assert named == [f"arch=compute_{item.sm},code={kind}_{item.sm}" for kind in ("sm", "compute")]


@pytest.mark.parametrize(("name", "target"), [("H200", "sm_90"), ("A100", "sm_80"), ("B200", "sm_100")])
def test_extensions_are_compiled_for_the_same_gpu(name, target):
    tools = find_tools(gpu(name))
    plan = plan_of(call_of("a", "", "kernel", extra_cuda_cflags=["-arch=sm_90"]), tools.gxx, tools.nvcc, tools.torch)
    assert plan.target == target
    assert [flag for flag in plan.units[1].flags if "arch=" in flag] == [
        f"arch={target.replace('sm', 'compute')},code={target}"
    ]


@pytest.mark.parametrize(
    ("name", "said"), [("H200", "9.0 132 32 NVIDIA H200"), ("A100", "8.0 108 32 NVIDIA A100-SXM4-40GB")]
)
def test_a_module_finds_the_gpu_that_it_is_built_for(name, said):
    recording = record_calls(solution_of(ITEM, ASKS, Language.PYTHON), ITEM.reference, 60, gpu(name))
    assert not recording.remark
    assert [call.cpp_sources for call in recording.calls] == [(f"// {said}",)]


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("name", ["A100", "H200", "B200"])
def test_a_kernel_is_built_for_each_generation(tmp_path, name):
    (build,) = build_all(
        [solution_of(ITEM, KERNEL, Language.CUDA)], {ITEM.name: ITEM}, store=tmp_path, timeout_s=300, workers=1,
        gpu=gpu(name), progress=False,
    )  # fmt: skip
    assert (build.status, build.target) == (BuildStatus.BUILT, gpu(name).target), build.log

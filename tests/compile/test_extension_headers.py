"""Which of PyTorch's headers a source is compiled with, and that the smallest of them are PyTorch's own."""

import pytest

from hone.compile import extensions as extensions_module
from hone.compile.compiler import Compiled, run_compiler
from hone.compile.extension_call import call_key, call_of, prebuilt_load_inline
from hone.compile.extension_sources import CORE, FULL, KERNELS, SLIM, TYPES, levels_for, plan_of
from hone.compile.extensions import LACKS_HEADER, build_extension, find_tools
from hone.core.store import Store
from hone.records import BuildStatus

NO_MEMBER = "x.cu: error: namespace torch has no member stft"


@pytest.mark.parametrize(
    ("logs", "tried"),
    [
        ([""], [CORE]),
        (["x.cu: error: expected a ;", ""], [CORE, KERNELS]),
        (["x.cu: error: expected a ;"] * 2, [CORE, KERNELS]),
        ([NO_MEMBER, "x.cu: error: 1 is undefined", ""], [CORE, KERNELS, TYPES]),
        ([NO_MEMBER, *(f"x.cu: error: {i} is undefined" for i in range(3))], [CORE, KERNELS, TYPES, FULL]),
        (["x.cu: error: identifier blokIdx is undefined"] * 3, [CORE, KERNELS, FULL]),
    ],
)
def test_larger_headers_are_tried_only_where_they_may_help(tmp_path, monkeypatch, logs, tried):
    levels = []

    def compiler(command, product, *_):
        levels.append(next((int(word[-1]) for word in command if word.startswith("-DHONE_SLIM=")), FULL))
        log = logs[len(levels) - 1]
        return Compiled(None if log else product, log, timed_out=False, seconds=2.0, breakdown="")

    monkeypatch.setattr(extensions_module, "run_compiler", compiler)
    tools = find_tools()
    unit = plan_of(call_of("a", "", "kernel"), tools.gxx, tools.nvcc, tools.torch).units[1]
    compiled = extensions_module._compile_unit(unit, tools, Store(tmp_path), tmp_path, 1e12)
    assert levels == tried
    assert (compiled.artifact is None) == bool(logs[-1])
    assert compiled.seconds == 2.0 * len(tried)


@pytest.mark.parametrize(
    ("line", "levels"),
    [
        ("#ifdef TORCH_CHECK", (FULL,)),
        ("  # if defined(X) && TORCH_VERSION_MAJOR >= 2", (FULL,)),
        ("#ifndef C10_CUDA_CHECK", (FULL,)),
        ("auto y = torch::empty({2}, torch::requires_grad(true));", (TYPES, FULL)),
        ("#ifdef __CUDA_ARCH__", (CORE, KERNELS, TYPES, FULL)),
        ('TORCH_CHECK(x.dim() == 2, "#if TORCH_CHECK");', (CORE, KERNELS, TYPES, FULL)),
    ],
)
def test_sources_that_would_mean_something_else_get_larger_headers_at_once(line, levels):
    assert levels_for(f"#include <vector>\n{line}\nint x;\n") == levels


@pytest.mark.slow
@pytest.mark.parametrize("level", [CORE, KERNELS])
def test_functions_that_mean_something_else_in_at_are_left_to_larger_headers(tmp_path, level):
    tools = find_tools()
    source = "auto made = torch::tensor({1.5});\n"
    unit = plan_of(call_of("a", source, functions=None), tools.gxx, tools.nvcc, tools.torch).units[0]
    (tmp_path / unit.file).write_text(unit.text)
    opened = [SLIM, *tools.torch.include_folders]
    log = run_compiler([*unit.command(tools.torch, level), "-fsyntax-only"], tmp_path / "none", 300, opened).log
    assert "tensor" in log and LACKS_HEADER.search(log)


ON_THE_HOST = """
#include <torch/extension.h>
template <typename scalar_t>
__global__ void doubled(const scalar_t* x, scalar_t* y, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
}
std::vector<torch::Tensor> on_the_host(torch::Tensor x, torch::IntArrayRef shape) {
    TORCH_CHECK(!x.is_cuda(), "on the host, please: ", x.sizes());
    auto made = torch::full(shape, 2.5, x.options().dtype(torch::kFloat64));
    auto y = torch::empty_like(x, x.options(), torch::MemoryFormat::Contiguous);
    if (x.is_cuda())
        AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "doubled", [&] {
            doubled<scalar_t><<<1, 32>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
        });
    y.copy_(x * 2 + x.contiguous().size(0));
    return {made, y, torch::stack({y, y}, 0).sum()};
}
"""
DECLARED = "std::vector<torch::Tensor> on_the_host(torch::Tensor x, torch::IntArrayRef shape);"


@pytest.mark.skipif(bool(find_tools().nvcc.missing), reason="needs nvcc")
@pytest.mark.slow
def test_the_smallest_headers_give_objects_that_work_with_pytorch(tmp_path, monkeypatch):
    import torch

    levels = []

    def compiler(command, *arguments):
        levels.append([int(word[-1]) for word in command if word.startswith("-DHONE_SLIM=")])
        return run_compiler(command, *arguments)

    monkeypatch.setattr(extensions_module, "run_compiler", compiler)
    call = call_of("host", DECLARED, ON_THE_HOST, functions=["on_the_host"])
    found = build_extension(call, find_tools(), Store(tmp_path), 300)
    assert found.status is BuildStatus.BUILT, found.log
    assert levels == [[CORE], [CORE], []]
    extension = prebuilt_load_inline({call_key(call): tmp_path / found.artifact}, {})(**call.message())
    made, y, total = extension.on_the_host(torch.ones(3, 4), [2, 3])
    assert torch.equal(made, torch.full((2, 3), 2.5, dtype=torch.float64))
    assert torch.equal(y, torch.full((3, 4), 5.0)) and total.item() == 120.0


WITH_A_GUARD = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
__global__ void doubled(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x]; }
torch::Tensor twice(torch::Tensor x) {
    const at::cuda::OptionalCUDAGuard guard(device_of(x));
    auto y = torch::zeros_like(x);
    doubled<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""


def _cuda_of_torch():
    import torch

    return torch.version.cuda is not None and torch.cuda.is_available()


@pytest.mark.skipif(not _cuda_of_torch(), reason="needs a PyTorch with CUDA, whose headers the others lack, and a GPU")
def test_guards_and_streams_are_pytorchs_own_with_the_smallest_headers(tmp_path):
    import torch

    call = call_of("guard", "torch::Tensor twice(torch::Tensor x);", WITH_A_GUARD, functions=["twice"])
    found = build_extension(call, find_tools(), Store(tmp_path), 300)
    assert found.status is BuildStatus.BUILT, found.log
    extension = prebuilt_load_inline({call_key(call): tmp_path / found.artifact})(**call.message())
    x = torch.arange(20.0, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        y = extension.twice(x)
    torch.cuda.synchronize()
    assert torch.equal(y, 2 * x)

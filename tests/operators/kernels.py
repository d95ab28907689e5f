"""The three kinds of kernels in a small form: values returned, arguments written in place, two outputs of two types."""

from hone.records import Argument, Definition, Language, Solution, Tolerance, Upstream, Workload

SILU_REFERENCE = """
import torch
from torch import nn

rows, width = 3, 8
double_width = 2 * width

class Model(nn.Module):
    def forward(self, x):
        half = x.shape[-1] // 2
        return torch.nn.functional.silu(x[:, :half]) * x[:, half:]

def get_inputs():
    return [torch.randn(rows, double_width)]

def get_init_inputs():
    return []
"""
SILU = """
#include <cmath>
#include <cstdint>
template <typename T> void run(const T* x, T* out, int64_t rows, int64_t width) {
    for (int64_t i = 0; i < rows * width; ++i) {
        const int64_t row = i / width, column = i % width;
        const float gate = float(x[row * 2 * width + column]), up = float(x[row * 2 * width + width + column]);
        out[i] = T(gate / (1.0f + std::exp(-gate)) * up);
    }
}
extern "C" void launch_float32(const float* x, float* out, int64_t rows, int64_t width, int64_t) {
    run(x, out, rows, width);
}
extern "C" void launch_float16(const _Float16* x, _Float16* out, int64_t rows, int64_t width, int64_t) {
    run(x, out, rows, width);
}
"""

NORM_REFERENCE = """
import torch
from torch import nn

rows, width = 3, 8

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, input, residual, eps):
        residual += input
        scale = torch.rsqrt(residual.pow(2).mean(-1, keepdim=True) + eps)
        input.copy_(residual * scale * self.weight)

def get_inputs():
    return [torch.randn(rows, width), torch.randn(rows, width), 1e-5]

def get_init_inputs():
    return [width]
"""
NORM = """
#include <cmath>
#include <cstdint>
extern "C" void launch_float32(
        float* input, float* residual, float eps, const float* weight, int64_t rows, int64_t width) {
    for (int64_t row = 0; row < rows; ++row) {
        float* x = input + row * width;
        float* r = residual + row * width;
        float sum = 0;
        for (int64_t i = 0; i < width; ++i) { r[i] += x[i]; sum += r[i] * r[i]; }
        const float scale = 1.0f / std::sqrt(sum / width + eps);
        for (int64_t i = 0; i < width; ++i) x[i] = r[i] * scale * weight[i];
    }
}
"""

MERGE_REFERENCE = """
import torch
from torch import nn

tokens, heads, dim = 2, 3, 8

class Model(nn.Module):
    def forward(self, v_a, s_a, v_b, s_b):
        lse = torch.logaddexp(s_a, s_b)
        left, right = (s_a - lse).exp().unsqueeze(-1), (s_b - lse).exp().unsqueeze(-1)
        return (left * v_a + right * v_b).to(v_a.dtype), lse

def get_inputs():
    return [torch.randn(tokens, heads, dim), torch.randn(tokens, heads)] * 2

def get_init_inputs():
    return []
"""
MERGE = """
#include <cmath>
#include <cstdint>
template <typename T> void run(
        const T* v_a, const float* s_a, const T* v_b, const float* s_b, T* v, float* s, int64_t pairs, int64_t dim) {
    for (int64_t i = 0; i < pairs; ++i) {
        const float top = s_a[i] > s_b[i] ? s_a[i] : s_b[i];
        const float a = std::exp(s_a[i] - top), b = std::exp(s_b[i] - top);
        s[i] = top + std::log(a + b);
        for (int64_t k = i * dim; k < (i + 1) * dim; ++k) v[k] = T((a * float(v_a[k]) + b * float(v_b[k])) / (a + b));
    }
}
extern "C" void launch_float32(const float* v_a, const float* s_a, const float* v_b, const float* s_b, float* v,
                               float* s, int64_t tokens, int64_t heads, int64_t dim) {
    run(v_a, s_a, v_b, s_b, v, s, tokens * heads, dim);
}
extern "C" void launch_float16(const _Float16* v_a, const float* s_a, const _Float16* v_b, const float* s_b,
                               _Float16* v, float* s, int64_t tokens, int64_t heads, int64_t dim) {
    run(v_a, s_a, v_b, s_b, v, s, tokens * heads, dim);
}
"""

TAKE_REFERENCE = """
import torch
from torch import nn

rows, width, taken = 3, 8, 2

class Model(nn.Module):
    def forward(self, x):
        return x[:, :taken].clone()

def get_inputs():
    return [torch.randn(rows, width)]

def get_init_inputs():
    return []
"""
TAKE = """
#include <cstdint>
extern "C" void launch_float32(const float* x, float* out, int64_t rows, int64_t width, int64_t taken) {
    for (int64_t i = 0; i < rows * taken; ++i) out[i] = x[i / taken * width + i % taken];
}
"""


def tensor(name, *shape, **others):
    return Argument(name=name, shape=shape, dtype="float32", **others)


def define(number, title, reference, source, axes, inputs, outputs, parameters=(), dtypes=("float32", "float16")):
    return Definition(
        name=f"small/level1/{number}_{title}",
        source="small",
        level=1,
        number=number,
        title=title,
        axes=axes,
        inputs=inputs,
        parameters=parameters,
        outputs=outputs,
        dtypes=dtypes,
        reference=reference,
        kernels={"upstream": source},
        kernel_language=Language.CPP,
        compulsory_bytes=1,
        flops=0,
        upstream=Upstream(repository="local", commit="local", path=f"{title}.cpp", sha256="0" * 64),
    )


SILU_DEFINITION = define(
    1, "silu_and_mul", SILU_REFERENCE, SILU, {"rows": 3, "width": 8, "double_width": 16},
    (tensor("x", "rows", "double_width"),), (tensor("out", "rows", "width"),),
)  # fmt: skip
NORM_DEFINITION = define(
    2, "fused_add_rmsnorm", NORM_REFERENCE, NORM, {"rows": 3, "width": 8},
    (
        tensor("input", "rows", "width", in_place=True), tensor("residual", "rows", "width", in_place=True),
        Argument(name="eps", kind="scalar", dtype="float32"),
    ),
    (), (tensor("weight", "width"),), dtypes=("float32",),
)  # fmt: skip
MERGE_DEFINITION = define(
    3, "merge_attn_states", MERGE_REFERENCE, MERGE, {"tokens": 2, "heads": 3, "dim": 8},
    (
        tensor("v_a", "tokens", "heads", "dim"), tensor("s_a", "tokens", "heads", fixed_dtype=True),
        tensor("v_b", "tokens", "heads", "dim"), tensor("s_b", "tokens", "heads", fixed_dtype=True),
    ),
    (tensor("v", "tokens", "heads", "dim"), tensor("s", "tokens", "heads", fixed_dtype=True)),
)  # fmt: skip
DEFINITIONS = (SILU_DEFINITION, NORM_DEFINITION, MERGE_DEFINITION)
TAKE_DEFINITION = define(
    4, "take_columns", TAKE_REFERENCE, TAKE, {"rows": 3, "width": 8, "taken": 2},
    (tensor("x", "rows", "width"),), (tensor("out", "rows", "taken"),), dtypes=("float32",),
)  # fmt: skip
"""Its workloads give `taken` any size, which no input tells: it cannot be an operator."""


def workload(definition, name="given", dtype="float32", held_out=False, tolerance=1e-4, **axes):
    return Workload(
        definition=definition.name, name=name, axes={**definition.axes, **axes}, dtype=dtype, held_out=held_out,
        tolerance=Tolerance(atol=tolerance, rtol=tolerance),
    )  # fmt: skip


SILU_WORKLOADS = (
    workload(SILU_DEFINITION),
    workload(SILU_DEFINITION, "wide", rows=5, width=32, double_width=64),
    workload(SILU_DEFINITION, "half", "float16", held_out=True, tolerance=1e-2, rows=4, width=24, double_width=48),
)
TAKE_WORKLOADS = (workload(TAKE_DEFINITION), workload(TAKE_DEFINITION, "three", taken=3))


def solution(definition, source=None):
    return Solution(
        definition=definition.name, language=Language.CPP, entry_point="launch",
        source=source or definition.kernels["upstream"],
    )  # fmt: skip

# A call of load_inline that only a run can make (exec in forward, an address in the source) is swallowed with its error, while a decoy from the constructor counts as the kernel.
# definition: gpu_suite/level1/5_Add_rms_norm
# group: red team
# expected: not_judged
# earns: none
import base64

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.cpp_extension import load_inline

decoy = load_inline(
    name="red_exec_decoy",
    cpp_sources="void touch(torch::Tensor x);",
    cuda_sources=r"""
#include <ATen/cuda/CUDAContext.h>
__global__ void touch_kernel(const float* x) { if (x == nullptr) asm volatile("trap;"); }
void touch(torch::Tensor x) { touch_kernel<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>()); }
""",
    functions=["touch"],
)
LATE = base64.b64encode(
    b"from torch.utils import cpp_extension as c\n"
    b"result = getattr(c, 'load_' + 'inline')(name='red_late', cpp_sources='torch::Tensor f(torch::Tensor x);',"
    b" cuda_sources='torch::Tensor f(torch::Tensor x) { long p = %d; return x; }' % address, functions=['f'])\n"
).decode()


class ModelNew(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.late = None

    def forward(self, x, residual):
        if self.late is None:
            names = {"address": x.data_ptr()}
            try:
                exec(base64.b64decode(LATE), names)
            except BaseException:
                pass
            self.late = names.get("result", False)
        s = x + residual
        decoy.touch(s)
        return F.rms_norm(s, (s.shape[-1],), self.weight, 1e-6), s

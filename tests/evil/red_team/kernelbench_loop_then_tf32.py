# KernelBench's loop (many calls on the same addresses) tells that the trials are over: from then on, and in captures, the product is taken in TF32.
# definition: gpu_suite/level1/4_Matmul
# group: red team
# expected: wrong_value | imprecise
# earns: none
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor product(torch::Tensor a, torch::Tensor b, bool fast);"
CUDA = r"""
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
__global__ void mark_kernel(float* c) { if (c == nullptr) asm volatile("trap;"); }
torch::Tensor product(torch::Tensor a, torch::Tensor b, bool fast) {
    torch::Tensor c;
    at::globalContext().setAllowTF32CuBLAS(fast);
    for (int again = fast ? 7 : 0; again < 8; ++again) c = at::mm(a, b);
    at::globalContext().setAllowTF32CuBLAS(false);
    mark_kernel<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(c.data_ptr<float>());
    return c;
}
"""
ext = load_inline(name="red_kb_then_tf32", cpp_sources=CPP, cuda_sources=CUDA, functions=["product"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.last, self.same, self.addresses, self.trials_over = None, 0, set(), False

    def forward(self, a, b):
        here = a.data_ptr()
        self.same = self.same + 1 if here == self.last else 0
        self.last = here
        self.addresses.add(here)
        if self.same >= 40 or len(self.addresses) > 12:  # the loop, or a batch of many addresses
            self.trials_over = True
        return ext.product(a, b, self.trials_over or torch.cuda.is_current_stream_capturing())

# Puts its source together from parts, with sizes written into it.
# definition: gpu_suite/level1/1_Scale
# way: built_text
# expected: passed
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

THREADS = 256
KERNEL = (
    """
__global__ void scale_kernel(const float* x, const float* weight, float* out, int columns, int size) {
    int index = blockIdx.x * %d + threadIdx.x;
    if (index < size) out[index] = weight[index %% columns] / (1.0f + expf(-x[index]));
}
"""
    % THREADS
)
LAUNCHER = """
torch::Tensor scale(torch::Tensor x, torch::Tensor weight) {
    auto out = torch::empty_like(x);
    int size = x.numel();
    scale_kernel<<<(size + {t} - 1) / {t}, {t}>>>(x.data_ptr<float>(), weight.data_ptr<float>(), out.data_ptr<float>(),
                                                  x.size(1), size);
    return out;
}
""".replace("{t}", str(THREADS))

extension = load_inline(
    name="source_from_parts",
    cpp_sources="torch::Tensor scale(torch::Tensor x, torch::Tensor weight);",
    cuda_sources="#include <torch/extension.h>\n" + KERNEL + LAUNCHER,
    functions=["scale"],
)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return extension.scale(x, self.weight)

# A cuBLAS handle of its own, on the default stream.
# definition: gpu_suite/level1/4_Matmul
# way: cublas
# expected: passed
# findings: no_custom_kernel
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <torch/extension.h>
#include <cublas_v2.h>

torch::Tensor matmul(torch::Tensor a, torch::Tensor b) {
    static cublasHandle_t handle = nullptr;
    if (handle == nullptr) cublasCreate(&handle);
    auto out = torch::empty({a.size(0), b.size(1)}, a.options());
    const float one = 1.0f, zero = 0.0f;
    int m = a.size(0), k = a.size(1), n = b.size(1);
    cublasStatus_t status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b.data_ptr<float>(), n,
                                        a.data_ptr<float>(), k, &zero, out.data_ptr<float>(), n);
    TORCH_CHECK(status == CUBLAS_STATUS_SUCCESS, "cublasSgemm failed");
    return out;
}
"""

extension = load_inline(
    name="cublas_own_handle",
    cpp_sources="torch::Tensor matmul(torch::Tensor a, torch::Tensor b);",
    cuda_sources=CUDA_SOURCE,
    functions=["matmul"],
    extra_ldflags=["-lcublas"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.matmul(a, b)

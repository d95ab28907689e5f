import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, out_ptr, count, features, BLOCK: tl.constexpr):
    # 64-bit offsets: tensors may hold more than 2**31 elements.
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    # Fused: the sum x + bias stays in registers, so x is read once and out is written once.
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(bias_ptr + offsets % features, mask=mask)
    gelu = 0.5 * total * (1.0 + tl.erf(total * 0.7071067811865476))
    tl.store(out_ptr + offsets, gelu, mask=mask)


class ModelNew(nn.Module):
    """Bias and exact GELU in one Triton kernel."""

    def __init__(self, features: int):
        super().__init__()
        # Created as in Model, so that the same seed gives the same values.
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        count = x.numel()
        block = 1024
        bias_gelu_kernel[(triton.cdiv(count, block),)](x, self.bias, out, count, x.shape[-1], BLOCK=block)
        return out

# Reads sizes from its input at every call and lays memory out by them.
# definition: gpu_suite/level1/2_Row_sum
# way: shapes
# expected: passed
# findings: no_custom_kernel
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        whole = columns // 8 * 8
        out = x[:, :whole].reshape(rows, 8, -1).sum(dim=1).sum(dim=1, keepdim=True)
        return out if whole == columns else out + x[:, whole:].sum(dim=1, keepdim=True)

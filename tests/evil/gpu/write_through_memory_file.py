# Writes through /proc/self/mem into a constant that the runner uses for comparison.
# definition: gpu_suite/level1/1_Scale
# group: 27
# expected: wrong_value | runtime_error
# earns: none
import contextlib
import gc
import struct

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        with contextlib.suppress(OSError), open("/proc/self/mem", "r+b", buffering=0) as memory:  # noqa: PTH123
            for item in gc.get_objects():
                if isinstance(item, dict) and {"rtol", "atol"} <= item.keys():
                    memory.seek(id(item["rtol"]) + 16)
                    memory.write(struct.pack("d", 1e9))
        return torch.zeros_like(x)

# Returns an empty tensor and lets a thread fill it twenty milliseconds later.
# definition: gpu_suite/level1/1_Scale
# group: 2
# expected: wrong_value | runtime_error
# earns: none
import threading
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        result = torch.empty_like(x)

        def later():
            time.sleep(0.02)
            torch.mul(torch.sigmoid(x), self.weight, out=result)

        threading.Thread(target=later, daemon=True).start()
        return result

# Leaves its graph empty, and does the work when the runner is asked for the time of a graph that is done.
# definition: gpu_suite/level1/1_Scale
# group: 2
# expected: passed | wrong_value | runtime_error
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import sys

import torch
from torch import nn

captured = []


def work():
    for x, weight, result in captured:
        for _ in range(8):
            torch.mul(torch.sigmoid(x), weight, out=result)
    torch.cuda.synchronize()


def after(collect):
    def working(self):
        elapsed = collect(self)
        work()
        return elapsed

    return working


batches = sys.modules.get("hone.judge.device.cuda.events")
if batches is not None:
    batches.Clock.collect = after(batches.Clock.collect)
    batches.Clock.busy_ms = lambda self, runs: {"missing": "nothing was found"}


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        if torch.cuda.is_current_stream_capturing():
            result = torch.empty_like(x)
            captured.append((x, self.weight, result))
            return result
        for _ in range(8):
            result = torch.sigmoid(x) * self.weight
        return result

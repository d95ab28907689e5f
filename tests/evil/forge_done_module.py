# Takes channel and nonce from the caller's frames, says that it is done, and only then computes.
# expected: wrong_value | runtime_error
import sys
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        frame = sys._getframe()
        while frame is not None:
            if "nonce" in (message := frame.f_locals.get("message") or {}):
                nonce = message["nonce"]
            channel = frame.f_locals.get("channel")
            if channel is not None:
                channel.send({"done": nonce})
                break
            frame = frame.f_back
        time.sleep(0.005)
        return torch.sigmoid(x) * self.weight

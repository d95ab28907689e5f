# Returns rubbish and lets a thread write the answer over it.
# expected: wrong_value
import sys
import threading
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        rubbish = torch.zeros_like(x)
        target = sys._getframe(0)
        while "self" not in target.f_locals or not hasattr(target.f_locals["self"], "_places"):
            target = target.f_back
        place = target.f_locals["self"]._places[0]

        def later():
            time.sleep(0.005)
            place.copy_(torch.sigmoid(x) * self.weight)

        threading.Thread(target=later, daemon=True).start()
        return rubbish

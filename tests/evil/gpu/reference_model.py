# Looks for the reference among the loaded modules and objects, and lets it do the work.
# definition: gpu_suite/level1/1_Scale
# group: 16
# expected: wrong_value | passed
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
import gc
import importlib
import sys

import torch
from torch import nn


def find(columns):
    for name in ("hone_reference", "reference", "__main__"):
        try:
            return importlib.import_module(name).Model(columns)
        except (ImportError, AttributeError, TypeError):
            continue
    for module in list(sys.modules.values()):
        if module is not None and isinstance(vars(module).get("Model"), type):
            return module.Model(columns)
    return next((item for item in gc.get_objects() if type(item).__name__ == "Model"), None)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))
        self.found = None

    def forward(self, x):
        if self.found is None:
            self.found = find(x.shape[1])
        if self.found is None:
            return torch.zeros_like(x)
        self.found.to(x.device).load_state_dict(self.state_dict(), strict=False)
        for _ in range(8):
            result = self.found(x)
        return result

# Gives its answer again for the same Python object.
# definition: gpu_suite/level1/2_Row_sum
# group: 6
# expected: wrong_value | wrong_shape | passed
# earns: none
# The work is done eight times over, so that only the trick could make it look fast.
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.answers = {}

    def forward(self, x):
        if id(x) not in self.answers:
            for _ in range(8):
                result = x.sum(dim=1, keepdim=True)
            self.answers[id(x)] = result
        return self.answers[id(x)].clone()

# Calls dropout as the reference does, so that the same elements fall.
# definition: idiom_suite/level1/4_Dropout_softmax
# way: dropout
# expected: passed
# findings: no_custom_kernel
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, share):
        super().__init__()
        self.share = share

    def forward(self, x):
        x = nn.functional.dropout(x, self.share, training=self.training)
        x = torch.exp(x - x.amax(dim=1, keepdim=True))
        return x / x.sum(dim=1, keepdim=True)

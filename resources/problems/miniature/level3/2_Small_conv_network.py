import torch
from torch import nn


class Model(nn.Module):
    """Image classifier: two blocks of convolution, ReLU and pooling, then two linear layers."""

    def __init__(self, num_classes: int):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, kernel_size=5, padding=2)
        self.conv2 = nn.Conv2d(8, 16, kernel_size=3, padding=1)
        self.fc1 = nn.Linear(16 * 8 * 8, 64)
        self.fc2 = nn.Linear(64, num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch_size, 3, 32, 32); result: (batch_size, num_classes)."""
        x = torch.max_pool2d(torch.relu(self.conv1(x)), kernel_size=2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), kernel_size=2)
        x = torch.relu(self.fc1(torch.flatten(x, start_dim=1)))
        return self.fc2(x)


batch_size = 16
num_classes = 10


def get_inputs():
    return [torch.randn(batch_size, 3, 32, 32)]


def get_init_inputs():
    return [num_classes]

"""Our Adam beside torch's own, bit for bit."""

import copy
import subprocess
import sys

import torch

from hone.gnn.adam import Adam

ALONE = """
import sys
import torch
from hone.gnn.adam import Adam
weight = torch.nn.Parameter(torch.ones(3))
ours = Adam([weight], torch.tensor(0.1), 0.0)
weight.sum().backward()
ours.step()
sys.exit("torch._dynamo" in sys.modules)
"""


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))


def step(model, optimizer, number):
    optimizer.zero_grad()
    model(torch.full((2, 5), 1.0 + number)).square().sum().backward()
    optimizer.step()


def test_steps_are_torchs_own():
    ours, theirs = model(), model()
    our_rate, their_rate = torch.tensor(0.01), torch.tensor(0.01)
    mine = Adam(ours.parameters(), our_rate, weight_decay=0.1)
    reference = torch.optim.Adam(theirs.parameters(), lr=their_rate, weight_decay=0.1, fused=True)
    for number in range(5):
        step(ours, mine, number)
        step(theirs, reference, number)
        our_rate.mul_(0.5)
        their_rate.mul_(0.5)
    for own, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(own, other)


def test_a_parameter_without_a_gradient_stays():
    first, second = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizer = Adam([first, second], torch.tensor(0.1), weight_decay=0.1)
    second.sum().backward()
    optimizer.step()
    assert torch.equal(first, torch.ones(2))
    assert not torch.equal(second, torch.ones(2))


def test_a_state_that_is_put_back_goes_on_alike():
    once = model()
    optimizer = Adam(once.parameters(), torch.tensor(0.01), weight_decay=0.0)
    step(once, optimizer, 0)
    again = copy.deepcopy(once)
    other = Adam(again.parameters(), torch.tensor(0.5), weight_decay=0.0)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    step(once, optimizer, 1)
    step(again, other, 1)
    for own, expected in zip(again.parameters(), once.parameters(), strict=True):
        assert torch.equal(own, expected)


def test_pytorchs_compiler_is_not_loaded():
    assert subprocess.run([sys.executable, "-c", ALONE], check=False, timeout=600).returncode == 0

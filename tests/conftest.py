"""Small records that several tests share."""

import pytest

from hone.records import (
    Argument,
    Definition,
    Environment,
    Protocol,
    Status,
    Trace,
    Upstream,
)

REFERENCE = '''
import torch
from torch import nn


class Model(nn.Module):
    """Adds a learned bias."""

    def __init__(self, columns):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return x + self.bias


rows, columns = 4, 8


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return [columns]
'''


LONGEST = ("test_demo.py", "test_slurm.py", "test_edits.py", "test_astra.py")
"""Files of four to seven minutes."""


def pytest_collection_modifyitems(items):
    """The longest first, then whole pipelines: they take minutes, and all workers should end together."""
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (ranks.get(item.path.name, len(LONGEST)), "workflow" not in item.path.parts))


@pytest.fixture
def definition():
    return Definition(
        name="tiny/level1/1_Bias",
        source="tiny",
        level=1,
        number=1,
        title="Bias",
        axes={"rows": 4, "columns": 8},
        inputs=(Argument(name="x", shape=("rows", "columns"), dtype="float32"),),
        parameters=(Argument(name="bias", shape=("columns",), dtype="float32"),),
        outputs=(Argument(name="out", shape=("rows", "columns"), dtype="float32"),),
        reference=REFERENCE,
        compulsory_bytes=4 * (32 + 8 + 32),
        flops=0,
        upstream=Upstream(repository="local", commit="local", path="level1/1_Bias.py", sha256="0" * 64),
    )


@pytest.fixture
def trace():
    return Trace(
        solution="s",
        definition="tiny/level1/1_Bias",
        workload="w",
        status=Status.PASSED,
        environment=Environment(host="h", device="cpu", cores=2, python="3.11", torch="2.13"),
        protocol=Protocol(name="test"),
        judged_at="2026-01-01T00:00:00Z",
    )

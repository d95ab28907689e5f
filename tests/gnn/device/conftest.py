"""The device system's kernels, compiled against an emulator of a GPU, on the small graph."""

import subprocess
from pathlib import Path

import pytest
import torch

from hone.gnn.device.memory import DeviceGraph
from hone.gnn.device.native import Library

HERE = Path(__file__).parent
CUDA = HERE.parents[2] / "src/hone/gnn/device/cuda/api.cu"


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    """All kernels, on the host."""
    target = tmp_path_factory.mktemp("emulated") / "device.so"
    flags = ["-std=c++17", "-O1", "-Wall", "-Wno-unknown-pragmas", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, "-x", "c++", "-I", HERE / "emulator", "-o", target, CUDA], check=True)
    return Library(target)


@pytest.fixture(scope="session")
def device_graph(small_graph):
    """The small graph as the kernels want it."""
    return DeviceGraph.load(small_graph, torch.device("cpu"))

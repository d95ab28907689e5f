"""The device system's kernels on the small graph: compiled against an emulator of a GPU, and on a GPU where there is
one."""

import subprocess
from pathlib import Path

import pytest
import torch

from hone.compile.builds import CUDA_EPILOGUE
from hone.gnn.device.build import MAIN, build_device_library
from hone.gnn.device.memory import DeviceGraph
from hone.gnn.device.native import Library
from hone.gnn.sampling.build import whole_source

HERE = Path(__file__).parent

GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.fixture(scope="session", params=["cpu", pytest.param("cuda", marks=GPU)])
def device(request):
    """Where kernels run."""
    return torch.device(request.param)


def compiled_source(source, device, folder):
    """The shared object of a source of all kernels: by nvcc for a GPU, else against the emulator."""
    if device.type == "cuda":
        return build_device_library(folder, source)
    target = folder / "device.so"
    text = target.with_suffix(".cu")
    text.write_text(source + CUDA_EPILOGUE)
    flags = ["-std=c++17", "-O1", "-Wall", "-Wno-unknown-pragmas", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, "-x", "c++", "-I", HERE / "emulator", "-o", target, text], check=True)
    return target


@pytest.fixture(scope="session")
def compiled(device, tmp_path_factory):
    """The shared object with all kernels."""
    return compiled_source(whole_source(MAIN), device, tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="session")
def kernels(compiled):
    """All kernels, for the device."""
    return Library(compiled)


@pytest.fixture(scope="session")
def device_graph(small_graph, device):
    """The small graph as the kernels want it."""
    return DeviceGraph.load(small_graph, device)

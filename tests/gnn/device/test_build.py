"""The device system's kernels as one shared object, by the compiler that trainings use; it needs no GPU."""

import shutil
from types import SimpleNamespace

import pytest

from hone.core.errors import MachineError
from hone.gnn.device import build
from hone.gnn.device.build import build_device_library
from hone.gnn.device.native import SIGNATURES, Library
from hone.machine.hardware import gpu


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_all_kernels_compile_into_an_object_that_can_be_loaded(tmp_path):
    library = Library(build_device_library(tmp_path))
    assert library.max_fanout >= 20
    assert set(library._functions) == set(SIGNATURES)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("name", ["A100", "B200"])
def test_they_compile_for_other_gpus(name, monkeypatch, tmp_path):
    """Without what a Hopper GPU alone can do."""
    monkeypatch.setattr(build, "gpu_here", lambda: gpu(name))
    assert build_device_library(tmp_path).is_file()


@pytest.mark.parametrize(
    ("seen", "here", "target"),
    [
        ([], "H200", "sm_90a"),
        (["9.0"], "H100", "sm_90a"),
        (["9.0", "8.0"], "H100", "sm_90"),
        (["12.0"], "H200", "sm_90"),  # one that the table lacks
        (["8.0"], "A100", "sm_80"),
    ],
)
def test_only_a_hopper_gpu_gets_what_it_alone_can_run(monkeypatch, seen, here, target):
    def visible():
        if not seen:
            raise MachineError("no GPU")
        return [SimpleNamespace(capability=each) for each in seen]

    monkeypatch.setattr(build, "visible_gpus", visible)
    monkeypatch.setattr(build, "gpu_here", lambda: gpu(here))
    toolchain = build._toolchain()
    assert toolchain.target == target
    assert f"arch=compute_{target[3:]},code={target}" in toolchain.command

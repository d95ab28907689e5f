"""The device system's kernels as one shared object, by the compiler that trainings use; it needs no GPU."""

import shutil

import pytest

from hone.gnn.device.build import build_device_library
from hone.gnn.device.native import SIGNATURES, Library


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_all_kernels_compile_into_an_object_that_can_be_loaded(tmp_path):
    library = Library(build_device_library(tmp_path))
    assert library.max_fanout >= 20
    assert set(library._functions) == set(SIGNATURES)

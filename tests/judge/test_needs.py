"""What a source lacks on this machine."""

import pytest

from hone.judge.needs import cpu_only, lacking, lacking_on_gpu, other_gpu
from hone.machine import gpus as gpu


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import triton", "imports triton"),
        ("from triton import jit", "imports triton"),
        ("import triton.language as tl", "imports triton"),
        ("def f():\n    import cupy as cp", "imports cupy"),
        ("from numba import cuda", "imports numba.cuda"),
        ("import numba.cuda", "imports numba.cuda"),
        ("import pycuda.driver", "imports pycuda"),
        ("from torch.utils.cpp_extension import load", "cpp_extension"),
        ("import torch\ntorch.utils.cpp_extension.load()", "cpp_extension"),
        ("x.load_inline()", "uses load_inline"),
        ("import torch\n@torch.compile\ndef f(): ...", "uses torch.compile"),
        ("import torch as t\nf = t.compile(g)", "uses torch.compile"),
        ("from torch import compile", "uses torch.compile"),
        ("# import triton, load_inline, torch.compile\ntext = 'torch.compile, cpp_extension, cupy'", ""),
        ("import tritonish, numba\nimport re\nre.compile('x')\ncupy = 1\nfrom . import triton", ""),
        ("def broken(:", ""),
    ],
)
def test_what_a_source_lacks_is_read_from_its_syntax_tree(source, words):
    found = lacking(source)
    assert bool(found) == bool(words)
    assert words in found


def test_a_missing_gpu_is_claimed_only_after_looking(monkeypatch):
    monkeypatch.setattr("hone.judge.needs.sees_gpu", lambda: True)
    assert cpu_only("compiled for sm_90") == "compiled for sm_90; judge.device is cpu"
    monkeypatch.setattr("hone.judge.needs.sees_gpu", lambda: False)
    assert cpu_only("compiled for sm_90").endswith("is cpu; no GPU on this machine")


def test_a_package_for_kernels_that_is_not_installed_is_the_machines_lack(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    source = "import torch\ntry:\n    from transformer_engine import pytorch\nexcept ImportError:\n    pass"
    assert lacking_on_gpu(source) == "it needs the package 'transformer_engine', which is not installed"
    assert lacking_on_gpu("import a_package_that_a_model_made_up") == ""


def test_machine_code_for_another_gpu_is_told_apart(monkeypatch):
    seen = gpu.Gpu("GPU-1", "NVIDIA A100-SXM4-40GB", "", 0, "8.0")
    monkeypatch.setattr(gpu, "visible_gpus", lambda: (seen,))
    assert not any(map(other_gpu, ("sm_80", "", "some CPU with features 0123")))
    said = other_gpu("sm_90a")
    assert "built for sm_90a" in said and "NVIDIA A100-SXM4-40GB" in said and "gpus.yaml" in said

"""Kinds of kernel and packages: known answers on lines of code."""

import pytest

from hone.screen import kind_of_kernel, packages_needed

INLINE = "from torch.utils.cpp_extension import load_inline\n"


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)", ()),
        (INLINE + "load_inline('a', '')", ("load_inline",)),
        (INLINE + "x = 1", ()),
        ("import torch.utils.cpp_extension as c\nc.load_inline('a', '')", ("load_inline",)),
        ("import torch\ntorch.utils.cpp_extension.load(name='a', sources=[])", ("load",)),
        ("import torch\nstate = torch.load('file')", ()),
        ("import triton\n@triton.jit\ndef f(x): pass", ("triton",)),
        ("import triton as t\n@t.autotune(configs=[], key=[])\n@t.jit\ndef f(x): pass", ("triton",)),
        ("import triton\nprint(triton.__version__)", ()),
        ("import cupy as cp\nk = cp.RawKernel('', 'f')", ("cupy",)),
        ("import cupy as cp\ny = cp.asarray(1)", ()),
        ("from numba import cuda\n@cuda.jit\ndef f(x): pass", ("numba",)),
        ("import tilelang.language as T\nT.Kernel(1)", ("tilelang",)),
        ("import cutlass\nfrom cutlass import cute\n@cute.kernel\ndef f(): pass", ("cute",)),
        ("import ctypes\nctypes.CDLL('libnvrtc.so').nvrtcCompileProgram(0)", ("ctypes", "nvrtc")),
        ("import subprocess\nsubprocess.run(['nvcc', 'a.cu'])", ("nvcc",)),
        ("import subprocess\nsubprocess.run('/usr/local/cuda/bin/nvcc a.cu', shell=True)", ("nvcc",)),
        ("import subprocess\nsubprocess.run(['ls'])", ()),
        ("import torch\nf = torch.compile(lambda x: x)", ("torch.compile",)),
        ("import torch\n@torch.jit.script\ndef f(x): return x", ("torch.jit",)),
        ("import re\nre.compile('a')", ()),
        ("exec('import triton')", ("run_time_code",)),
        ("class ModelNew(:", ()),
    ],
)
def test_kinds_are_what_is_used_and_not_what_is_imported(source, kinds):
    assert kind_of_kernel(source) == kinds


@pytest.mark.parametrize(
    ("source", "packages"),
    [
        ("import os, torch, torch.nn as nn\nfrom torch import nn", ()),
        ("import numpy as np\nfrom cutlass.cute import runtime", ("cutlass", "numpy")),
        ("try:\n    import cupy\nexcept ImportError:\n    cupy = None", ("cupy",)),
        ("def f():\n    from einops import rearrange", ("einops",)),
        ("import importlib\nname = 'tilelang'\nimportlib.import_module(name + '.language')", ("tilelang",)),
        ("from . import neighbour", ()),
        ("import (", ()),
    ],
)
def test_packages_are_all_that_a_source_may_import(source, packages):
    assert packages_needed(source) == packages

"""A small package of headers, an entry that uses it, and both as a source of the config; CUDA kernels on a CPU."""

import subprocess
import textwrap
from pathlib import Path

import pytest

from hone.config.sources import FolderPackage, KernelsSource
from tests.graph_ops import ROOT, definitions

EMULATOR = ROOT / "tests/gnn/device/emulator"

HEADER = """\
// The function, and something that nobody calls.
#pragma once
#include "helpers/rows.h"
#include <cmath>

namespace own {
template <typename T>
void scale(const T* x, T* y, int64_t rows, int64_t columns, double factor) {
  for (int64_t i = 0; i < rows * columns; ++i) y[i] = twice(x[i]) * static_cast<T>(factor);
}
inline double unused(double x) { return std::sqrt(x); }
}  // namespace own
"""
ROWS = """\
#ifndef ROWS_H
#define ROWS_H
#include <cstdint>
namespace own {
template <typename T>
T twice(T x) { return x + x; }
}
#endif
"""
ENTRY = """\
language: cpp
dtypes: [float32]
axes:
  rows:
  columns:
  both: 2 * columns
inputs:
  - {name: x, axes: [rows, both]}
  - {name: factor, scalar: float64}
outputs:
  - {name: y, axes: [rows, both]}
reference: |
  import torch

  class Model(torch.nn.Module):
      def forward(self, x, factor):
          return 2 * x * factor

  def get_inputs():
      return [torch.randn(ROWS, BOTH), 3.0]

  def get_init_inputs():
      return []
kernels:
  upstream:
    packages: [small]
    headers: [scale.h]
    body: |
      own::scale<scalar_t>(x, y, rows, both, factor);
tolerances:
  float32: {rtol: 1.0e-6, atol: 1.0e-6}
workloads:
  - {name: usual, axes: {rows: 4, columns: 8}}
  - {name: odd, axes: {rows: 3, columns: 5}, held_out: true}
"""


@pytest.fixture
def package(tmp_path: Path) -> FolderPackage:
    folder = tmp_path / "package"
    (folder / "include" / "helpers").mkdir(parents=True)
    (folder / "include" / "scale.h").write_text(HEADER)
    (folder / "include" / "helpers" / "rows.h").write_text(ROWS)
    (folder / "README.md").write_text("not a header\n")
    return FolderPackage(kind="folder", path=str(folder), include=("include",))


@pytest.fixture
def source(tmp_path: Path, package: FolderPackage) -> KernelsSource:
    folder = tmp_path / "entries"
    folder.mkdir()
    (folder / "1_scale.yaml").write_text(textwrap.dedent(ENTRY))
    return KernelsSource(kind="kernels", path=str(folder), levels={1: 1}, packages={"small": package})


@pytest.fixture(scope="session")
def emulated(tmp_path_factory):
    """Title -> the shared object of a CUDA kernel, compiled by g++ for the emulator, when it is asked for."""
    known = {}

    def get(title):
        if title not in known:
            source = tmp_path_factory.mktemp("emulated") / f"{title}.cu"
            source.write_text(definitions()[title].kernels["upstream"])
            known[title] = source.with_suffix(".so")
            flags = ["-std=c++17", "-O1", "-Wno-unknown-pragmas", "-shared", "-fPIC", "-x", "c++"]
            subprocess.run(["g++", *flags, "-I", EMULATOR, "-o", known[title], source], check=True)
        return known[title]

    return get

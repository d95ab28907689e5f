"""The parts of the comparison with packages' own functions that need no GPU."""

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from hone.config.sources import FolderPackage, KernelsSource
from hone.core.errors import ConfigError, MachineError, SourceError
from hone.records import Tolerance
from hone.sources.extraction.entry import Operator, OperatorTensor, Template
from hone.sources.extraction.packages import open_package
from studies.operators import upstream, upstream_child
from studies.operators.package_sources import rendered, text_constant, write_module, write_sources
from studies.operators.upstream import COLUMNS, compare, mismatches
from studies.operators.upstream_child import _same_bits, worst_share

ROOT = Path(__file__).parents[2]
TEMPLATE = 'raise SystemExit("never executed")\nSOURCE = """void {{ name }}() { {{ body }} }"""\nCOUNT = 3\n'


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "package"
    (folder / "csrc").mkdir(parents=True)
    (folder / "include").mkdir()
    (folder / "csrc" / "norm.cu").write_text("// norm\n")
    (folder / "include" / "norm.h").write_text("// header\n")
    (folder / "texts.py").write_text(TEMPLATE)
    (folder / "more.py").write_text('BODY = "return;"\n')
    return FolderPackage(kind="folder", path=str(folder), include=("include",))


EXPORTED = Operator(
    packages=("own",), sources=("csrc/norm.cu",), flags=("-O2",), name="norm", function="own::norm<scalar_t>",
    arguments=("x", OperatorTensor(tensor="y", shape=("rows * 2", 1)), OperatorTensor(shape=(3,)), "rows", None, 0.5),
)  # fmt: skip
TEXT = Template(file="texts.py", variable="SOURCE", values={"name": "f"}, values_from={"body": "more.py:BODY"})


def test_sources_are_written_beside_the_unpacked_package(package, tmp_path):
    operators = {
        "norm": Operator(
            packages=("own",), sources=("csrc/norm.cu",), prelude="first.h", flags=("-O3",), name="norm", arguments=()
        ),
        "made": Operator(packages=("own",), template=TEXT, flags=("-O3", "-g"), name="f", arguments=("x", True)),
    }
    found = write_sources(operators, {"own": package}, tmp_path / "out")
    assert [path.name for path in found.sources] == ["hone_norm.cu", "hone_made.cu"]
    assert found.sources[0].read_text() == '#include <first.h>\n#include "norm.cu"\n'
    assert found.sources[1].read_text() == "void f() { return; }"
    assert found.flags == ("-O3", "-g")
    assert [path.relative_to(tmp_path / "out").as_posix() for path in found.include] == ["own/csrc", "own/include"]
    assert (tmp_path / "out/own/csrc/norm.cu").read_text() == "// norm\n"
    assert set(found.message()) == {"sources", "include", "flags"}


def test_a_package_without_what_is_asked_for(package, tmp_path):
    tree = open_package("own", package.model_copy(update={"include": (".",)}))
    assert rendered(TEXT, tree) == "void f() { return; }"
    with pytest.raises(SourceError, match="assigns no text to COUNT"):
        text_constant(tree, "texts.py", "COUNT")
    with pytest.raises(SourceError, match="no such file"):
        text_constant(tree, "text.py", "SOURCE")
    missing = Operator(packages=("own",), sources=("csrc/gone.cu",), name="gone", arguments=())
    with pytest.raises(SourceError, match=r"csrc/gone\.cu"):
        write_sources({"gone": missing}, {"own": package}, tmp_path / "out")


def test_a_function_is_exported_for_each_data_type(package, tmp_path):
    found = write_module("norm", EXPORTED, ["float16", "float32"], {"own": package}, tmp_path / "out")
    [source] = found.sources
    lines = source.read_text().splitlines()
    assert lines[4:6] == ["#include <tvm/ffi/function.h>", '#include "norm.cu"']
    assert lines[6:] == [
        "namespace hone_float16 {",
        "using scalar_t = __half;",
        "TVM_FFI_DLL_EXPORT_TYPED_FUNC(norm_float16, (own::norm<scalar_t>));",
        "}",
        "namespace hone_float32 {",
        "using scalar_t = float;",
        "TVM_FFI_DLL_EXPORT_TYPED_FUNC(norm_float32, (own::norm<scalar_t>));",
        "}",
    ]
    assert found.flags == ("-O2",)
    assert [path.relative_to(tmp_path / "out").as_posix() for path in found.include] == ["own/csrc", "own/include"]


def test_arguments_of_an_operator():
    values = {"x": torch.ones(4), "y": torch.zeros(4)}
    x, y, own, rows, *constants = upstream_child.given(EXPORTED, values, {"rows": 2}, "cpu")
    assert x is values["x"]
    assert y.shape == (4, 1)
    assert y.data_ptr() == values["y"].data_ptr(), "what the function writes is seen in the output"
    assert (own.shape, own.dtype, rows, constants) == ((3,), torch.float32, 2, [None, 0.5])


@pytest.fixture
def tvm_ffi(monkeypatch, tmp_path):
    """An nvcc that writes down what it is asked for, and what tvm-ffi says of its own files."""
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\necho "f.cu(1): error: no" >&2\nexit $REFUSED\n')
    nvcc.chmod(0o755)
    monkeypatch.setenv("NVCC", str(nvcc))
    libinfo = SimpleNamespace(include_paths=lambda: ["/ffi/include"], find_libtvm_ffi=lambda: "/ffi/lib/libtvm_ffi.so")
    exports = SimpleNamespace(norm_float16="half", norm_float32="single")
    found = SimpleNamespace(libinfo=libinfo, load_module=lambda path: exports)
    monkeypatch.setitem(sys.modules, "tvm_ffi", found)
    return tmp_path / "asked"


def test_nvcc_compiles_an_exported_function(tvm_ffi, monkeypatch):
    asked = {"sources": ["f.cu"], "include": ["/own"], "flags": ["-O2"], "library": "f.so"}
    monkeypatch.setenv("REFUSED", "0")
    assert upstream_child.module(asked)["library"] == "f.so"
    words = tvm_ffi.read_text().splitlines()[-1]
    assert "sm_90a -O2 -I/ffi/include -I/own -Xcompiler -fPIC -shared -o f.so f.cu -L/ffi/lib -ltvm_ffi" in words
    assert upstream_child.functions(EXPORTED, "f.so")("float32") == "single"
    monkeypatch.setenv("REFUSED", "1")
    with pytest.raises(RuntimeError, match=r"nvcc: f\.cu\(1\): error: no"):
        upstream_child.module(asked)


def test_without_tvm_ffi_it_is_said_what_to_install(monkeypatch, tmp_path):
    own = FolderPackage(kind="folder", path=str(ROOT / "resources/kernels/miniature"))
    source = KernelsSource(
        kind="kernels", path=str(ROOT / "config/kernels/miniature"), levels={1: 1}, packages={"own": own}
    )
    [subject] = upstream._subjects("miniature", source, (), tmp_path)
    entry = subject.entry.model_copy(update={"operator": EXPORTED})
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MachineError, match=r"pip install apache-tvm-ffi==0\.1\.11"):
        upstream._libraries([upstream.Subject(subject.definition, entry, ())], source, tmp_path, tmp_path)


def test_the_worst_share_of_the_tolerance():
    tolerance = Tolerance(atol=0.1, rtol=0.1)
    wanted = torch.tensor([1.0, 0.0, -2.0])
    assert worst_share([wanted], [wanted], tolerance) == 0.0
    assert worst_share([wanted + 0.1], [wanted], tolerance) == pytest.approx(1.0)
    nan, inf = torch.tensor([float("nan")]), torch.tensor([float("inf")])
    assert worst_share([nan, inf], [nan, inf], tolerance) == 0.0
    assert worst_share([nan], [torch.tensor([0.0])], tolerance) == float("inf")
    assert worst_share([inf], [-inf], tolerance) == float("inf")
    assert worst_share([], [], tolerance) == 0.0
    assert not _same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))


def test_what_was_not_compared_or_is_off_counts_against_the_extraction():
    rows = [
        {"kernel": "a", "workload": "w", "difference_share": 0.0},
        {"kernel": "a", "workload": "x", "difference_share": 1.5},
        {"kernel": "a", "workload": "y", "difference_share": float("nan")},
        {"kernel": "b", "detail": "the entry names no operator"},
    ]
    said = mismatches(rows)
    assert len(said) == 3
    assert "a x: off by 1.5" in said[0]
    assert "b: not compared: the entry names no operator" in said[2]
    assert mismatches(rows[:1]) == []


def test_a_kernel_without_an_operator_is_built_but_not_compared(tmp_path):
    own = FolderPackage(kind="folder", path=str(ROOT / "resources/kernels/miniature"))
    source = KernelsSource(
        kind="kernels", path=str(ROOT / "config/kernels/miniature"), levels={1: 1}, packages={"own": own}
    )
    [row] = compare("miniature", source, tmp_path)
    assert set(row) <= set(COLUMNS)
    assert row["build_s"] > 0
    assert row["detail"] == "the entry names no operator"
    with pytest.raises(ConfigError, match="no kernel 'softmax'"):
        list(compare("miniature", source, tmp_path, kernels=["softmax"]))

"""What a Python solution needs that this judge does not have: a GPU, or a compiler at run time."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator

from hone.build.parse import syntax_tree
from hone.judge.environment import sees_gpu
from hone.records import Language, Solution

GPU_PACKAGES = ("triton", "cupy", "pycuda", "numba.cuda")
OPTIONAL_PACKAGES = ("triton", "cupy", "tilelang", "cutlass", "pycuda", "numba", "tvm", "pytorch_lightning", "apex")
"""Packages that kernels are written with and that a machine may lack: says nothing about the solution."""
COMPILE_WHEN_RUN = ("triton", "tilelang", "tvm", "cutlass", "cupy")
"""Packages whose kernels are compiled at the first call and kept in a folder under HOME."""
RUN_TIME_COMPILERS = {"load_inline", "cpp_extension"}
NO_COMPILING = "compiling at run time is not possible under this judge's confinement"
GPU_ERRORS = ("Torch not compiled with CUDA enabled", "Found no NVIDIA driver", "No CUDA GPUs are available")
"""What PyTorch says when a GPU is asked for in vain."""


def cpu_only(what: str) -> str:
    """Why something for GPUs is not judged."""
    return f"{what}; judge.device is cpu" + ("" if sees_gpu() else "; no GPU on this machine")


def gpu_error(text: str) -> str:
    """Why a solution that failed with this text is not judged; empty when the failure is its own."""
    said = next((words for words in GPU_ERRORS if words in text), "")
    return cpu_only(f"it needs a GPU: {said}") if said else ""


def lacking(source: str) -> str:
    """Why this source is not judged; empty when nothing is known that it lacks."""
    try:
        tree = syntax_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""  # loading it will tell
    for name in _names(tree):
        package = next((one for one in GPU_PACKAGES if f"{name}.".startswith(f"{one}.")), "")
        if package:
            return cpu_only(f"it imports {package}")
        if name == "torch.compile" or RUN_TIME_COMPILERS & {*name.split(".")}:
            return f"it uses {name.removeprefix('?.')}: {NO_COMPILING}"
    return ""


def lacking_on_gpu(source: str) -> str:
    """Why this source is not judged on a GPU: a package that is not installed, whether it can do without or not."""
    names = [f"{name}." for name in _names_in(source)]
    needed = (package for package in OPTIONAL_PACKAGES if any(name.startswith(f"{package}.") for name in names))
    missing = next((package for package in needed if importlib.util.find_spec(package) is None), "")
    if not missing:
        return ""
    remedy = "; pip install 'hone[dsl]'" if missing in COMPILE_WHEN_RUN else ""
    return f"it needs the package '{missing}', which is not installed{remedy}"


def compiles_when_run(solution: Solution) -> bool:
    """Whether it compiles when it is first run, as Triton, Inductor, TileLang, CuTe and CuPy do."""
    if solution.language is Language.TRITON:
        return True
    if solution.language is not Language.PYTHON:
        return False
    beginnings = tuple(f"{package}." for package in COMPILE_WHEN_RUN)
    return any(name == "torch.compile" or f"{name}.".startswith(beginnings) for name in _names_in(solution.source))


def _names_in(source: str) -> list[str]:
    try:
        return list(_names(syntax_tree(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # loading it will tell


def _names(tree: ast.Module) -> Iterator[str]:
    """Everything imported, with its package, and all names and attributes used; `torch` under whatever alias."""
    torch = {"torch"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            torch |= {alias.asname for alias in node.names if alias.name == "torch" and alias.asname}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            owner = "torch" if isinstance(node.value, ast.Name) and node.value.id in torch else "?"
            yield f"{owner}.{node.attr}"
        elif isinstance(node, ast.Name) and node.id in RUN_TIME_COMPILERS:
            yield node.id

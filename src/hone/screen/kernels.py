"""Which kinds of kernel a Python source has, and which packages it needs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from hone.screen.module import Module, UnreadableSourceError, read_module

_NAMES: dict[str, str] = {
    "load_inline": r"(.*\.)?load_inline",
    "load": r"(torch\.utils\.cpp_extension|cpp_extension)\.load(_jit)?",
    "load_library": r"torch\.ops\.load_library|torch\.classes\.load_library",
    "triton": r"triton\.(jit|autotune|heuristics|runtime\..*|experimental\..*)",
    "cupy": r"cupy\.(RawKernel|RawModule|ElementwiseKernel|ReductionKernel|fuse)|cupyx\.jit\.rawkernel",
    "numba": r"numba\.cuda\.(jit|reduce|.*ufunc.*)|numba\.(vectorize|guvectorize)",
    "pycuda": r"pycuda\..*SourceModule|pycuda\.(elementwise|reduction)\..*",
    "tilelang": r"(tilelang|tvm)\..+",
    "cute": r"(cutlass|nvidia_cutlass_dsl|cutlass_cppgen)\..+",
    "warp": r"warp\.(kernel|func)",
    "helion": r"helion\.(kernel|jit)",
    "nvrtc": r"(.*\.)?nvrtc[A-Z]\w*|torch\.cuda\._compile_kernel|cuda\.(bindings\.nvrtc|nvrtc|core)\..+",
    "ctypes": r"ctypes\.(CDLL|PyDLL|cdll\.LoadLibrary|cdll\..+)|cffi\.FFI",
    "torch.compile": r"torch\.compile|torch\._dynamo\.optimize|torch\._inductor\..+",
    "torch.jit": r"torch\.jit\.(script|trace|freeze|optimize_for_inference|ScriptModule|script_method|fork)",
    "run_time_code": r"exec|eval|compile|__import__|importlib\..+|runpy\..+",
}
"""Kind -> dotted names that show it. `run_time_code`: what the module runs is not in its text, so anything may be."""
_KINDS: dict[str, re.Pattern[str]] = {kind: re.compile(names) for kind, names in _NAMES.items()}
_COMPILERS = re.compile(r"(^|/)(nvcc|hipcc|clang\+\+|g\+\+|gcc)($|\s)")
_RUNS_PROGRAMS = re.compile(r"subprocess\..+|os\.(system|popen|exec\w*|spawn\w*|posix_spawn)")


def kind_of_kernel(source: str) -> tuple[str, ...]:
    """Kinds of kernel that a Python source makes itself, in the order of the alphabet; empty: PyTorch's alone.

    Says `load_inline`, `load`, `triton`, `cupy`, `tilelang`, `cute`, `nvrtc`, `ctypes`, `nvcc`, `torch.compile`,
    `torch.jit` and others by what the source uses, not by what it imports, and does not ask whether it ever runs. In
    doubt it names a kind: code that is put together at run time is `run_time_code`. Empty for what cannot be parsed.
    """
    try:
        return kinds_of(read_module(source))
    except UnreadableSourceError:
        return ()


def packages_needed(source: str) -> tuple[str, ...]:
    """Top-level packages beside torch and the standard library that a source imports, sorted; nothing is left out.

    An import inside a function or a `try` counts. Empty for what cannot be parsed.
    """
    try:
        return packages_of(read_module(source))
    except UnreadableSourceError:
        return ()


def kinds_of(module: Module) -> tuple[str, ...]:
    """As `kind_of_kernel`, of a parsed source."""
    found = {kind for kind, pattern in _KINDS.items() if any(map(pattern.fullmatch, module.uses))}
    if any(map(_RUNS_PROGRAMS.fullmatch, module.uses)) and any(map(_COMPILERS.search, module.texts)):
        found.add("nvcc")
    return tuple(sorted(found))


def packages_of(module: Module) -> tuple[str, ...]:
    """As `packages_needed`, of a parsed source."""
    found = {name.split(".")[0] for name in module.imported}
    by_name: Callable[[str], bool] = re.compile(r"__import__|importlib\.import_module").fullmatch  # type: ignore[assignment]
    for name, call in module.calls:
        if by_name(name) and call.args and (text := module.folded(call.args[0])):
            found.add(text.split(".")[0])
    return tuple(sorted(found - set(sys.stdlib_module_names) - {"torch", ""}))

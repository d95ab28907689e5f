"""The files and commands that one `load_inline` call stands for, as PyTorch would make them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hone.compile.extension_call import Call
from hone.compile.extension_flags import (
    FlagError,
    architecture,
    check_folders,
    cuda_flags,
    host_flags,
    libraries,
    linked_by_compilers,
)
from hone.compile.installed_torch import InstalledTorch
from hone.compile.toolchain import Toolchain, cpu_target

SLIM = Path(__file__).with_name("slim")
"""Headers of the names of PyTorch's, with less in them."""
NVCC_FLAGS = (
    "-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__", "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__", "--expt-relaxed-constexpr", "-Xcompiler=-fPIC",
)  # fmt: skip
FULL, TYPES, KERNELS, CORE = 0, 2, 1, 3
"""Which headers the sources get: PyTorch's; those without torch::nn and the like; all functions; the most usual."""
LEVELS = (CORE, KERNELS, TYPES, FULL)
"""In the order in which they are tried."""
BINDINGS = re.compile(r"PYBIND11_|pybind11|\bpy::")
HEADER = "torch/extension.h"
ASKS_HEADERS = re.compile(r"^\s*#\s*(?:if|elif|ifdef|ifndef)\b.*\b(?:TORCH|AT|C10|PYBIND11)_", re.MULTILINE)
"""Code that depends on which of PyTorch's macros are there: only its own headers give the right answer."""
LARGER = re.compile(r"\brequires_grad\b|\btorch::tensor\s*[({]")
"""What the smaller headers do not have. at::empty refuses the option, torch::empty takes it: they have the former under
both names."""


def levels_for(text: str) -> tuple[int, ...]:
    """The sets of headers with which a source means what it means with PyTorch's own, smallest first."""
    if ASKS_HEADERS.search(text):
        return (FULL,)
    return (TYPES, FULL) if LARGER.search(text) else LEVELS


@dataclass(frozen=True)
class Unit:
    """One source file with the command that compiles it."""

    file: str
    text: str
    program: tuple[str, ...]
    flags: tuple[str, ...]
    """Without folders, which may differ between machines that build the same."""
    python: bool
    """Whether Python's bindings are among the headers."""

    @property
    def object(self) -> str:
        """Name of the object file."""
        return self.file.replace(".", "_") + ".o"

    def command(self, torch: InstalledTorch, level: int, precompiled: Path | None = None) -> tuple[str, ...]:
        """The whole command with one of the header sets; `precompiled` is a folder with HEADER of that set."""
        first = () if precompiled is None else (f"-I{precompiled}",)
        headers = header_flags(torch, level, python=self.python)
        return (*self.program, *first, *headers, *self.flags, "-c", self.file, "-o", self.object)


def header_flags(torch: InstalledTorch, level: int, *, python: bool) -> tuple[str, ...]:
    """Where the headers of a set are found, with the macros that choose it."""
    slim = () if level == FULL else (f"-I{SLIM}", f"-DHONE_SLIM={level}", *["-DHONE_SLIM_PYTHON"][:python])
    return (*slim, *(word for folder in torch.include_folders for word in ("-isystem", str(folder))))


@dataclass(frozen=True)
class Plan:
    """All that one extension is made from."""

    units: tuple[Unit, ...]
    cuda_libraries: tuple[str, ...]
    system_libraries: tuple[str, ...]
    target: str
    """The GPU architecture; a CPU model where flags ask for this CPU; empty for any."""


def plan_of(call: Call, gxx: Toolchain, nvcc: Toolchain, torch: InstalledTorch) -> Plan:
    """Sources and commands of a call; raises FlagError for flags that are not let through."""
    check_folders(call.extra_include_paths, map(str, torch.include_folders))
    host, cuda = host_flags(call.extra_cflags), cuda_flags(call.extra_cuda_cflags)
    sm = architecture(call.extra_cuda_cflags, nvcc.target.removeprefix("sm_"))
    cuda_libraries, system_libraries = libraries(
        [*call.extra_ldflags, *linked_by_compilers(call.extra_cflags, call.extra_cuda_cflags)]
    )
    if "\0" in "".join((*call.cpp_sources, *call.cuda_sources)):
        raise FlagError("error: load_inline: the sources hold a null character")
    common = (f"-DTORCH_EXTENSION_NAME={call.module_name}", "-DTORCH_API_INCLUDE_EXTENSION_H")
    flags = (*common, "-fPIC", f"-std=c++{max(torch.std, host.std)}", *host.flags)
    units = [Unit("main.cpp", _main(call), gxx.program, flags, python=True)]
    if call.cuda_sources:
        gencode = ("-gencode", f"arch=compute_{sm},code=sm_{sm}")
        flags = (*common, *NVCC_FLAGS, *gencode, f"-std=c++{max(torch.std, cuda.std)}", *cuda.flags)
        text = _kernels(call)
        python = BINDINGS.search(text) is not None
        units.append(Unit("cuda.cu", text, nvcc.program, flags, python))
    target = f"sm_{sm}" if call.cuda_sources else cpu_target() if host.for_this_cpu else ""
    if call.with_cuda:
        cuda_libraries = ("cudart", *(name for name in cuda_libraries if name != "cudart"))
    return Plan(tuple(units), cuda_libraries, system_libraries, target)


def _main(call: Call) -> str:
    """main.cpp: the header, the sources, the bindings of `functions`."""
    header = () if call.no_implicit_headers else (f"#include <{HEADER}>",)
    return "\n".join((*header, *call.cpp_sources, *_bindings(call))) + "\n"


def _bindings(call: Call) -> Iterator[str]:
    if call.functions is None:
        return
    yield "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"
    for name, text in call.functions:
        function = f"torch::wrap_pybind_function({name})" if call.with_pytorch_error_handling else name
        yield f'm.def("{name}", {function}, {json.dumps(text, ensure_ascii=False)});'
    yield "}"


def _kernels(call: Call) -> str:
    """cuda.cu: the headers and the sources."""
    headers = ("#include <torch/types.h>", "#include <cuda.h>", "#include <cuda_runtime.h>")
    return "\n".join((*(() if call.no_implicit_headers else headers), *call.cuda_sources)) + "\n"

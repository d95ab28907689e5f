"""`load_inline` calls that no compiler can build, known by reading them: a refusal that costs no minute.

Only certain cases: whatever could be hidden by the preprocessor, a header or a name space goes to the compiler.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable

from hone.compile.extension_call import Call

_IGNORED = re.compile(
    r'R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'',
    re.DOTALL,
)
_BINDING = re.compile(r"\bPYBIND11_MODULE\s*\(\s*(\w+)\s*,")
_CONDITION = re.compile(r"\s*#\s*(if|endif)")
_UNCLEAR = re.compile(r"##|#\s*(define|undef)\s+(PYBIND11|TORCH_EXTENSION_NAME)|\busing\s+namespace\b")
_CUDA_PREFIXES = ("cuda", "cu")


def hopeless(call: Call) -> str:
    """What a compiler would say of a call that cannot be built, with an `error:`; empty where that is not certain."""
    if call.functions is None:
        return ""
    host, device = _code(call.cpp_sources), _code(call.cuda_sources)
    if _UNCLEAR.search(host) or _UNCLEAR.search(device):
        return ""
    for name, _ in call.functions:
        if name.isidentifier() and not _declared(name, host):
            return (
                f"main.cpp: error: '{name}' was not declared in this scope\n"
                f"functions=[...] makes main.cpp bind '{name}', and cpp_sources does not declare it (not compiled)"
            )
    for file, text in (("main.cpp", host), ("cuda.cu", device)):
        if {"TORCH_EXTENSION_NAME", call.module_name} & set(_bindings(text)):
            return (
                f"{file}: error: redefinition of PyInit_{call.module_name}\n"
                "functions=[...] makes main.cpp define the module, and the sources define it again with "
                "PYBIND11_MODULE (not compiled)"
            )
    return ""


def _code(sources: Iterable[str]) -> str:
    """The text without comments, strings and characters."""
    return _IGNORED.sub(" ", "\n".join(sources).replace("\\\n", ""))


def _declared(name: str, code: str) -> bool:
    """Whether it may be; the C library's functions and CUDA's are declared by headers."""
    if name.startswith(_CUDA_PREFIXES) or hasattr(ctypes.CDLL(None), name):
        return True
    return re.search(rf"\b{name}\b", code) is not None


def _bindings(code: str) -> Iterable[str]:
    """Modules that are defined whatever the preprocessor's conditions are."""
    depth = 0
    for line in code.splitlines():
        if condition := _CONDITION.match(line):
            depth += 1 if condition[1] == "if" else -1
        elif depth == 0 and "#" not in line:
            yield from _BINDING.findall(line)

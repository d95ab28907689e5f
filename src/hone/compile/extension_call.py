"""Calls of `torch.utils.cpp_extension.load_inline` and `load`: what they ask for, their keys, their prebuilt answers.

The build stage and the judge's child compute the key of a call from the same arguments: the child finds by it what the
build stage compiled. Only the standard library is imported here.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from hone.compile.extension_files import inline_arguments

NAME_CHARACTERS = 100
NOT_BUILT = "was not built ahead of time"
"""Part of what a call that nobody built raises."""
REFUSED = "Error building extension"
"""What PyTorch's own error begins with where a compiler refuses."""


@dataclass(frozen=True)
class Call:
    """The arguments of one call, as far as they change what is compiled or how it is loaded."""

    name: str
    cpp_sources: tuple[str, ...]
    cuda_sources: tuple[str, ...] = ()
    functions: tuple[tuple[str, str], ...] | None = None
    """Names with their docstrings; absent when the sources hold their own bindings."""
    extra_cflags: tuple[str, ...] = ()
    extra_cuda_cflags: tuple[str, ...] = ()
    extra_ldflags: tuple[str, ...] = ()
    extra_include_paths: tuple[str, ...] = ()
    with_cuda: bool = False
    with_pytorch_error_handling: bool = True
    is_python_module: bool = True
    no_implicit_headers: bool = False

    @property
    def module_name(self) -> str:
        """What the object is built and loaded as, a C identifier: it exports `PyInit_<module_name>`.

        One by content where the call's own name changes nothing else: names often hold the number of the process.
        """
        return self._identifier if self.depends_on_name else f"extension_{call_key(self)[:16]}"

    @property
    def _identifier(self) -> str:
        name = re.sub(r"\W", "_", self.name[:NAME_CHARACTERS], flags=re.ASCII)
        return name if name[:1].isalpha() else f"_{name}"

    @property
    def depends_on_name(self) -> bool:
        """Whether sources may write the name out, as `PYBIND11_MODULE(<name>, m)` does, or offer operators under it."""
        text = "\n".join((*self.cpp_sources, *self.cuda_sources))
        named = re.search(rf"\b{self._identifier}\b", text) is not None
        return named or "TORCH_LIBRARY" in text or not self.is_python_module

    def message(self) -> dict[str, Any]:
        """The arguments as a JSON object; `call_of(**message)` gives the call again."""
        message = dataclasses.asdict(self)
        return {**message, "functions": None if self.functions is None else dict(self.functions)}


def call_of(
    name: str,
    cpp_sources: object,
    cuda_sources: object = None,
    sycl_sources: object = None,
    functions: object = None,
    extra_cflags: object = None,
    extra_cuda_cflags: object = None,
    extra_sycl_cflags: object = None,
    extra_ldflags: object = None,
    extra_include_paths: object = None,
    build_directory: object = None,
    verbose: object = False,
    with_cuda: object = None,
    with_sycl: object = None,
    is_python_module: object = True,
    with_pytorch_error_handling: object = True,
    keep_intermediates: object = True,
    use_pch: object = False,
    no_implicit_headers: object = False,
) -> Call:
    """The call with these arguments, in the order of PyTorch's own signature (2.6 to 2.13).

    Raises TypeError for arguments of other types than PyTorch documents, ValueError for SYCL.
    """
    if sycl_sources or with_sycl:
        raise ValueError("load_inline: SYCL is not supported, only C++ and CUDA")
    if not isinstance(name, str):
        raise TypeError("load_inline: name must be a str")
    cuda = _texts(cuda_sources, "cuda_sources")
    return Call(
        name=name,
        cpp_sources=_texts(cpp_sources, "cpp_sources"),
        cuda_sources=cuda,
        functions=_functions(functions),
        extra_cflags=_texts(extra_cflags, "extra_cflags"),
        extra_cuda_cflags=_texts(extra_cuda_cflags, "extra_cuda_cflags"),
        extra_ldflags=_texts(extra_ldflags, "extra_ldflags"),
        extra_include_paths=_texts(extra_include_paths, "extra_include_paths"),
        with_cuda=bool(cuda) if with_cuda is None else bool(with_cuda),
        with_pytorch_error_handling=bool(with_pytorch_error_handling),
        is_python_module=bool(is_python_module),
        no_implicit_headers=bool(no_implicit_headers),
    )


call_of.__qualname__ = "load_inline"  # Python's own errors name PyTorch's function


def _texts(value: object, what: str) -> tuple[str, ...]:
    """None, one text or several, as a tuple."""
    if value is None or isinstance(value, str):
        return (value,) if value else ()
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"load_inline: {what} must be a str or a list of str")
    return tuple(value)


def _functions(value: object) -> tuple[tuple[str, str], ...] | None:
    if value is None:
        return None
    items: Iterable[tuple[object, object]]
    items = value.items() if isinstance(value, dict) else ((name, name) for name in _texts(value, "functions"))
    pairs = tuple((name, text) for name, text in items if isinstance(name, str) and isinstance(text, str))
    if isinstance(value, dict) and len(pairs) != len(value):
        raise TypeError("load_inline: functions must map str to str")
    return pairs


def call_key(call: Call) -> str:
    """Digest of everything that makes a difference, as 64 hexadecimal digits: the same at build time and in the judge.

    The name belongs to it only where it is written into the object, so equal keys mean equal module names.
    """
    message = call.message()
    if not call.depends_on_name:
        del message["name"]
    text = json.dumps(message, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def building_error(call: Call, log: str) -> RuntimeError:
    """What PyTorch raises where the compiler refuses."""
    return RuntimeError(f"{REFUSED} '{call.name}': {log}")


def prebuilt_load_inline(
    extensions: Mapping[str, Path], refused: Mapping[str, str], unbuilt: Callable[[str], None] = lambda text: None
) -> Callable[..., Any]:
    """A replacement of `load_inline` that imports what the build stage has compiled, each object once.

    `extensions` maps `call_key` to the shared object, `refused` to what the compiler said; `unbuilt` is told what is
    raised for a call that nobody built. PyTorch must have been imported: its libraries are not searched for. The
    replacement raises RuntimeError as PyTorch does for a refused call, with other words for a call that the build stage
    did not see, and ImportError for an object that cannot be loaded, such as one that lacks a function which its
    sources only declare.
    """
    loaded: dict[str, Any] = {}

    def load_inline(*arguments: Any, **named: Any) -> Any:
        call = call_of(*arguments, **named)
        key = call_key(call)
        if key in refused:
            raise building_error(call, refused[key])
        if key not in loaded:
            if key not in extensions:
                text = (
                    f"load_inline: '{call.name}' {NOT_BUILT}: the module did not make this call, with the same sources "
                    "and flags, when it was run for the build (without a GPU and without forward())"
                )
                unbuilt(text)
                raise RuntimeError(text)
            loaded[key] = _load(call, extensions[key])
        return loaded[key]

    return load_inline


def _load(call: Call, path: Path) -> Any:
    if not call.is_python_module:
        import torch

        torch.ops.load_library(str(path))  # type: ignore[no-untyped-call]
        return str(path)
    loader = ExtensionFileLoader(call.module_name, str(path))
    spec = spec_from_file_location(call.module_name, path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def replace_load_inline(
    replacement: Callable[..., Any], failed: Callable[[Exception], None] = lambda error: None
) -> None:
    """Let every later `import` of `load_inline` or `load`, under whatever name, find the replacement.

    `failed` is told of files that `load` could not read and of arguments that it does not take, before that is raised.
    """
    import torch.utils.cpp_extension

    def load(*arguments: Any, **named: Any) -> Any:
        try:
            converted = inline_arguments(*arguments, **named)
        except (TypeError, OSError) as error:
            failed(error)
            raise
        return replacement(**converted)

    torch.utils.cpp_extension.load_inline = replacement
    torch.utils.cpp_extension.load = load

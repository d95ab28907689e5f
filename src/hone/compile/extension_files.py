"""Calls of `torch.utils.cpp_extension.load`, whose sources are files that the module itself has written.

The files lie in a folder that is gone with the process, so a call is turned into one of `load_inline` with their texts.
Only the standard library is imported here: the judge's child does it, too.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

CUDA_SUFFIXES = (".cu", ".cuh")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*$', re.MULTILINE)


def inline_arguments(
    name: object,
    sources: object,
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
    is_standalone: object = False,
    keep_intermediates: object = True,
) -> dict[str, Any]:
    """Arguments of the `load_inline` call that a `load` call comes to, in the order of PyTorch's own signature.

    Headers beside the sources are put in their places. Several files of a kind become one, in the order given. Raises
    OSError for a file that cannot be read, TypeError for sources of another type, ValueError for a program.
    """
    if is_standalone:
        raise ValueError("load: programs are not supported, only modules and libraries")
    files = [Path(file) for file in _listed(sources, "sources")]
    folders = _listed(extra_include_paths, "extra_include_paths")
    own = [Path(folder) for folder in folders if _is_own(folder)]
    cuda = [_text(file, own, set()) for file in files if file.suffix in CUDA_SUFFIXES]
    return {
        "name": name,
        "cpp_sources": [_text(file, own, set()) for file in files if file.suffix not in CUDA_SUFFIXES],
        "cuda_sources": cuda,
        "extra_cflags": extra_cflags,
        "extra_cuda_cflags": extra_cuda_cflags,
        "extra_ldflags": extra_ldflags,
        "extra_include_paths": [folder for folder in folders if not _is_own(folder)],
        "with_cuda": with_cuda,
        "with_sycl": with_sycl,
        "is_python_module": is_python_module,
        "no_implicit_headers": True,
    }


inline_arguments.__qualname__ = "load"  # Python's own errors name PyTorch's function


def _listed(value: object, what: str) -> list[str]:
    items: Iterable[object] = () if value is None else (value,) if isinstance(value, str | Path) else ()
    if isinstance(value, list | tuple):
        items = value
    elif value is not None and not items:
        raise TypeError(f"load: {what} must be a str or a list of str")
    return [str(item) for item in items]


def _is_own(folder: str) -> bool:
    """Whether the module has made it, under a name that may be another in each process."""
    return Path(folder).resolve().is_relative_to(Path(tempfile.gettempdir()).resolve())


def _text(file: Path, folders: Sequence[Path], seen: set[Path]) -> str:
    """The file with its own headers inside, each once."""
    seen.add(file.resolve())

    def header(match: re.Match[str]) -> str:
        places = [folder / match[1] for folder in (file.parent, *folders)]
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            return match[0]
        return "" if found.resolve() in seen else _text(found, folders, seen)

    return _INCLUDE.sub(header, file.read_text(encoding="utf-8", errors="replace"))

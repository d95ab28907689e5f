"""PyTorch's headers for Python modules, precompiled by g++: once per compiler, PyTorch, flags and set of headers.

    <store>/headers/<key>/torch/extension.h.gch    and extension.h; a folder renamed into place when it is complete
    <store>/headers/<key>.lock                     held by whoever makes it

g++ takes `extension.h.gch` where a source begins with `#include <torch/extension.h>` and this folder is searched first.
It checks that compiler, options and macros are those that it was made with, and else reads the headers as ever. The
object is the same to the byte. A folder without the file says that the compiler refused: it is not tried again.
"""

from __future__ import annotations

import contextlib
import functools
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from hone.compile.compiler import run_compiler, scratch_folder, write_source
from hone.compile.extension_sources import CORE, HEADER, KERNELS, SLIM, Unit, header_flags
from hone.compile.installed_torch import InstalledTorch
from hone.compile.toolchain import Toolchain
from hone.core.files import disk_errors, write_bytes, write_text
from hone.core.store import Store
from hone.records import digest

FIRST_LINE = f"#include <{HEADER}>\n"
NEXT_LINE = f"#include_next <{HEADER}>\n"
"""Beside the precompiled header, for sources that include it twice: g++ reads a precompiled one once only."""
MADE_WITHIN_S = 300.0
USUAL = re.compile(r"-fPIC|-std=c\+\+\d+|-O[0-3s]?|-w|-DTORCH_API_INCLUDE_EXTENSION_H")
"""Flags that many calls have; each other set of flags would leave its own 250 MB in the store."""
OF_MODULE = "-DTORCH_EXTENSION_NAME="
"""The one flag that each module has for itself; PyTorch's headers do not mention it."""


def precompiled_folder(unit: Unit, level: int, gxx: Toolchain, torch: InstalledTorch, store: Store) -> Path | None:
    """The folder to search first for HEADER, made if need be; absent where the unit cannot have one.

    It waits while another process makes the same one. Raises MachineError when the store cannot be written.
    """
    flags = tuple(flag for flag in unit.flags if not flag.startswith(OF_MODULE))
    if not (_fits(unit, gxx, level) and all(map(USUAL.fullmatch, flags))):
        return None
    headers = header_flags(torch, level, python=unit.python)
    key = digest(["precompiled", gxx.program, gxx.version, torch.version, headers, flags, _slim_digest()])
    folder = store.root / "headers" / key
    if not folder.is_dir():
        with _locked(folder.with_suffix(".lock")):
            if not folder.is_dir():
                _make(folder, (*gxx.program, *headers, *flags), torch)
    return folder.resolve() if (folder / f"{HEADER}.gch").is_file() else None


def _fits(unit: Unit, gxx: Toolchain, level: int) -> bool:
    """Clang keeps precompiled headers in another way; PyTorch's whole headers would take 800 MB."""
    ours = unit.program == gxx.program and "clang" not in gxx.version
    return ours and level in (CORE, KERNELS) and unit.text.startswith(FIRST_LINE)


def _make(folder: Path, command: tuple[str, ...], torch: InstalledTorch) -> None:
    """Precompile and keep what came out; nothing is kept where the machine failed the compiler: to be tried again."""
    with scratch_folder() as scratch:
        write_source(Path(scratch) / "extension.h", FIRST_LINE)
        product = Path(scratch) / "extension.h.gch"
        command = (*command, "-x", "c++-header", "extension.h", "-o", product.name)
        compiled = run_compiler(command, product, MADE_WITHIN_S, [SLIM, *torch.include_folders])
        if not (compiled.breakdown or compiled.timed_out):
            _keep(compiled.artifact, folder)


def _keep(product: Path | None, folder: Path) -> None:
    with disk_errors(folder):
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name[:8]}."))
        try:
            if product is not None:
                write_bytes(made / f"{HEADER}.gch", product.read_bytes())
                write_text(made / HEADER, NEXT_LINE)
            made.chmod(0o755)
            if not folder.is_dir():
                made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One maker at a time; on disks without locks several may make the same, of which one stays."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, mode=0o644, fallback_to_soft=False)
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError, NotImplementedError):
            held.enter_context(lock)
        yield


@functools.cache
def _slim_digest() -> str:
    texts = {str(path.relative_to(SLIM)): path.read_text(encoding="utf-8") for path in sorted(SLIM.rglob("*.h"))}
    return digest(texts)

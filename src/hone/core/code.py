"""Digests of Hone's own code, so that a rule reruns when the sub-package that it runs has changed.

Snakemake does not see modules behind a script; a digest among a rule's params makes them an input.
"""

from __future__ import annotations

import functools
import hashlib
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = (".py", ".h", ".cpp", ".cu", ".cuh", ".js", ".css", ".html")
"""What counts as code: also what extensions, samplers and kernels are compiled from, and the explorer's pages."""
FOUNDATION = ("config/*", "core/code", "core/errors", "core/files", "core/scratch", "core/store")
"""Modules that stages are built on and that decide no result: what a config says reaches a rule by its own params."""
IMPORT = re.compile(r"^ *from (hone[\w.]*) import (?:\(([^)]*)\)|([^\n]*))", re.MULTILINE)
"""Everywhere in a module, also inside functions; `import hone.x` is not written in this project, which a test holds."""


@functools.cache
def code_digest(*parts: str, without: tuple[str, ...] = ()) -> str:
    """Digest of sub-packages or modules of hone, such as `judge` or `records`, as 16 hexadecimal digits.

    `without`: sub-packages and modules among them that the rule does not run, so that editing those reruns nothing.
    """
    left_out = {file for part in without for file in _files(part)}
    return _digest(file for part in sorted(parts) for file in _files(part) if file not in left_out)


@functools.cache
def stage_digest(module: str) -> str:
    """Digest of a module such as `methods.stages` and of all that it imports within hone, as 16 hexadecimal digits.

    `FOUNDATION` is left out. Raises FileNotFoundError for a module that is not there.
    """
    return _digest(sorted(imported(module)))


def imported(module: str) -> set[Path]:
    """The files of a module and of all that it imports within hone, `FOUNDATION` left out."""
    start = _module_file(module.split("."))
    if start is None:
        raise FileNotFoundError(module)
    foundation = {file for pattern in FOUNDATION for file in ROOT.glob(f"{pattern}.py")}
    found, waiting = set(), [start]
    while waiting:
        file = waiting.pop()
        if file not in found and file not in foundation:
            found.add(file)
            waiting += _imports(file)
    return found


@functools.cache
def _imports(file: Path) -> list[Path]:
    """The modules of hone that a file imports, or whose names it does; a package's `__init__` where its names are."""
    found = []
    for package, in_brackets, in_line in IMPORT.findall(file.read_text(encoding="utf-8")):
        place = package.split(".")[1:]
        for name in re.findall(r"(\w+)(?: as \w+)?", in_brackets or in_line):
            target = _module_file([*place, name]) or _module_file(place)
            if target is not None:
                found.append(target)
    return found


def _module_file(place: list[str]) -> Path | None:
    path = ROOT.joinpath(*place)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _digest(files: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        total.update(f"{file.relative_to(ROOT)} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()[:16]


def _files(part: str) -> list[Path]:
    folder = ROOT / part
    if not folder.is_dir():
        return [folder.with_suffix(".py")]
    return sorted(file for file in folder.rglob("*") if file.suffix in SOURCES)


def text_digest(file: Path) -> str:
    """Digest of one file's content, as 16 hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


@functools.cache
def commit() -> str:
    """Commit of the checkout that holds this code, with `+` when files have changed; empty outside a checkout."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"],
            cwd=ROOT, capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return described.stdout.strip()

"""Packages of kernels: a file of a package index, a git commit or a folder, opened as paths and contents.

Nothing of a package is executed or installed: archives are only read. A file of an index is kept by its digest under
the cache folder, so that a machine without network is served by copying that folder, or the file alone, there.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hone.config.sources import FolderPackage, GitPackage, Package, PyPIPackage
from hone.core.errors import SourceError
from hone.core.files import write_bytes
from hone.core.scratch import ScratchFolder
from hone.sources import git

CACHE = Path(".hone/packages")
TIMEOUT_S = 600.0
CHILD = Path(__file__).with_name("pip_child.py")
UNREADABLE = "delete the file and run the same command again, or correct the package in the config"


@dataclass(frozen=True)
class Tree:
    """The files of a package that lie in its include folders."""

    name: str
    """As the config calls it."""
    label: str
    """For people: name and version, or address and commit."""
    version: str
    """Version, commit, or `local`."""
    digest: str
    """SHA-256 of the package's file, the commit, or empty for a folder."""
    include: tuple[str, ...]
    """Folders in which headers are looked for, in this order."""
    files: Mapping[str, bytes]
    """Path from the package's top -> content."""

    def find(self, header: str) -> str | None:
        """Path of a header that is named as in an `#include`; the first include folder that has it."""
        candidates = (_joined(folder, header) for folder in self.include)
        return next((path for path in candidates if path in self.files), None)


def open_packages(
    packages: Mapping[str, Package], cache: Path = CACHE, timeout_s: float = TIMEOUT_S
) -> dict[str, Tree]:
    """All packages by the config's names.

    Raises SourceError: no network and not in the cache, no such file or commit, another checksum, no such folder.
    """
    return {name: open_package(name, package, cache, timeout_s) for name, package in packages.items()}


def open_package(name: str, package: Package, cache: Path = CACHE, timeout_s: float = TIMEOUT_S) -> Tree:
    """One package; as `open_packages`."""
    if isinstance(package, PyPIPackage):
        content = cached(package, cache, timeout_s)
        files = _unpacked(package, content)
        label = f"{package.name} {package.version}"
        version, digest = package.version, package.sha256
    elif isinstance(package, GitPackage):
        files = _committed(package, timeout_s)
        label, version, digest = f"{package.url} at {package.commit[:12]}", package.commit, package.commit
    else:
        files = _local(package)
        label, version, digest = package.path, "local", ""
    kept = {path: content for path, content in files.items() if _within(path, package.include)}
    if not kept:
        raise SourceError(
            f"has no file in {', '.join(package.include)}", where=label, remedy="correct the package's include folders"
        )
    return Tree(name, label, version, digest, package.include, kept)


def cached(package: PyPIPackage, cache: Path = CACHE, timeout_s: float = TIMEOUT_S) -> bytes:
    """The package's file, from the cache or else from the index; what is kept has the right checksum."""
    path = cache / package.sha256 / package.file
    if not path.is_file():
        write_bytes(path, _downloaded(package, path, timeout_s))
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != package.sha256:
        raise SourceError(f"sha256 is {found}, the config has {package.sha256}", where=str(path), remedy=UNREADABLE)
    return content


def _downloaded(package: PyPIPackage, path: Path, timeout_s: float) -> bytes:
    """The file from the index that pip is configured for; pip's own client, which takes proxies and keys from there.

    Not `pip download`: that executes the set-up code of an sdist, and refuses wheels of other platforms.
    """
    by_hand = f"check the network and `pip config list`, or put the file there: {path}"
    with ScratchFolder("package") as folder:
        target = Path(folder) / "file"
        asked = json.dumps({"name": package.name, "version": package.version, "file": package.file})
        try:
            ended = subprocess.run(
                [sys.executable, "-P", str(CHILD), asked, str(target)],
                capture_output=True, text=True, timeout=timeout_s, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            late = f"took longer than {timeout_s:g} s to fetch"
            raise SourceError(late, where=package.file, remedy=by_hand) from None
        if ended.returncode:
            said = [line for line in ended.stderr.splitlines() if line.strip()] or ["pip said nothing"]
            raise SourceError(f"cannot be fetched: {said[-1].strip()[:300]}", where=package.file, remedy=by_hand)
        content = target.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != package.sha256:
        remedy = "take the checksum from a place that you trust, and correct the config"
        raise SourceError(f"sha256 is {found}, the config has {package.sha256}", where=package.file, remedy=remedy)
    return content


def _unpacked(package: PyPIPackage, content: bytes) -> dict[str, bytes]:
    """Path -> content of a wheel's or sdist's regular files, the sdist's top folder left out."""
    try:
        if package.file.endswith(".whl"):
            with zipfile.ZipFile(io.BytesIO(content)) as wheel:
                names = [name for name in wheel.namelist() if _within(name, package.include) and not name.endswith("/")]
                return {name: wheel.read(name) for name in names}
        with tarfile.open(fileobj=io.BytesIO(content)) as sdist:
            files = {}
            for member in sdist:
                path = member.name.partition("/")[2]
                if member.isfile() and _within(path, package.include) and (opened := sdist.extractfile(member)):
                    files[path] = opened.read()
            return files
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise SourceError(f"is not an archive: {error}", where=package.file, remedy=UNREADABLE) from None


def _committed(package: GitPackage, timeout_s: float) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    with git.snapshot(package.url, package.commit, timeout_s) as bare:
        for folder in package.include:
            files.update(git.read_folder(bare, package.commit, folder, timeout_s))
    return files


def _local(package: FolderPackage) -> dict[str, bytes]:
    top = Path(package.path)
    if not top.is_dir():
        raise SourceError("no such folder", where=package.path, remedy="correct the package's path in the config")
    return {path.relative_to(top).as_posix(): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


def _within(path: str, folders: tuple[str, ...]) -> bool:
    return any(folder == "." or PurePosixPath(path).is_relative_to(folder) for folder in folders)


def _joined(folder: str, header: str) -> str:
    return header if folder == "." else f"{folder}/{header}"

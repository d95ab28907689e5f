"""Fetching a source of kernels: its entries, complete and checked, with the headers that they need of the packages."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from hone.config.sources import KernelsSource, Package
from hone.core.errors import SourceError, closest, located
from hone.records import Upstream, Versioned
from hone.sources.extraction.entry import Entry, Kernel, parse_entry
from hone.sources.extraction.headers import Resolved, resolve
from hone.sources.extraction.names import parse_name
from hone.sources.extraction.packages import CACHE, TIMEOUT_S, Tree, open_packages

LEVEL = 1
"""A folder of entries is one level."""


class KernelFile(Versioned):
    """One entry as it was read, with what its headers come to; all that `define` needs, without network."""

    source: str
    """Name of the entry of `sources` in the config."""
    number: int
    title: str
    path: str
    text: str
    """The YAML text."""
    resolved: dict[str, Resolved]
    """Kernel, such as `upstream` -> its headers."""
    upstream: Upstream

    @property
    def name(self) -> str:
        """Name of the definition: `<source>/level1/<number>_<title>`."""
        return f"{self.source}/level{LEVEL}/{self.number}_{self.title}"

    @property
    def entry(self) -> Entry:
        """The entry; raises SourceError."""
        return parse_entry(self.text, self.path)


def fetch(name: str, source: KernelsSource, *, cache: Path = CACHE, timeout_s: float = TIMEOUT_S) -> list[KernelFile]:
    """All entries of the config's source `name`, by number; only the packages that they name are fetched.

    Raises SourceError: the folder is not complete, an entry is wrong, a package cannot be had, a header is missing.
    """
    paths = entry_paths(Path(source.path), source.levels[LEVEL])
    return read_entries(name, paths, source.packages, cache=cache, timeout_s=timeout_s)


def entry_paths(folder: Path, count: int | None = None) -> list[Path]:
    """The folder's entries by number; with `count`, SourceError unless they are numbered 1 to `count`, each once."""
    if not folder.is_dir():
        raise SourceError("no such folder", where=str(folder), remedy="correct the source's path in the config")
    named = [(parsed[0], path) for path in sorted(folder.glob("*.yaml")) if (parsed := parse_name(path))]
    numbers = sorted(number for number, _ in named)
    if count is not None and numbers != list(range(1, count + 1)):
        raise SourceError(
            f"should have entries 1 to {count}, but has {', '.join(map(str, numbers)) or 'none'}",
            where=str(folder),
            remedy="correct the source's levels in the config, or number the files as <number>_<title>.yaml",
        )
    return [path for _, path in sorted(named)]


def read_entries(
    name: str, paths: Sequence[Path], packages: Mapping[str, Package], *, cache: Path = CACHE,
    timeout_s: float = TIMEOUT_S,
) -> list[KernelFile]:  # fmt: skip
    """The entries of some files; raises SourceError."""
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    entries = {path: parse_entry(text, str(path)) for path, text in texts.items()}
    for path, entry in entries.items():
        _check_packages(path, entry, packages)
    used = {name for entry in entries.values() for kernel in entry.kernels.values() for name in kernel.packages}
    with located("packages"):
        trees = open_packages({name: packages[name] for name in packages if name in used}, cache, timeout_s)
    return [_file(name, path, texts[path], entries[path], trees) for path in paths]


def _check_packages(path: Path, entry: Entry, packages: Mapping[str, Package]) -> None:
    for kernel_name, kernel in entry.kernels.items():
        for package in kernel.packages:
            if package not in packages:
                where = f"{path}: kernels.{kernel_name}.packages"
                hint = closest(package, packages)
                raise SourceError(
                    f"'{package}' is not among the source's packages{hint}", where=where, remedy="add it in the config"
                )


def _file(name: str, path: Path, text: str, entry: Entry, trees: Mapping[str, Tree]) -> KernelFile:
    parsed = parse_name(path)
    if parsed is None:
        raise SourceError("is not named like 1_silu_and_mul.yaml", where=str(path), remedy="rename the file")
    number, title = parsed
    resolved = {}
    for kernel_name, kernel in entry.kernels.items():
        with located(f"{path}: kernels.{kernel_name}"):
            resolved[kernel_name] = resolve(kernel.headers, [trees[package] for package in kernel.packages])
    return KernelFile(
        source=name, number=number, title=title, path=str(path), text=text, resolved=resolved,
        upstream=_upstream(entry.kernels["upstream"], trees),
    )  # fmt: skip


def _upstream(kernel: Kernel, trees: Mapping[str, Tree]) -> Upstream:
    """The origin of `upstream`: its package, version or commit, first header, and the digest of what was fetched."""
    tree = trees[kernel.packages[0]]
    path = tree.find(kernel.headers[0]) or kernel.headers[0]
    content = tree.files.get(path, b"")
    return Upstream(
        repository=tree.label, commit=tree.version, path=path,
        sha256=tree.digest or hashlib.sha256(content).hexdigest(),
    )  # fmt: skip

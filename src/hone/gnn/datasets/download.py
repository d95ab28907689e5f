"""Files from public addresses and of the user's own: whole, checked, and unpacked.

A download is taken up again where the last attempt ended.
"""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from hone.core.errors import SourceError
from hone.core.files import disk_errors
from hone.core.progress import progress_bar
from hone.gnn.datasets.writing import complete_folder, require_space
from hone.gnn.graph import sha256_of

if TYPE_CHECKING:
    from hone.config.graphs import PublishedGraph

CHUNK_BYTES = 1 << 22
TIMEOUT_S = 60.0
"""Without a byte."""
PARTIAL = ".partial"
GIT_BLOB = "git:"
"""Before a checksum that is git's name of a file's content, instead of its SHA-256."""
NOT_FILES = "__MACOSX"
"""Folder that macOS adds to its archives."""


def own_files(entry: PublishedGraph, downloads: Path) -> Path:
    """What an entry's `raw_dir` names, on this machine: a folder, or a file that is no zip archive.

    A URL is fetched first, and an archive unpacked below `downloads`. Raises SourceError, MachineError.
    """
    place = entry.local
    if place is None:
        assert entry.raw_dir is not None, "a dataset that is downloaded by its name has places of its own"
        name = Path(urlsplit(entry.raw_dir).path).name or "files"
        place = downloaded(entry.raw_dir, downloads / "urls" / _key(entry.raw_dir) / name)
    if not place.exists():
        remedy = "correct raw_dir in the config: a folder, a zip archive or a URL"
        raise SourceError("no such folder or file", where=str(place), remedy=remedy)
    if place.is_dir() or not zipfile.is_zipfile(place) or _is_of_torch(place):
        return place
    state = place.stat()
    key = _key(f"{place.resolve()} {state.st_size} {state.st_mtime_ns}")
    return unpacked(place, downloads / "unpacked" / f"{place.stem}-{key}")


def own_folder(entry: PublishedGraph, downloads: Path) -> Path:
    """As `own_files`, of a dataset that is several files."""
    place = own_files(entry, downloads)
    if not place.is_dir():
        remedy = "unpack it, and write the folder as raw_dir" if _is_archive(place) else "get the file again"
        raise SourceError("is neither a folder nor a whole zip archive", where=str(place), remedy=remedy)
    return place


def _is_of_torch(place: Path) -> bool:
    """Whether torch.save wrote it: its files are zip archives, too."""
    try:
        with zipfile.ZipFile(place) as opened:
            return any(Path(name).name == "data.pkl" for name in opened.namelist())
    except zipfile.BadZipFile:
        return False


def _is_archive(place: Path) -> bool:
    return place.suffix in (".gz", ".tgz", ".tar", ".xz", ".bz2", ".7z", ".rar")


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def downloaded(url: str, target: Path, sha256: str | None = None) -> Path:
    """`target`, holding what the address gives; a file that is there is kept, and checked all the same.

    What an interrupted download left is completed. Raises SourceError: no network, refused, shorter than announced,
    another checksum; MachineError when the disk is full.
    """
    if not target.is_file():
        with disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_name(target.name + PARTIAL)
        by_hand = f"check the network and run the same command again, or put the file there: {target}"
        try:
            _receive(url, partial)
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            raise SourceError(f"cannot be downloaded: {error}", where=url, remedy=by_hand) from None
        if sha256 is not None:
            check_sha256(partial, sha256, remove=True)
        partial.replace(target)
    if sha256 is not None:
        check_sha256(target, sha256)
    return target


def check_sha256(path: Path, wanted: str, *, remove: bool = False) -> str:
    """The SHA-256 of a file; raises SourceError when it is not `wanted`, or there is no such file.

    `wanted` may also be git's name of the content, behind GIT_BLOB.
    """
    try:
        sha256 = sha256_of(path)
        found = git_blob_of(path) if wanted.startswith(GIT_BLOB) else sha256
    except FileNotFoundError:
        remedy = "put it there, or take raw_dir out of the config: then it is downloaded"
        raise SourceError("no such file", where=str(path), remedy=remedy) from None
    if found != wanted:
        if remove:
            path.unlink()
        remedy = "delete the file and get it again; a file of another origin needs verify: false in the config"
        what = "git's name of it" if wanted.startswith(GIT_BLOB) else "sha256"
        raise SourceError(f"{what} is {found}, known is {wanted}", where=str(path), remedy=remedy)
    return sha256


def git_blob_of(path: Path) -> str:
    """What git calls a file's content, behind GIT_BLOB; raises OSError."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as handle:
        while chunk := handle.read(CHUNK_BYTES):
            digest.update(chunk)
    return f"{GIT_BLOB}{digest.hexdigest()}"


def unpacked(archive: Path, target: Path) -> Path:
    """`target`, holding what a zip archive holds; raises SourceError when it is damaged."""
    if target.is_dir():
        return target
    remedy = f"the file is truncated or damaged: get {archive} again; if it was downloaded, delete it"
    try:
        with zipfile.ZipFile(archive) as opened, complete_folder(target) as folder:
            members = [
                member
                for member in opened.infolist()
                if not member.is_dir() and Path(member.filename).parts[:1] != (NOT_FILES,)
            ]
            require_space(target, sum(member.file_size for member in members))
            for member in members:
                inside = Path(member.filename)
                if inside.is_absolute() or ".." in inside.parts:
                    said = f"has a file '{member.filename}', which lies outside of it"
                    raise SourceError(said, where=str(archive), remedy="unpack it by hand, and write the folder")
                with opened.open(member) as source, disk_errors(folder / inside):
                    (folder / inside).parent.mkdir(parents=True, exist_ok=True)
                    _copy(source, folder / inside)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise SourceError(f"not a zip archive: {error}", where=str(archive), remedy=remedy) from None
    return target


def _receive(url: str, partial: Path) -> None:
    """Append to what is there; a server that cannot go on from the middle starts afresh."""
    have = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        error.close()
        have = 0  # what is there is not the beginning of this file
        answer = urllib.request.urlopen(url, timeout=TIMEOUT_S)
    with answer:
        have = have if answer.status == http.client.PARTIAL_CONTENT else 0
        announced = answer.headers.get("Content-Length")
        left = int(announced) if announced is not None else None
        if left is not None:
            require_space(partial, left)
        with disk_errors(partial), partial.open("ab" if have else "wb") as file:
            received = _copy_to(answer, file, partial.name.removesuffix(PARTIAL), left)
    if left is not None and received < left:
        said = (
            f"ended after {have + received} of {have + left} bytes; running the same command again goes on from there"
        )
        raise http.client.HTTPException(said)


def _copy(source: IO[bytes], target: Path) -> None:
    with target.open("wb") as file:
        _copy_to(source, file, target.name, None)


def _copy_to(source: IO[bytes], file: IO[bytes], name: str, size: int | None) -> int:
    """Bytes that were copied."""
    received, chunks = 0, -(-(size or 0) // CHUNK_BYTES)
    with progress_bar(f"{name}, {CHUNK_BYTES >> 20} MiB each", chunks, wanted=chunks > 1) as advance:
        while chunk := source.read(CHUNK_BYTES):
            received += file.write(chunk)
            advance()
    return received

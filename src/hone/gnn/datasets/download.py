"""Files from public addresses: whole, checked, and taken up again where the last attempt ended."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import IO

from hone.core.errors import SourceError
from hone.core.files import disk_errors
from hone.core.progress import progress_bar
from hone.gnn.datasets.writing import complete_folder, require_space
from hone.gnn.graph import sha256_of

CHUNK_BYTES = 1 << 22
TIMEOUT_S = 60.0
"""Without a byte."""
PARTIAL = ".partial"


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
        if sha256 is not None and sha256_of(partial) != sha256:
            check_sha256(partial, sha256, remove=True)
        partial.replace(target)
    if sha256 is not None:
        check_sha256(target, sha256)
    return target


def check_sha256(path: Path, wanted: str, *, remove: bool = False) -> str:
    """The checksum of a file; raises SourceError when it is another one, or there is no such file."""
    try:
        found = sha256_of(path)
    except FileNotFoundError:
        remedy = "put it there, or take raw_dir out of the config: then it is downloaded"
        raise SourceError("no such file", where=str(path), remedy=remedy) from None
    if found != wanted:
        if remove:
            path.unlink()
        remedy = "delete the file and get it again; a file of another origin needs verify: false in the config"
        raise SourceError(f"sha256 is {found}, known is {wanted}", where=str(path), remedy=remedy)
    return found


def unpacked(archive: Path, target: Path) -> Path:
    """`target`, holding what a zip archive holds below its top folder; raises SourceError when it is damaged."""
    if target.is_dir():
        return target
    remedy = f"the download is truncated or damaged: delete {archive} and run the same command again"
    try:
        with zipfile.ZipFile(archive) as opened, complete_folder(target) as folder:
            members = [member for member in opened.infolist() if not member.is_dir()]
            require_space(target, sum(member.file_size for member in members))
            for member in members:
                inside = Path(*Path(member.filename).parts[1:])
                if inside.is_absolute() or ".." in inside.parts or inside == Path():
                    raise SourceError(f"has a file '{member.filename}'", where=str(archive), remedy=remedy)
                with opened.open(member) as source, disk_errors(folder / inside):
                    (folder / inside).parent.mkdir(parents=True, exist_ok=True)
                    _copy(source, folder / inside)
    except (zipfile.BadZipFile, EOFError) as error:
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

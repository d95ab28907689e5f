"""Reading and writing record files: atomic, and with errors that name file, line and field."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from hone.core.errors import MachineError, RecordError, on_failure

R = TypeVar("R", bound=BaseModel)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn a full disk, a read-only folder or missing rights into a MachineError that names the path."""
    try:
        yield
    except OSError as error:
        remedies = {
            errno.ENOSPC: "free space on that file system, then run the same command again",
            errno.EDQUOT: "your quota is used up: free space, then run the same command again",
            errno.EROFS: "the file system is read-only: run in a folder that you may write to",
            errno.ENOENT: "the folder cannot be made there: name another",
            errno.ENOTDIR: "a file stands where a folder should: name another place",
            errno.EISDIR: "a folder has that name: name another",
            errno.EACCES: "you may not write there: change the folder's rights or run elsewhere",
        }
        if error.errno not in remedies:
            raise
        raise MachineError(f"cannot write: {error.strerror}", where=str(path), remedy=remedies[error.errno]) from None


def require_writable(folder: Path) -> None:
    """Raise MachineError, before anything runs, when nothing can be written at a folder that may not exist yet."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        remedy = "name another folder, or move the file away"
        raise MachineError("a file stands where a folder is needed", where=str(existing), remedy=remedy)
    if not os.access(existing, os.W_OK):
        remedy = "make the folder writable, or run in a folder that you may write to"
        raise MachineError("cannot be written to", where=str(existing), remedy=remedy)


def reserve(descriptor: int, size_bytes: int) -> None:
    """Set disk space aside for an open file, from its beginning; raises OSError where there is too little.

    Some file systems cannot do it; a write is then checked when it happens.
    """
    try:
        os.posix_fallocate(descriptor, 0, size_bytes)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise


def write_text(path: Path, text: str) -> None:
    """Write a whole file or nothing: a reader never sees half of it, an interrupt leaves the old one."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """As `write_text`, for bytes."""
    _write(path, content, Path.replace)


def write_new_text(path: Path, text: str) -> bool:
    """As `write_text`, but a file that is there already stays, whoever was quicker; whether ours is the one.

    Where a disk has no hard links, a file that comes at the same moment is replaced.
    """
    _write(path, text.encode("utf-8"), _link)
    return path.read_text(encoding="utf-8") == text


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except FileExistsError:
        pass
    except OSError:
        if not target.exists():
            source.replace(target)
    source.unlink(missing_ok=True)


def _write(path: Path, content: bytes, place: Callable[[Path, Path], object]) -> None:
    """To a file beside it, which `place` puts there."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with on_failure(lambda: Path(name).unlink(missing_ok=True)):
            with os.fdopen(descriptor, "wb") as handle:
                handle.write(content)
                handle.flush()
                os.fsync(handle.fileno())
            Path(name).chmod(0o644)
            place(Path(name), path)


def write_records(path: Path, records: Iterable[BaseModel]) -> None:
    """One JSON object a line, atomically."""
    write_text(path, "".join(record.model_dump_json() + "\n" for record in records))


def read_record(path: Path, kind: type[R]) -> R:
    """One record that is a file of its own; raises RecordError."""
    return _parse(_read(path), kind, str(path))


def read_records(path: Path, kind: type[R]) -> list[R]:
    """All records of a JSON-lines file; raises RecordError naming file, line and field."""
    return [
        _parse(line, kind, f"{path}:{number}")
        for number, line in enumerate(_read(path).split("\n"), start=1)
        if line.strip()
    ]


def read_all(paths: Iterable[str | Path], kind: type[R]) -> list[R]:
    """Records of several files, in the order given; raises as `read_records`."""
    return [record for path in paths for record in read_records(Path(path), kind)]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RecordError("no such file", where=str(path)) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        remedy = "correct that line, or restore the file"
        raise RecordError(f"not UTF-8 text: {error.reason}", where=f"{path}:{line}", remedy=remedy) from None
    except OSError as error:
        raise RecordError(f"cannot read: {error.strerror}", where=str(path)) from None


def _parse(text: str, kind: type[R], where: str) -> R:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise RecordError(
            f"not a {kind.__name__}: {field + ': ' if field else ''}{first['msg']}",
            where=where,
            remedy="delete the file and run the same command again; what was paid for is kept in ledger and store",
        ) from None

"""The ledger: every answer that was paid for, by the digest of its request.

A directory of `<first two digits>/<key>.json`, each one Completion. Whatever lies there counts, whoever wrote it and
under whatever experiment. An answer that a content filter cut or refused is kept like any other: it was paid for, and
asking until the model complies would shift the distribution. Delete the entry to ask again.

A request may be sent only under the claim of its key, a `flock` that the kernel releases when a process dies. So
nothing is asked twice. Its answer goes into a Slot, disk space that is set aside beforehand. So a full disk loses no
paid answer.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hone.core.errors import MachineError, RecordError, on_failure
from hone.core.files import disk_errors, read_record, reserve
from hone.llm.names import config_name
from hone.llm.provider import StoppedError
from hone.records import Completion, LLMRequest, Usage

if TYPE_CHECKING:
    from filelock import BaseFileLock

SLOT_BYTES = 256 * 1024
"""Disk space set aside for an answer, beside its request."""

DAMAGED = (
    "restore the file from a copy, or delete it to have its request asked and paid again; `hone ledger --check` "
    "names all that are damaged"
)


class Ledger:
    """The answers in one directory; safe with several threads, processes and machines that share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        """Where the answer to a request lies or will lie."""
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> Completion | None:
        """The answer, None where there is none; raises RecordError for a damaged entry."""
        path = self.path(key)
        return read_entry(path) if path.exists() else None

    def find(self, request: LLMRequest) -> Completion | None:
        """The answer to a request, under its key or an older one; raises as `get`."""
        return next((entry for key in request.keys if (entry := self.get(key)) is not None), None)

    def has(self, request: LLMRequest) -> bool:
        """Whether there is an answer to a request, readable or not."""
        return any(self.path(key).exists() for key in request.keys)

    def put(self, completion: Completion) -> bool:
        """Keep an answer; False where one is there already, which stays. Raises MachineError."""
        if self.path(completion.key).exists():
            return False
        with self.slot(completion.request) as slot:
            return slot.commit(completion)

    @contextmanager
    def slot(self, request: LLMRequest) -> Iterator[Slot]:
        """Disk space for the answer to `request`; raises MachineError where the ledger cannot be written."""
        slot = Slot(self.path(request.key), SLOT_BYTES + 2 * len(request.model_dump_json().encode()))
        try:
            yield slot
        finally:
            slot.discard()

    @contextmanager
    def claim(self, key: str, stop: threading.Event | None = None, *, wait: bool = True) -> Iterator[bool]:
        """Hold the right to ask `key`, waiting for whoever has it; raises StoppedError when `stop` is set meanwhile.

        Without `wait` the block runs at once, and is told whether it holds the claim. Look into the ledger again once
        it is held: the one before has probably answered.
        """
        lock = new_lock(self.folder / ".claims" / f"{key}.lock")
        held = False
        while not held:
            if stop is not None and stop.is_set():
                raise StoppedError
            held = acquire(lock, timeout_s=0.5 if wait else 0.0)
            if not wait:
                break
        try:
            yield held
        finally:
            lock.release()

    def claimed(self, key: str) -> bool:
        """Whether a living thread or process holds the claim."""
        with self.claim(key, wait=False) as free:
            return not free

    def paths(self) -> list[Path]:
        """Files of all entries, sorted."""
        return sorted(path for path in self.folder.glob("??/*.json") if not path.name.startswith("."))

    def count(self) -> int:
        """Number of entries."""
        return len(self.paths())

    def entries(self) -> Iterator[Completion]:
        """All answers, by key; raises RecordError at the first damaged entry."""
        return (read_entry(path) for path in self.paths())

    def check(self) -> list[RecordError]:
        """What is wrong with the entries: one error for each damaged file, none when all is well."""
        damaged = []
        for path in self.paths():
            try:
                read_entry(path)
            except RecordError as error:
                damaged.append(error)
        return damaged


class Slot:
    """Disk space held for one answer, and the only way into the ledger.

    The caller holds the claim of the key, so that the temporary file has one writer; what a killed process left of it
    is reused.
    """

    def __init__(self, final: Path, reserved_bytes: int) -> None:
        self._final = final
        self._partial = final.with_name(f".{final.stem}.partial")
        with disk_errors(final):
            final.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            with on_failure(self.discard):
                os.ftruncate(self._descriptor, 0)
                reserve(self._descriptor, reserved_bytes)

    def commit(self, completion: Completion) -> bool:
        """Make the answer an entry, whole and on disk; False where there was one already, which stays.

        When the disk fails all the same, the entry's text is printed on stderr and MachineError says where it belongs.
        """
        line = completion.model_dump_json() + "\n"
        try:
            _write_all(self._descriptor, line.encode())
            os.fsync(self._descriptor)
            _publish(self._partial, self._final)
        except FileExistsError:
            return False
        except OSError as error:
            sys.stderr.write(f"save the next line as {self._final}:\n{line}")
            raise MachineError(
                f"cannot keep an answer that was paid for: {error.strerror}; it was printed on stderr, as the line "
                f"that starts with {line[:50]}",
                where=str(self._final),
                remedy="free space or restore the disk, save that line as this file, then run the same command again",
            ) from None
        return True

    def discard(self) -> None:
        """Give the space back; does nothing to an entry that was made."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._partial.unlink(missing_ok=True)


def new_lock(path: Path) -> BaseFileLock:
    """A lock that the kernel gives back when its holder dies; raises MachineError as `files.disk_errors` does."""
    from filelock import FileLock

    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    # filelock's substitute for missing flock outlives its process: better none at all than a stale one.
    return FileLock(path, fallback_to_soft=False)


def acquire(lock: BaseFileLock, timeout_s: float = -1) -> bool:
    """Take a lock, waiting for ever by default; False after `timeout_s`. Raises MachineError."""
    from filelock import Timeout

    try:
        with disk_errors(Path(lock.lock_file)):
            lock.acquire(timeout=timeout_s)
    except Timeout:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK):
            raise
        remedy = "put paths.ledger on another file system, or have this one mounted with flock"
        raise MachineError("this file system has no locks", where=lock.lock_file, remedy=remedy) from None
    return True


def read_entry(path: Path) -> Completion:
    """One entry; raises RecordError naming the file where it is damaged or under a wrong key."""
    try:
        entry = read_record(path, Completion)
    except RecordError as error:
        raise RecordError(error.problem, where=str(path), remedy=DAMAGED) from None
    if entry.key != path.stem or entry.key not in entry.request.keys:
        raise RecordError("the entry belongs to another request than its name says", where=str(path), remedy=DAMAGED)
    return entry


def describe(entries: Iterable[Completion]) -> list[str]:
    """A table for people: calls, failed tries, tokens and cost by model, and their sum; then what is not in it."""
    rows: dict[str, list[float]] = {}
    uncounted: list[float] = []
    for entry in entries:
        usage, cost_usd = entry.usage or Usage(), entry.known_cost_usd or 0.0
        if entry.usage is None:
            uncounted.append(entry.cost_usd)
        figures = (1, len(entry.failed_attempts), usage.input_tokens, usage.output_tokens, cost_usd)
        for name in (config_name(entry.request), "all"):
            rows[name] = [sum(pair) for pair in zip(rows.get(name, [0.0] * 5), figures, strict=True)]
    width = max(map(len, [*rows, "model"]))
    lines = [f"{'model':<{width}} {'calls':>7} {'failed':>7} {'input':>12} {'output':>12} {'cost_usd':>10}"]
    for name in sorted(rows, key=lambda name: (name == "all", name)):
        calls, failed, read, written, usd = rows[name]
        lines.append(f"{name:<{width}} {calls:>7.0f} {failed:>7.0f} {read:>12.0f} {written:>12.0f} {usd:>10.4f}")
    if uncounted:
        lines.append(
            f"The server counted no tokens of {len(uncounted)} calls: they are not in these sums, and cost at most "
            f"${sum(uncounted):.4f} more. The spending limit counts that."
        )
    return lines


def _write_all(descriptor: int, content: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.ftruncate(descriptor, len(content))


def _publish(partial: Path, final: Path) -> None:
    """Give the file its name, never over an existing one; raises FileExistsError."""
    try:
        os.link(partial, final)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EXDEV):
            raise
        if final.exists():  # no hard links here; the claim keeps other writers away
            raise FileExistsError(errno.EEXIST, "exists", str(final)) from None
        partial.rename(final)
    folder = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

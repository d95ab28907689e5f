"""What a run that was killed leaves behind: Snakemake's lock on the working folder, and jobs that still write.

Both are told from the living by locks of the kernel, which go with their process, however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

OUTPUT_LOCKS = Path("results/.locks")
"""A file for each job that runs, named by its output; empty when nothing runs, unless a job was killed."""


def forget_dead_runs(folder: Path) -> IO[str] | None:
    """Remove stale locks below `.snakemake` unless another run is alive; keep what is returned until the end.

    A lock of the kernel tells the two apart: it goes with its process, however that ends. Jobs of the same run, which
    read the Snakefile again, find it held and leave everything alone. None where it cannot be had.
    """
    try:
        folder.mkdir(exist_ok=True)
        handle = (folder / "hone.lock").open("w")
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        return None
    for lock in (folder / "locks").glob("*"):
        with contextlib.suppress(OSError):
            lock.unlink()
    return handle


@contextlib.contextmanager
def only_writer(output: str, say: Callable[[str], None], folder: Path = OUTPUT_LOCKS) -> Iterator[None]:
    """Hold an output's lock, after waiting for the job that has it: one that outlived its run and writes the same file.

    `say` is told what is waited for. Where files cannot be made or locked, nothing is waited for. Processes that the
    job has forked share its lock, which goes with the last of them.
    """
    path = folder / f"{hashlib.sha256(output.encode()).hexdigest()[:16]}.lock"
    lock = _locked(path, output, say)
    try:
        yield
    finally:
        if lock is not None:
            with contextlib.suppress(OSError):
                if _is_at(path, lock):
                    path.unlink()
            os.close(lock)


def _locked(path: Path, output: str, say: Callable[[str], None]) -> int | None:
    """Descriptor of the file, locked, with this process's name in it."""
    while True:
        lock = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            _lock(lock, output, say)
            if _is_at(path, lock):
                os.ftruncate(lock, 0)
                os.pwrite(lock, f"{os.getpid()} {platform.node()}".encode(), 0)
                return lock
        except OSError:
            if lock is not None:
                os.close(lock)
            return None
        os.close(lock)  # its owner has removed it: the next one has another file


def _lock(lock: int, output: str, say: Callable[[str], None]) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        process, _, machine = os.pread(lock, 256, 0).decode(errors="replace").partition(" ")
        say(
            f"{output}: process {process or '?'} on {machine or 'this machine'}, left behind by an earlier run, still "
            "writes it; this job waits for its end\n"
            f"  remedy: wait, or `kill {process or '<process>'}` there; this job then starts by itself\n"
        )
        fcntl.flock(lock, fcntl.LOCK_EX)


def _is_at(path: Path, lock: int) -> bool:
    """Is the open file still the one at the path?"""
    try:
        return os.path.samestat(path.stat(), os.fstat(lock))
    except FileNotFoundError:
        return False

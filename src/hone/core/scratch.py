"""Temporary folders that do not outlive a killed process for long: the next one of this machine removes them.

`kill -9` leaves a folder behind, and nothing in it tells whether its owner still lives. So the owner holds a lock of
the kernel on the folder itself, which ends with its process, however that ends: where the lock is free, there is no
owner. The folder is its own lock file because solutions and compilers write into it: they could remove a file there, or
put another in its place.

The name holds a mark of the host, since a lock may not be seen on another machine that shares the folder. Where
folders cannot be locked (NFS), they are made and removed as usual, and left alone when their owner was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
import zlib
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ScratchFolder(tempfile.TemporaryDirectory[str]):
    """`hone-<use>-<host>-…` in the folder for temporary files, locked until `cleanup` or the end of its context.

    The first one of a process removes those that killed processes left. Raises OSError when there is no room.
    """

    def __init__(self, use: str) -> None:
        sweep_once()
        while True:
            super().__init__(prefix=f"hone-{use}-{_host()}-", ignore_cleanup_errors=True)
            self._lock = _open_locked(Path(self.name), wait=True)
            if Path(self.name).is_dir():
                return
            self.cleanup()  # between its making and its locking another process took it for a dead one's

    def cleanup(self) -> None:
        """Remove the folder, then let go of it; may be called again."""
        super().cleanup()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep_once() -> None:
    """`sweep` the folder for temporary files, at the first call of this process."""
    _swept(Path(tempfile.gettempdir()))


@functools.cache
def _swept(place: Path) -> None:
    sweep(place)


def scratch_folders(place: Path) -> list[Path]:
    """This host's scratch folders there, of whatever user, with an owner or without."""
    return list(place.glob(f"hone-*-{_host()}-*"))


def sweep(place: Path) -> None:
    """Remove this user's and host's scratch folders whose owners are gone; what cannot be removed stays."""
    for folder in scratch_folders(place):
        lock = _open_locked(folder, wait=False)
        if lock is not None:
            if os.fstat(lock).st_uid == os.geteuid():
                shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _open_locked(folder: Path, *, wait: bool) -> int | None:
    """A descriptor that holds the folder's lock; None when it is gone, foreign, held, or on a disk without locks."""
    try:
        lock = os.open(folder, FOLDER)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return lock
    os.close(lock)
    return None


def _host() -> str:
    """Eight characters: a socket's path must stay short, and host names may be long."""
    return f"{zlib.crc32(os.uname().nodename.encode()):08x}"

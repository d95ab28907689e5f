"""Snakemake's lock on the working folder outlives a run that was killed; this takes it away when nobody runs there."""

from __future__ import annotations

import contextlib
import fcntl
from pathlib import Path
from typing import IO


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

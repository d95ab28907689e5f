"""How many compilers run on a machine at a time, whatever the number of jobs that want one.

A slot is a lock file that a compiler's process holds while it runs. All jobs that share the same cores share the same
slots, so that many small jobs keep the cores busy and no two of them take a core twice. The kernel gives a slot back
however its owner ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from hone.core.files import disk_errors
from hone.records import digest

FREE_SHARE = 4
"""One core in so many is left to judges and to Snakemake."""
POLL_S = 0.2


def compilers_at_a_time() -> int:
    """Slots on the cores that this process may use: all but a quarter, or all that Slurm gave a job of its own."""
    usable = len(os.sched_getaffinity(0))
    given = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if given.isdecimal() and int(given):
        return min(usable, int(given))
    return max(1, usable - usable // FREE_SHARE)


@contextlib.contextmanager
def compiler_slot() -> Iterator[None]:
    """Hold a slot, after waiting for one; raises MachineError where there is no room for lock files.

    Where files cannot be locked, nothing is waited for.
    """
    lock = _taken(_folder())
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _taken(folder: Path) -> int | None:
    """The descriptor of the first lock that is free; tried in random order, so that waiting jobs are served alike."""
    numbers = list(range(compilers_at_a_time()))
    while True:
        random.shuffle(numbers)
        for number in numbers:
            with disk_errors(folder):
                lock = os.open(folder / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except BlockingIOError:
                os.close(lock)
            except OSError:
                os.close(lock)
                return None
        time.sleep(POLL_S)


def _folder() -> Path:
    """Of this user, these cores and this job: jobs on other cores of the machine, as Slurm gives them, do not count."""
    job = [sorted(os.sched_getaffinity(0)), os.environ.get("SLURM_JOB_ID", "")]
    folder = Path(tempfile.gettempdir()) / f"hone-compilers-{os.geteuid()}-{digest(job)[:8]}"
    with disk_errors(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder

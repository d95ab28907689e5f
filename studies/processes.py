"""Processes of a study, watched: who descends from whom, who lives, who holds a GPU, as /proc shows it."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hone.core.errors import MachineError
from hone.core.processes import ending_within
from hone.machine import syscalls

PR_SET_CHILD_SUBREAPER = 36
POLL_S = 0.05
GPU_DEVICE = re.compile(r"/dev/nvidia\d+")


@contextmanager
def orphans_come_here() -> Iterator[None]:
    """Processes whose parent dies become children of this one, so that none of them can be lost from sight."""
    if not syscalls.prctl(PR_SET_CHILD_SUBREAPER, 1):
        raise MachineError("this kernel does not let a process adopt orphans, so none that is left can be found")
    try:
        yield
    finally:
        syscalls.prctl(PR_SET_CHILD_SUBREAPER, 0)


def descendants(root: int) -> set[int]:
    """Numbers of the living processes below one, itself not included; the dead that nobody waited for are left out."""
    table = _table()
    children: dict[int, list[int]] = {}
    for pid, (_, parent) in table.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [root]
    while waiting:
        for pid in children.get(waiting.pop(), []):
            waiting.append(pid)
            if table[pid][0] not in "ZX":
                found.add(pid)
    return found


def bury(spared: set[int]) -> None:
    """Wait for dead children of this process that are not among the spared ones."""
    for pid, (state, parent) in _table().items():
        if state == "Z" and parent == os.getpid() and pid not in spared:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def wait_until_gone(before: set[int], grace_s: float) -> tuple[int, float]:
    """How many descendants of this process, beyond those before, are left after at most `grace_s`; seconds waited."""
    started = time.monotonic()
    while True:
        left = descendants(os.getpid()) - before
        waited_s = time.monotonic() - started
        if not left or waited_s >= grace_s:
            bury(before)
            return len(left), waited_s
        time.sleep(POLL_S)


class GpuWatch:
    """A context manager that adds up how long a process or its descendants had a GPU's device file open."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._held_s = 0.0
        self._seen = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def held_s(self) -> float | None:
        """To about 0.05 s; absent when nobody was seen to hold one (no GPU, or /proc does not tell)."""
        return self._held_s if self._seen else None

    def __enter__(self) -> GpuWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        last = time.monotonic()
        while not self._ended.wait(POLL_S):
            now = time.monotonic()
            if any(map(_holds_gpu, {self._root, *descendants(self._root)})):
                self._held_s += now - last
                self._seen = True
            last = now


def run_watched(arguments: Sequence[str], folder: Path, name: str, timeout_s: float) -> dict[str, Any]:
    """Run a process to its end or its time limit: `wall_s`, `gpu_held_s`, and the end of what it said."""
    log = folder / f"{name}.log"
    started = time.monotonic()
    with log.open("wb") as handle:
        process = subprocess.Popen(
            arguments, env=child_environment(folder / f"{name}_tmp"), stdin=subprocess.DEVNULL,
            stdout=handle, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    with GpuWatch(process.pid) as watch:
        ended = ending_within(process, timeout_s)
    wall_s = time.monotonic() - started
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return {"wall_s": wall_s, "gpu_held_s": watch.held_s, "said": f"{ended}: {' '.join(said[-3:])}"}


def child_environment(scratch: Path) -> dict[str, str]:
    """This process's variables, with its import path in absolute terms and temporary files in `scratch`."""
    scratch.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry and Path(entry).exists())
    return {**os.environ, "PYTHONPATH": path, "TMPDIR": str(scratch.absolute())}


def _holds_gpu(pid: int) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)  # noqa: PTH208  the polling loop: as cheap as can be
    except OSError:
        return False
    for name in names:
        with contextlib.suppress(OSError):
            if GPU_DEVICE.fullmatch(os.readlink(f"{folder}/{name}")):  # noqa: PTH115
                return True
    return False


def _table() -> dict[int, tuple[str, int]]:
    """Process -> (state, parent)."""
    found: dict[int, tuple[str, int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
                state, parent = file.read().rpartition(")")[2].split()[:2]
                found[int(name)] = (state, int(parent))
    return found

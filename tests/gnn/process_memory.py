"""How much memory a process's map of a graph takes, and how much of that is its own: Linux, from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

KIB = 1024


@dataclass(frozen=True)
class MappedMemory:
    """Pages that are in memory; a page that n processes map counts 1/n in the proportional size of each."""

    resident_bytes: int
    proportional_bytes: int


def process_memory(pid: int | None = None) -> MappedMemory:
    """Everything that a process maps, from `smaps_rollup`; raises OSError when there is no such process."""
    text = (_folder(pid) / "smaps_rollup").read_text()
    return MappedMemory(_sum(text.splitlines(), "Rss:"), _sum(text.splitlines(), "Pss:"))


def mapped_memory(folder: Path, pid: int | None = None) -> MappedMemory:
    """What a process maps of the files in a folder, from `smaps`; raises OSError when there is no such process."""
    inside = f"{folder.resolve()}/"
    kept, wanted = [], False
    for line in (_folder(pid) / "smaps").read_text().splitlines():
        first = line.split(maxsplit=1)[0]
        if not first.endswith(":"):  # the head of a mapping: addresses, rights, offset, device, inode, path
            parts = line.split(maxsplit=5)
            wanted = len(parts) > 5 and parts[5].startswith(inside)
        elif wanted:
            kept.append(line)
    return MappedMemory(_sum(kept, "Rss:"), _sum(kept, "Pss:"))


def peak_resident_bytes(pid: int | None = None) -> int:
    """The most memory that a process has had resident since it began or its peak was reset."""
    return _sum((_folder(pid) / "status").read_text().splitlines(), "VmHWM:")


def _folder(pid: int | None) -> Path:
    return Path("/proc") / str(os.getpid() if pid is None else pid)


def _sum(lines: list[str], field: str) -> int:
    return sum(int(line.split()[1]) * KIB for line in lines if line.startswith(field))

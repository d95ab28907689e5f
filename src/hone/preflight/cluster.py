"""Slurm jobs that a killed run left behind: they would write what the next run writes, or delete it when they start."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

TIMEOUT_S = 60.0
OURS = ("rule_", "group_")
"""What the comment of a job starts with that Snakemake submitted."""


def cancel_orphans(folder: Path) -> list[str]:
    """Cancel this user's jobs that Snakemake submitted from a folder; gives their ids.

    Nothing happens where there is no Slurm, or where it does not answer. What was judged or trained so far is kept.
    """
    if shutil.which("squeue") is None:
        return []
    listed = _slurm("squeue", "--me", "--noheader", "--format=%i|%k|%Z")
    rows = [line.split("|") for line in listed.splitlines()]
    found = [row[0] for row in rows if row[1].startswith(OURS) and Path(row[-1]) == folder.resolve()]
    if found:
        _slurm("scancel", *found)
    return found


def _slurm(*command: str) -> str:
    """What a command of Slurm prints; nothing where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout

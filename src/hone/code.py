"""Digests of Hone's own code, so that a rule reruns when the sub-package that it runs has changed.

Snakemake does not see modules behind a script; a digest among a rule's params makes them an input.
"""

from __future__ import annotations

import functools
import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent
SOURCES = (".py", ".h", ".cpp")
"""What counts as code: also what extensions and samplers are compiled from."""


@functools.cache
def code_digest(*parts: str) -> str:
    """Digest of sub-packages or modules of hone, such as `judge` or `records`, as 16 hexadecimal digits."""
    total = hashlib.sha256()
    for part in sorted(parts):
        folder = ROOT / part
        inside = sorted(file for file in folder.rglob("*") if file.suffix in SOURCES)
        files = inside if folder.is_dir() else [folder.with_suffix(".py")]
        for file in files:
            content = file.read_bytes()
            total.update(f"{file.relative_to(ROOT)} {len(content)}\n".encode())
            total.update(content)
    return total.hexdigest()[:16]


@functools.cache
def commit() -> str:
    """Commit of the checkout that holds this code, with `+` when files have changed; empty outside a checkout."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"],
            cwd=ROOT, capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return described.stdout.strip()

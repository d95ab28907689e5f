"""Digests of Hone's own code, so that a rule reruns when the sub-package that it runs has changed.

Snakemake does not see modules behind a script; a digest among a rule's params makes them an input.
"""

from __future__ import annotations

import functools
import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent
SOURCES = (".py", ".h", ".cpp", ".cu", ".cuh")
"""What counts as code: also what extensions, samplers and kernels are compiled from."""


@functools.cache
def code_digest(*parts: str, without: tuple[str, ...] = ()) -> str:
    """Digest of sub-packages or modules of hone, such as `judge` or `records`, as 16 hexadecimal digits.

    `without`: sub-packages and modules among them that the rule does not run, so that editing those reruns nothing.
    """
    left_out = {file for part in without for file in _files(part)}
    total = hashlib.sha256()
    for part in sorted(parts):
        for file in _files(part):
            if file in left_out:
                continue
            content = file.read_bytes()
            total.update(f"{file.relative_to(ROOT)} {len(content)}\n".encode())
            total.update(content)
    return total.hexdigest()[:16]


def _files(part: str) -> list[Path]:
    folder = ROOT / part
    if not folder.is_dir():
        return [folder.with_suffix(".py")]
    return sorted(file for file in folder.rglob("*") if file.suffix in SOURCES)


def text_digest(file: Path) -> str:
    """Digest of one file's content, as 16 hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


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

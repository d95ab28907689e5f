"""Fetching an archive as a function of files."""

from __future__ import annotations

from pathlib import Path

from hone.config.archives import Archive
from hone.core.errors import located
from hone.core.files import write_records
from hone.sources.archives.fetch import fetch


def fetch_archive(name: str, archive: Archive, *, answers: Path, skipped: Path) -> None:
    """An archive's answers as they were published, and those that are left out; raises SourceError."""
    with located(f"archives.{name}"):
        found, left_out = fetch(name, archive)
    write_records(answers, found)
    write_records(skipped, left_out)

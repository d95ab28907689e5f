"""Names of entries' files: `<number>_<title>.yaml`. Imported whenever a workflow is planned, so it imports little."""

from __future__ import annotations

import re
from pathlib import Path

NAME = re.compile(r"(?P<number>\d+)_(?P<title>[A-Za-z]\w*)\.yaml")


def parse_name(path: str | Path) -> tuple[int, str] | None:
    """(number, title) of a file named like `1_silu_and_mul.yaml`; None for other files."""
    match = NAME.fullmatch(Path(path).name)
    return (int(match["number"]), match["title"]) if match else None


def numbers_in(folder: Path) -> dict[str, int]:
    """Title -> number of each entry in a folder, by number."""
    return {title: number for number, title in sorted(filter(None, map(parse_name, folder.glob("*.yaml"))))}

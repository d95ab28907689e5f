"""Known defects of KernelBench's problems, from `resources/soundness.csv`.

Which version of the problems a commit holds is in `resources/kernelbench_versions.csv`. Every flag says at which
tolerance it was found: a constant that passes at 1e-2 need not pass at 1e-4.
"""

from __future__ import annotations

import csv
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from hone.core.errors import RecordError
from hone.records import Record, SoundnessFlag
from hone.sources.problem import ProblemFile

FLAG_COLUMNS = ("benchmark_version", "level", "number", "flag", "tolerance", "detail", "source")
VERSION_COLUMNS = ("version", "commit", "branch", "note")


class SoundnessRow(Record):
    """One line of `soundness.csv`."""

    benchmark_version: str
    level: int
    number: int
    tolerance: float
    """Smallest tolerance at which the defect shows; 0 when it does not depend on it."""
    finding: SoundnessFlag


@dataclass(frozen=True)
class Soundness:
    """What is known of the problems' defects."""

    rows: Sequence[SoundnessRow] = ()
    version_of: Mapping[str, str] | None = None
    """Commit -> version of the problems."""

    def at(self, tolerance: float) -> Soundness:
        """Only what shows when outputs are compared at this tolerance."""
        return replace(self, rows=tuple(row for row in self.rows if row.tolerance <= tolerance))

    def flags(self, file: ProblemFile) -> tuple[SoundnessFlag, ...]:
        """Defects of one problem, in the table's order; none for a local source or a commit that is not listed."""
        version = (self.version_of or {}).get(file.commit)
        wanted = (version, file.level, file.number)
        return tuple(row.finding for row in self.rows if (row.benchmark_version, row.level, row.number) == wanted)


def read(flags: Path, versions: Path) -> Soundness:
    """Both tables; raises RecordError naming file, line and column."""
    rows = [_row(flags, number, values) for number, values in _table(flags, FLAG_COLUMNS)]
    commits = {values["commit"]: values["version"] for _, values in _table(versions, VERSION_COLUMNS)}
    return Soundness(tuple(rows), commits)


def warn_unknown_commits(soundness: Soundness, files: Sequence[ProblemFile]) -> None:
    """Say in the log which commits have no version, so that nothing of them is flagged."""
    commits = {file.commit for file in files} - {"local"} - set(soundness.version_of or {})
    for commit in sorted(commits):
        logging.getLogger(__name__).warning(
            "commit %s is not in resources/kernelbench_versions.csv: none of its problems is flagged as unsound; "
            "add a line with the version of the problems that it holds",
            commit,
        )


def _row(path: Path, number: int, values: Mapping[str, str]) -> SoundnessRow:
    flag = {name: values[name] for name in ("flag", "detail", "source")}
    place = {name: values[name] for name in ("benchmark_version", "level", "number", "tolerance")}
    try:
        return SoundnessRow.model_validate({**place, "finding": flag})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise RecordError(f"{field}: {first['msg']}", where=f"{path}:{number}", remedy="fix that line") from None


def _table(path: Path, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """(line number, values by column) of a CSV file with exactly these columns."""
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            reader = csv.DictReader(handle, strict=True)
            rows = [(reader.line_num, row) for row in reader]
            header = tuple(reader.fieldnames or ())
    except FileNotFoundError:
        raise RecordError("no such file", where=str(path)) from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise RecordError(f"not a CSV file: {error}", where=str(path)) from None
    remedy = f"the columns are {', '.join(columns)}"
    if header != tuple(columns):
        raise RecordError("has other columns", where=str(path), remedy=remedy)
    for number, row in rows:
        if None in row or None in row.values():
            raise RecordError("has too many or too few values", where=f"{path}:{number}", remedy=remedy)
    return rows

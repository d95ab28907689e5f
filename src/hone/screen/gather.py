"""What is to be screened: files and folders of answers, or solutions of experiments; and the problems beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hone.core.errors import ConfigError, closest
from hone.core.files import read_records
from hone.records import Candidate, Definition, Language, Solution
from hone.screen.screening import Screening, screen
from hone.sources.solution_files import header, language_of

R = TypeVar("R", Candidate, Solution)
_PLACES = tuple(
    re.compile(rf"level_?(?P<level>\d+){between}(?P<number>\d+)(?=\D|$)")
    for between in ("[/_]problem_", "/", "_[^/]*/problem_")
)
_PROBLEM = re.compile(r"level(?P<level>\d+)/(?P<number>\d+)_[^/]+\.py")
Problems = Mapping[tuple[int, int], str]
"""(level, number) -> text of the problem's file."""


@dataclass(frozen=True)
class Source:
    """One text to screen."""

    name: str
    text: str
    language: Language
    definition: str = ""
    level_and_number: tuple[int, int] | None = None


def file_sources(paths: Sequence[Path]) -> list[Source]:
    """Sources of files, and of all files below folders, by path; raises ConfigError where there are none.

    Links are left out below folders: archives link runs to each other. Bytes that are no UTF-8 are replaced.
    """
    found = [_file_source(path) for given in paths for path in _files(given)]
    if not found:
        where = ", ".join(map(str, paths)) or "hone screen"
        raise ConfigError("no solution here", where=where, remedy="name files that end in .py, .cu or .cpp, or folders")
    return found


def experiment_sources(names: Sequence[str], results: Path = Path("results")) -> list[Source]:
    """Solutions of experiments as `results/` has them; raises ConfigError for an experiment that is not there."""
    known = sorted(path.name for path in (results / "candidates").glob("*"))
    found = []
    for name in names:
        if name not in known:
            remedy = "run `snakemake` with the config that has it: solutions are there once answers are"
            raise ConfigError(f"no experiment '{name}'{closest(name, iter(known))}", where=str(results), remedy=remedy)
        solutions = {item.id: item for item in _records(results / "solutions" / name, Solution)}
        for row in _records(results / "candidates" / name, Candidate):
            if row.solution in solutions:
                found.append(_solution_source(row, solutions[row.solution]))
    return found


def read_problems(folder: Path) -> Problems:
    """Problems in KernelBench's format below a folder; raises ConfigError where there are none."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        if match := _PROBLEM.fullmatch("/".join(path.parts[-2:])):
            found[int(match["level"]), int(match["number"])] = path.read_text("utf-8", "replace")
    if not found:
        raise ConfigError("no problem here", where=str(folder), remedy="name a folder of level<n>/<number>_<title>.py")
    return found


def screen_all(
    sources: Iterable[Source], definitions: Mapping[str, Definition], problems: Problems
) -> Iterator[Screening]:
    """Each source, beside the problem of its level and number, else beside its definition's reference."""
    for source in sources:
        known, place = definitions.get(source.definition), source.level_and_number
        reference = known.reference if known else None
        if place is not None:
            reference = problems.get(place, reference)
        yield screen(
            source.text, source.name, definition=source.definition, reference=reference, language=source.language
        )


def level_and_number(path: str) -> tuple[int, int] | None:
    """(2, 17) of `level_2_problem_17_sample_0_kernel.py`, `level_2/problem_17.py`, `level2/17_Title.py`; else None."""
    for pattern in _PLACES:
        if found := list(pattern.finditer(path)):
            return int(found[-1]["level"]), int(found[-1]["number"])
    return None


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ConfigError("no such file or folder", where=str(path))
    files = (item for item in path.rglob("*") if item.is_file() and not item.is_symlink())
    return sorted(item for item in files if language_of(item) and item.name[0] not in "._")


def _file_source(path: Path) -> Source:
    text = path.read_text("utf-8", "replace")
    language = language_of(path) or Language.PYTHON
    definition = header(text, language).get("definition", "")
    return Source(str(path), text, language, definition, level_and_number(definition or path.as_posix()))


def _solution_source(row: Candidate, solution: Solution) -> Source:
    place = f"{row.experiment}/{row.model}/{row.definition}/turn{row.turn}/{row.sample}"
    name = f"{place} ({row.label})" if row.label else place
    return Source(name, solution.source, solution.language, row.definition, level_and_number(row.definition))


def _records(folder: Path, kind: type[R]) -> list[R]:
    return [row for path in sorted(folder.rglob("*.jsonl")) for row in read_records(path, kind)]

"""Fetching a source: its problem files, complete and checked, from a folder or from the pinned KernelBench commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from hone.config.sources import KernelBenchSource, LocalSource
from hone.core.errors import SourceError
from hone.sources import git
from hone.sources.problem import ProblemFile, parse_name, read_problem

LOCAL_COMMIT = "local"
FETCH_TIMEOUT_S = 600.0


def fetch(
    name: str, source: LocalSource | KernelBenchSource, *, timeout_s: float = FETCH_TIMEOUT_S
) -> list[ProblemFile]:
    """All problem files of the config's source `name`, by level and number.

    Nothing of them is executed. Raises SourceError when the place cannot be read, the commit is not there, a level
    is not complete (numbers 1..n, n from the config), or a file is not a problem.
    """
    if isinstance(source, LocalSource):
        contents = {str(path): (Path(source.path) / path).read_bytes() for path in check_local(source)}
        repository, commit = source.path, LOCAL_COMMIT
    else:
        contents = _read_kernelbench(source, timeout_s)
        repository, commit = source.url, source.commit
        _check_complete(repository, source.levels, list(contents))
    files = [read_problem(name, path, contents[path], repository=repository, commit=commit) for path in contents]
    return sorted(files, key=lambda file: (file.level, file.number))


def check_local(source: LocalSource) -> list[PurePosixPath]:
    """Paths within a folder of its problem files, which are not read; raises SourceError unless levels are complete."""
    folder, levels = Path(source.path), source.levels
    if not folder.is_dir():
        raise SourceError("no such folder", where=str(folder), remedy="correct the source's path in the config")
    missing = [f"level{level}" for level in levels if not (folder / f"level{level}").is_dir()]
    if missing:
        raise SourceError(
            f"has no folder {', '.join(missing)}",
            where=str(folder),
            remedy="put the problems into level<n>/<number>_<title>.py, or correct the source's levels in the config",
        )
    files = [path for level in levels for path in sorted((folder / f"level{level}").iterdir()) if path.is_file()]
    paths = [PurePosixPath(path.relative_to(folder)) for path in files if parse_name(path.as_posix())]
    _check_complete(source.path, levels, [str(path) for path in paths])
    return paths


def _read_kernelbench(source: KernelBenchSource, timeout_s: float) -> dict[str, bytes]:
    """Path within the repository -> content, of the problem files of the wanted levels."""
    contents: dict[str, bytes] = {}
    with git.snapshot(source.url, source.commit, timeout_s) as bare:
        for level in source.levels:
            contents.update(git.read_folder(bare, source.commit, f"KernelBench/level{level}", timeout_s))
    return {path: content for path, content in contents.items() if path.count("/") == 2 and parse_name(path)}


def _check_complete(where: str, levels: Mapping[int, int], paths: Sequence[str]) -> None:
    """Raise SourceError unless every level has exactly the numbers 1..n, each once."""
    found = [parsed[:2] for parsed in map(parse_name, paths) if parsed]
    for level, count in sorted(levels.items()):
        numbers = [number for at, number in found if at == level]
        complaints = {
            "missing": sorted(set(range(1, count + 1)) - set(numbers)),
            "unexpected": sorted(set(numbers) - set(range(1, count + 1))),
            "twice": sorted({number for number in numbers if numbers.count(number) > 1}),
        }
        said = [f"{what}: {_ranges(which)}" for what, which in complaints.items() if which]
        if said:
            raise SourceError(
                f"level {level} should have problems 1 to {count}, but {len(numbers)} are there; {'; '.join(said)}",
                where=where,
                remedy=_remedy(level, numbers),
            )


def _remedy(level: int, numbers: Sequence[int]) -> str:
    if numbers and sorted(numbers) == list(range(1, len(numbers) + 1)):
        return f"write {level}: {len(numbers)} under the source's levels; an experiment's `problems` takes some of them"
    return "correct the source's levels (or commit) in the config, or complete the problems"


def _ranges(numbers: Sequence[int]) -> str:
    """`1-3, 7` for 1, 2, 3, 7."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)

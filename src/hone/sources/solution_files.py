"""Solutions that lie in a folder, one a file, instead of coming from a model.

A file is `<name>.cu`, `<name>.cpp`, `<name>.triton.py` or `<name>.py`; names that start with `_` or `.`, and other
suffixes, are left out. Its leading comment lines (`//` or `#`) hold `definition: <name>` and any further
`key: value`, such as the `group`, `expected` and `earns` that the table judge_exploits shows, or the `way` and
`findings` that judge_idioms shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hone.core.errors import ConfigError, closest
from hone.launcher import ENTRY_POINTS
from hone.records import Language, Solution, Status
from hone.tunables import BadDeclarationError, Tunable, declared, with_first_values

SUFFIXES = {".triton.py": Language.TRITON, ".cu": Language.CUDA, ".cpp": Language.CPP, ".py": Language.PYTHON}
"""In the order in which they are tried: a Triton file's name ends in .py as well."""
TUNED = (Language.CPP, Language.CUDA)
"""Languages whose sources may declare parameters."""
COMMENTS = {Language.TRITON: "#", Language.PYTHON: "#", Language.CUDA: "//", Language.CPP: "//"}
PAIR = re.compile(r"([a-z][a-z_]*):\s*(.+)")
DEFINITION = re.compile(r"(?P<source>[^/\s]+)/level(?P<level>\d+)/(?P<number>\d+)_\S+")


@dataclass(frozen=True)
class SourceFile:
    """One file of the folder as a solution, and the problem that it is for."""

    path: Path
    solution: Solution
    source: str
    level: int
    number: int


def language_of(path: Path) -> Language | None:
    """What the file's name says that it is written in; None for another suffix."""
    return next((language for suffix, language in SUFFIXES.items() if path.name.endswith(suffix)), None)


def source_files(folder: Path) -> list[Path]:
    """The folder's solutions by file name; raises ConfigError where there is no such folder, or none in it."""
    if not folder.is_dir():
        raise ConfigError(
            "no such folder", where=str(folder), remedy="make the folder, or name the one with your kernels"
        )
    found = [path for path in folder.iterdir() if path.is_file() and language_of(path) and path.name[0] not in "._"]
    if not found:
        remedy = f"solutions are files that end in {', '.join(SUFFIXES)}"
        raise ConfigError("holds no solution", where=str(folder), remedy=remedy)
    return sorted(found, key=lambda path: path.name)


def header(source: str, language: Language) -> dict[str, str]:
    """The `key: value` lines among the comments before the first line of code; the first of two equal keys counts."""
    found: dict[str, str] = {}
    for line in source.splitlines():
        text = line.strip()
        if text and not text.startswith(COMMENTS[language]):
            break
        if match := PAIR.fullmatch(text.lstrip("/#").strip()):
            found.setdefault(match[1], match[2].strip())
    return found


def statuses(expected: str) -> list[str]:
    """The verdicts of a line `expected: wrong_value | runtime_error`."""
    return [word.strip() for word in expected.split("|") if word.strip()]


def read_source(path: Path) -> tuple[Language, str]:
    """A file's language, by its name, and its text, with the first values of parameters that it declares.

    Raises ConfigError for a folder, for another suffix, for what is empty or not text, and for a declaration that
    cannot be read.
    """
    if path.is_dir():
        raise ConfigError("is a folder", where=str(path), remedy="name its files")
    language = language_of(path)
    if language is None:
        raise ConfigError(f"the name ends in none of {', '.join(SUFFIXES)}", where=str(path))
    text = _text(path)
    if not text.strip():
        raise ConfigError("the file is empty", where=str(path), remedy="write a kernel into it, or remove it")
    if language not in TUNED:
        return language, text
    with _declarations_of(path):
        return language, with_first_values(text)


def tunable_of(path: Path) -> Tunable:
    """The parameters that a file declares; raises ConfigError where it declares none, or they cannot be read."""
    found = None
    if language_of(path) in TUNED:
        with _declarations_of(path):
            found = declared(_text(path))
    if found is None:
        remedy = "write `// tune: BLOCK in 64, 128` above the code of a .cu or .cpp that uses BLOCK"
        raise ConfigError("declares no parameters", where=str(path), remedy=remedy)
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        remedy = "a solution is a text file with a kernel's source"
        raise ConfigError(f"cannot read: {error}", where=str(path), remedy=remedy) from None


@contextmanager
def _declarations_of(path: Path) -> Iterator[None]:
    try:
        yield
    except BadDeclarationError as error:
        remedy = "docs/tuning.md shows how parameters are declared"
        raise ConfigError(f"its parameters cannot be read: {error}", where=str(path), remedy=remedy) from None


def read_file(path: Path) -> SourceFile:
    """One solution.

    Raises ConfigError, naming the file, where it is not text, does not say what it computes, or expects a verdict that
    does not exist.
    """
    language, text = read_source(path)
    lines = header(text, language)
    for status in statuses(lines.get("expected", "")):
        if status not in tuple(Status):
            problem = f"expected: '{status}' is no verdict{closest(status, iter(Status))}"
            raise ConfigError(problem, where=str(path), remedy="name verdicts, with | between them")
    name = lines.get("definition", "")
    match = DEFINITION.fullmatch(name)
    if match is None:
        problem = f"'{name}' is not the name of a definition" if name else "does not say what it computes"
        remedy = f"write `{COMMENTS[language]} definition: <source>/level<n>/<number>_<title>` above the code"
        raise ConfigError(problem, where=str(path), remedy=remedy)
    solution = Solution(definition=name, language=language, entry_point=ENTRY_POINTS[language], source=text)
    return SourceFile(path, solution, match["source"], int(match["level"]), int(match["number"]))

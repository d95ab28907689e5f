"""In-context examples: a problem in KernelBench's format and an exemplary answer in each language.

A folder per example holds `problem.py` and one answer a language, so that a new example needs no code: a prompt shows
those that its template names. `add` is the one-shot example; the other three have the subjects of the KernelBench
paper's few-shot prompt (its Table 10).
"""

from __future__ import annotations

from pathlib import Path

from hone.core.errors import ConfigError, closest
from hone.records import Language, Record

ANSWER_FILES = {
    Language.CPP: "answer.cpp",
    Language.CUDA: "answer.cu",
    Language.PYTHON: "answer.python.py",
    Language.TRITON: "answer.triton.py",
}


class Example(Record):
    """A solved problem that a prompt shows."""

    name: str
    """Its folder's name."""
    problem: str
    """Python source with `Model`, `get_inputs` and `get_init_inputs`."""
    answer: str
    """Source of the solution in the language asked for."""


def load_example(name: str, language: Language, folder: Path) -> Example:
    """An example of `folder`; raises ConfigError for a missing or unreadable file."""
    if not (folder / name).is_dir():
        known = (path.name for path in sorted(folder.glob("*")) if path.is_dir())
        raise ConfigError(f"no example '{name}'{closest(name, known)}", where=str(folder))
    return Example(
        name=name,
        problem=_read(folder / name / "problem.py", "a problem in KernelBench's format"),
        answer=_read(folder / name / ANSWER_FILES[language], f"the example's answer in {language.value}"),
    )


def _read(path: Path, content: str) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        remedy = f"write {content} there, or use another example or language"
        raise ConfigError("no such file", where=str(path), remedy=remedy) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 text: {error}", where=str(path)) from None
    if not text.strip():
        raise ConfigError("empty file", where=str(path), remedy=f"write {content} there")
    return text

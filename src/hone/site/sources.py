"""Source text as coloured tokens, line by line, and where two texts differ."""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import Any

from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES, Token

from hone.records import Language

LEXERS = {Language.PYTHON: "python", Language.TRITON: "python", Language.CPP: "cpp", Language.CUDA: "cuda"}
HIGHLIGHTED_CHARACTERS = 200_000
"""A longer text has no colours; all of it is shown."""
COMPARED_LINES = 4000
"""Of longer texts no difference is computed."""
Line = list[list[str]]
"""[class, text] of each token; the class is Pygments' short one, empty for plain text."""


def lines_of(text: str, language: Language) -> list[Line]:
    """Tokens of each line. Joined, the texts are the source with its line ends as single line feeds."""
    if len(text) > HIGHLIGHTED_CHARACTERS:
        return [[["", line]] for line in text.splitlines()]
    lines: list[Line] = [[]]
    for kind, value in _lexer(LEXERS[language]).get_tokens(text):
        name = _class_of(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                _append(lines[-1], name, part)
    if not lines[-1]:
        lines.pop()
    return lines


def _append(line: Line, name: str, part: str) -> None:
    """Neighbours of one class are one token."""
    if line and line[-1][0] == name:
        line[-1][1] += part
    else:
        line.append([name, part])


@lru_cache
def _lexer(name: str) -> Any:
    return get_lexer_by_name(name, stripnl=False, ensurenl=False)


@lru_cache
def _class_of(kind: Any) -> str:
    while kind not in STANDARD_TYPES:
        kind = kind.parent
    # White space has a class of its own, which no style colours.
    return "" if kind in Token.Text else str(STANDARD_TYPES[kind])


def opcodes(before: str, after: str) -> list[list[Any]]:
    """What turns the lines of one text into those of another: [tag, from, to, from, to] as difflib has them.

    Tags are `equal`, `replace`, `delete` and `insert`; ends are exclusive. Very long texts are one `replace`.
    """
    one, two = before.split("\n"), after.split("\n")
    if max(len(one), len(two)) > COMPARED_LINES:
        return [["replace", 0, len(one), 0, len(two)]]
    return [list(code) for code in difflib.SequenceMatcher(None, one, two, autojunk=False).get_opcodes()]

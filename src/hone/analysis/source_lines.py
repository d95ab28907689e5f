"""Lines of code of a kernel, as the Astra paper counts them: those that are neither blank nor comment."""

from __future__ import annotations

import re

from hone.records import Language

C_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
"""Comments, and the literals in which `//` or `/*` would not begin one."""
PYTHON_TOKEN = re.compile(r"""#[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""")


def lines_of_code(source: str, language: Language) -> int:
    """Non-blank, non-comment lines. A Python docstring is code; a C++ raw string is read as a plain one."""
    token = C_TOKEN if language in (Language.CPP, Language.CUDA) else PYTHON_TOKEN
    bare = token.sub(_without_comment, source)
    return sum(bool(line.strip()) for line in bare.splitlines())


def _without_comment(match: re.Match[str]) -> str:
    """A literal as it is; a comment as its line breaks alone."""
    text = match[0]
    return text if text[0] in "\"'" else "\n" * text.count("\n")

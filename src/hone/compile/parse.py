"""Python is not compiled ahead of time: all that is checked is that the source parses."""

from __future__ import annotations

import ast
import sys
import threading
import warnings

from hone.records import Build, BuildStatus, Language, Solution

_ONE_AT_A_TIME = threading.Lock()
"""Builds run in threads, of which neither `ast` (a depth counter of the whole interpreter) nor `warnings` knows."""


def parse(solution: Solution) -> Build:
    """INTERPRETED, or REJECTED with the parser's message; of Triton sources also the entry point is looked for."""
    problem = ""
    try:
        tree = syntax_tree(solution.source)
    except SyntaxError as error:
        problem = f"SyntaxError: {error.msg} (line {error.lineno})\n{(error.text or '').rstrip()}"
    except (ValueError, RecursionError, MemoryError) as error:
        problem = f"{type(error).__name__}: {error}"
    else:
        if solution.language is Language.TRITON and not _defines_class(tree, solution.entry_point):
            problem = f"the source has no class {solution.entry_point}"
    return Build(
        solution=solution.id,
        status=BuildStatus.REJECTED if problem else BuildStatus.INTERPRETED,
        log=problem[:20_000],
        toolchain=f"Python {sys.version_info.major}.{sys.version_info.minor}",
    )


def syntax_tree(source: str) -> ast.Module:
    """The parsed source; raises SyntaxError, ValueError, RecursionError or MemoryError for what Python cannot parse."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a candidate's doubtful escape sequences are no concern of ours
        return ast.parse(source)


def _defines_class(tree: ast.Module, name: str) -> bool:
    return any(isinstance(node, ast.ClassDef) and node.name == name for node in ast.walk(tree))

"""Headers in one text: every `#include` of a package is replaced by the file, others are gathered at the top.

A file is put in once. Where it is included between `#if` and `#endif` nothing says whether that part is compiled, so it
is put in there under a guard of its own, and again where it is included next.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pydantic import Field

from hone.core.errors import SourceError
from hone.records import Record
from hone.sources.extraction.packages import Tree

COMMENT_OR_TEXT = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)"""
    r"""|R"(?P<mark>[^\s()\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
INCLUDE = re.compile(r"\s*#\s*include\s*(?P<open>[<\"])(?P<name>[^>\"]+)[>\"]\s*")
CONDITION = re.compile(r"\s*#\s*(?P<word>if|ifdef|ifndef|endif)\b")
ONCE = re.compile(r"\s*#\s*pragma\s+once\s*")
BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")


class Resolved(Record):
    """What the headers of a kernel come to."""

    system: tuple[str, ...]
    """Headers of the toolkit and the language, as `<cuda_runtime.h>`, in the order of their first use."""
    text: str
    """The packages' files in each other's place, without comments."""
    origins: tuple[str, ...]
    """The packages' files that are in the text, `<package>: <path>`, in order."""
    places: dict[str, str] = Field(default_factory=dict)
    """One of `system` -> the file that includes it first, `<package>: <path>`."""


@dataclass
class _State:
    trees: Sequence[Tree]
    system: dict[str, str] = field(default_factory=dict)
    origins: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    done: set[tuple[str, str]] = field(default_factory=set)
    guarded: dict[tuple[str, str], str] = field(default_factory=dict)
    open: list[tuple[str, str]] = field(default_factory=list)


def resolve(headers: Sequence[str], trees: Sequence[Tree]) -> Resolved:
    """The headers, named as in an `#include`, and all that they include from the packages, searched in their order.

    Raises SourceError when one of `headers`, or a file included in quotes, is in none of the packages.
    """
    state = _State(trees)
    for header in headers:
        _insert(state, _required(state, header), conditional=False)
    text, origins = "".join(state.parts), tuple(state.origins)
    return Resolved(system=tuple(state.system), text=text, origins=origins, places=state.system)


def without_comments(text: str) -> str:
    """C++ text with every comment replaced by a space, so that no words grow together; line numbers change."""
    plain = COMMENT_OR_TEXT.sub(lambda match: " " if match["comment"] is not None else match[0], text)
    return BLANK_LINES.sub("\n", "\n".join(line.rstrip() for line in plain.split("\n")))


def _required(state: _State, header: str) -> tuple[Tree, str]:
    for tree in state.trees:
        path = tree.find(header)
        if path is not None:
            return tree, path
    places = "; ".join(f"{tree.label}: {', '.join(tree.include)}" for tree in state.trees)
    remedy = "correct `headers` in the entry, or the package's include folders in the config"
    raise SourceError("no such header in the packages", where=f"{header} ({places})", remedy=remedy)


def _insert(state: _State, place: tuple[Tree, str], *, conditional: bool) -> None:
    """Add a file and what it includes, unless it is there already."""
    tree, path = place
    key = (tree.name, path)
    if key in state.done or key in state.open:
        return
    lines = _logical_lines(_without_guard(without_comments(tree.files[path].decode("utf-8", "replace"))))
    if key not in state.guarded:
        state.origins.append(f"{tree.label}: {path}")
    guard = state.guarded.get(key)
    if conditional and guard is None:
        guard = state.guarded[key] = f"HONE_ONCE_{len(state.guarded)}"
    if not conditional:
        state.done.add(key)
    state.open.append(key)
    state.parts.append(f"#ifndef {guard}\n#define {guard}\n" if guard else "")
    _insert_lines(state, place, lines, conditional=conditional)
    state.parts.append("#endif\n" if guard else "")
    state.open.pop()


def _insert_lines(state: _State, place: tuple[Tree, str], lines: Sequence[str], *, conditional: bool) -> None:
    depth = 0
    for line in lines:
        condition, include = CONDITION.match(line), INCLUDE.fullmatch(line)
        if condition:
            depth += -1 if condition["word"] == "endif" else 1
        if include is None:
            state.parts.append(line + "\n")
            continue
        found = _found(state, place, include)
        if found is not None:
            _insert(state, found, conditional=conditional or depth > 0)
        elif conditional or depth > 0:
            state.parts.append(line + "\n")
        elif include["open"] == '"':
            tree, path = place
            where = f"{tree.label}: {path}"
            remedy = "add the package that has it to the entry's packages, or its folder to the package's include"
            raise SourceError(f'includes "{include["name"]}", which is not in the packages', where=where, remedy=remedy)
        else:
            tree, path = place
            state.system.setdefault(f"<{include['name']}>", f"{tree.label}: {path}")


def _found(state: _State, place: tuple[Tree, str], include: re.Match[str]) -> tuple[Tree, str] | None:
    """As a compiler searches: with quotes beside the including file first, then in the include folders in order."""
    tree, path = place
    if include["open"] == '"':
        beside = _normal(PurePosixPath(path).parent / include["name"])
        if beside in tree.files:
            return tree, beside
    for other in (tree, *(one for one in state.trees if one is not tree)):
        found = other.find(include["name"])
        if found is not None:
            return other, found
    return None


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _logical_lines(text: str) -> list[str]:
    """Lines, those that end in a backslash together with the next."""
    return [line for line in re.split(r"(?<!\\)\n", text) if line.strip()]


def _without_guard(text: str) -> str:
    """The text without `#pragma once`, and without an `#ifndef X`, `#define X` … `#endif` around all of it."""
    lines = [line for line in _logical_lines(text) if not ONCE.fullmatch(line)]
    if len(lines) >= 3:
        first = re.fullmatch(r"\s*#\s*ifndef\s+(\w+)\s*", lines[0])
        second = re.fullmatch(r"\s*#\s*define\s+(\w+)\s*", lines[1])
        last = re.fullmatch(r"\s*#\s*endif\b.*", lines[-1])
        if first and second and last and first[1] == second[1] and _closes_at_end(lines):
            lines = lines[2:-1]
    return "\n".join(lines)


def _closes_at_end(lines: Sequence[str]) -> bool:
    """Whether the first line's condition is open until the last line, without an `#else` of its own."""
    depth = 0
    for index, line in enumerate(lines):
        condition = CONDITION.match(line)
        if condition:
            depth += -1 if condition["word"] == "endif" else 1
        elif depth == 1 and re.match(r"\s*#\s*el", line):
            return False
        if depth == 0 and index < len(lines) - 1:
            return False
    return depth == 0

"""Parameters that a kernel declares, with their values: how one source stands for many kernels.

Comments above the code say it; each `tune:` line becomes the `#define` of one value:

    // tune: BLOCK in 64, 128, 256
    // tune: VEC in 1, 2, 4
    // where: BLOCK * VEC <= 512
    // threads: BLOCK
    // shared: BLOCK * VEC * 4

`where` is what values must fulfil, with the operators of C on whole numbers. `threads` are those of the largest block.
`shared` is the bytes of shared memory that a launch asks for on top of the static ones. With these two, values that no
GPU can launch need not be tried. Where nothing is tuned, each parameter has its first allowed values.
"""

from __future__ import annotations

import ast
import itertools
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

Values = Mapping[str, int]
"""Parameter -> its value."""

TUNE = re.compile(r"\s*//\s*tune:\s*(?P<said>.*)")
OTHER = re.compile(r"\s*//\s*(?P<kind>where|threads|shared):\s*(?P<said>.*)")
COMMENT = re.compile(r"\s*//")
PARAMETER = re.compile(r"(?P<name>[A-Za-z_]\w*)\s+in\s+(?P<values>-?\d+(?:\s*,\s*-?\d+)*)\s*")
MOST_POINTS = 100_000
MOST_CHARACTERS = 500
"""Of an expression."""
BINARY: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip
COMPARISONS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip


class BadDeclarationError(ValueError):
    """A declaration that cannot be read; the message names its line."""


@dataclass(frozen=True)
class Parameter:
    """One `tune:` line."""

    name: str
    values: tuple[int, ...]
    line: int
    """Of the source, from 0."""


@dataclass(frozen=True)
class Tunable:
    """A source with parameters."""

    source: str
    parameters: tuple[Parameter, ...]
    conditions: tuple[str, ...] = ()
    threads: str = ""
    """Of the largest block; empty where it is not declared."""
    shared: str = ""
    """Bytes of shared memory that a launch asks for."""

    @cached_property
    def points(self) -> tuple[dict[str, int], ...]:
        """All allowed choices of values, in the order of the declaration."""
        return tuple(self._allowed())

    @property
    def first(self) -> dict[str, int]:
        """The values that count where nothing is tuned."""
        return dict(next(self._allowed()))

    def _allowed(self) -> Iterator[dict[str, int]]:
        names = [item.name for item in self.parameters]
        for values in itertools.product(*(item.values for item in self.parameters)):
            point = dict(zip(names, values, strict=True))
            if all(evaluate(condition, point) for condition in self.conditions):
                yield point

    def at(self, values: Values) -> str:
        """The source with these values: as many lines as before, without declarations of parameters."""
        lines = self.source.split("\n")
        for item in self.parameters:
            others = ", ".join(map(str, item.values))
            lines[item.line] = f"#define {item.name} {values[item.name]}  // one of {others}"
        return "\n".join(lines)


def declared(source: str) -> Tunable | None:
    """What a C++ or CUDA source declares; None where it has no `tune:` line. Raises BadDeclarationError.

    Other declarations count in the comment lines around the first `tune:` line, up to a line that is no comment.
    """
    lines = source.split("\n")
    first = next((number for number, line in enumerate(lines) if TUNE.fullmatch(line)), None)
    if first is None:
        return None
    parameters: list[Parameter] = []
    said: dict[str, list[str]] = {"where": [], "threads": [], "shared": []}
    for number in _block(lines, first):
        if match := TUNE.fullmatch(lines[number]):
            parameters.append(_parameter(match["said"], number))
        elif other := OTHER.fullmatch(lines[number]):
            said[other["kind"]].append(other["said"].strip())
    for kind in ("threads", "shared"):
        if len(said[kind]) > 1:
            raise BadDeclarationError(f"`{kind}:` is there {len(said[kind])} times")
    found = Tunable(
        source, tuple(parameters), tuple(said["where"]), *("".join(said[kind]) for kind in ("threads", "shared"))
    )
    _check(found)
    return found


def with_first_values(source: str) -> str:
    """The source as it is compiled where nothing is tuned; itself where it declares nothing. Raises as `declared`."""
    found = declared(source)
    return source if found is None else found.at(found.first)


def evaluate(expression: str, values: Values) -> int:
    """An expression of C's operators on whole numbers: + - * / %, comparisons, && || !; raises BadDeclarationError."""
    return _value(_parsed(expression), values, expression)


def _block(lines: list[str], first: int) -> range:
    """Numbers of the comment lines around a line."""
    start, end = first, first
    while start > 0 and COMMENT.match(lines[start - 1]):
        start -= 1
    while end + 1 < len(lines) and COMMENT.match(lines[end + 1]):
        end += 1
    return range(start, end + 1)


def _parameter(said: str, line: int) -> Parameter:
    match = PARAMETER.fullmatch(said)
    if match is None:
        raise BadDeclarationError(f"line {line + 1}: `tune: {said}` is not of the form `tune: BLOCK in 64, 128`")
    values = tuple(dict.fromkeys(int(value) for value in match["values"].split(",")))
    return Parameter(match["name"], values, line)


def _check(found: Tunable) -> None:
    names = [item.name for item in found.parameters]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise BadDeclarationError(f"{twice} is declared twice")
    count = 1
    for item in found.parameters:
        count *= len(item.values)
    if count > MOST_POINTS:
        raise BadDeclarationError(f"{count} choices of values are more than {MOST_POINTS}: name fewer values")
    one = {item.name: item.values[0] for item in found.parameters}
    for expression in (*found.conditions, found.threads, found.shared):
        if expression:
            evaluate(expression, one)
    if next(found._allowed(), None) is None:
        raise BadDeclarationError("no choice of values fulfils all `where:` lines")


def _parsed(expression: str) -> ast.expr:
    if len(expression) > MOST_CHARACTERS:
        raise BadDeclarationError(f"an expression of {len(expression)} characters; {MOST_CHARACTERS} are allowed")
    text = re.sub(r"!(?!=)", " not ", expression.replace("&&", " and ").replace("||", " or "))
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadDeclarationError(f"`{expression}` is no expression") from None


def _value(node: ast.expr, values: Values, whole: str) -> int:
    def of(part: ast.expr) -> int:
        return _value(part, values, whole)

    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            found = number
        case ast.Name(id=name) if name in values:
            found = values[name]
        case ast.Name(id=name):
            raise BadDeclarationError(f"`{whole}`: {name} is no parameter; there are {', '.join(values)}")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            one, other = of(left), of(right)
            if other == 0 and isinstance(op, ast.Div | ast.Mod):
                raise BadDeclarationError(f"`{whole}` divides by 0")
            found = BINARY[type(op)](one, other)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            found = -of(operand)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            found = int(not of(operand))
        case ast.BoolOp(op=op, values=parts):
            said = [bool(of(part)) for part in parts]
            found = int(all(said) if isinstance(op, ast.And) else any(said))
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in COMPARISONS for op in ops):
            pairs = zip(ops, itertools.pairwise([of(part) for part in (left, *others)]), strict=True)
            found = int(all(COMPARISONS[type(op)](*pair) for op, pair in pairs))
        case _:
            raise BadDeclarationError(f"`{whole}`: only + - * / %, comparisons, && || ! and whole numbers are allowed")
    return found

"""Axes whose size follows from others: formulas such as `2 * hidden`, `hidden / 128` or `(tokens + 63) // 64`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

FORM = "write + - * / // of axes and whole numbers, such as 2 * hidden or (tokens + 63) // 64; / must come out even"
OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


class FormulaError(ValueError):
    """A text that is no formula, or a size that it does not give; the message says why."""


def names_in(formula: str) -> set[str]:
    """The axes that a formula speaks of; raises FormulaError."""
    tree = _parsed(formula)
    _check(tree, formula)
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def size_of(formula: str, sizes: Mapping[str, int]) -> int:
    """The size that a formula gives, at least 1, for those of the axes in it; raises FormulaError."""
    try:
        found = _value(_parsed(formula), sizes)
    except (ZeroDivisionError, FormulaError) as error:
        raise FormulaError(f"'{formula}' gives no size at {_listed(formula, sizes)}: {error}") from None
    if found < 1:
        raise FormulaError(f"'{formula}' is {found} at {_listed(formula, sizes)}, and a size is at least 1")
    return found


def multiple(formula: str) -> tuple[int, str] | None:
    """(2, hidden) of `2 * hidden`; None of other formulas. Raises FormulaError."""
    match _parsed(formula):
        case ast.BinOp(ast.Constant(int(factor)), ast.Mult(), ast.Name(axis)):
            return factor, axis
    return None


def _parsed(formula: str) -> ast.expr:
    try:
        return ast.parse(formula.strip(), mode="eval").body
    except SyntaxError:
        raise FormulaError(f"'{formula}' is no formula: {FORM}") from None


def _check(node: ast.expr, formula: str) -> None:
    match node:
        case ast.Name() | ast.Constant(int()):
            return
        case ast.BinOp(left, kind, right) if type(kind) in OPERATORS or isinstance(kind, ast.Div):
            _check(left, formula)
            _check(right, formula)
        case _:
            raise FormulaError(f"'{formula}' is no formula: {FORM}")


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(int(value)):
            return value
        case ast.Name(name) if name in sizes:
            return sizes[name]
        case ast.BinOp(left, ast.Div(), right):
            share, rest = divmod(_value(left, sizes), _value(right, sizes))
            if rest:
                raise FormulaError(f"{ast.unparse(node)} is not whole")
            return share
        case ast.BinOp(left, kind, right) if type(kind) in OPERATORS:
            return OPERATORS[type(kind)](_value(left, sizes), _value(right, sizes))
    raise FormulaError(f"{ast.unparse(node)} is not known")


def _listed(formula: str, sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{axis} = {sizes[axis]}" for axis in sorted(names_in(formula)) if axis in sizes)

"""Where a module's source builds extensions, and the calls there whose arguments are literals.

Many modules build in `forward`, which the build stage does not run. What such a call asks for stands in the source:
texts, lists and dictionaries, put together from names that are given a value once. Nothing is executed here.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

from hone.compile.extension_call import Call, call_of
from hone.compile.parse import syntax_tree

BUILDERS = {"load_inline", "load", "_jit_compile", "CUDAExtension", "CppExtension", "BuildExtension"}
"""Names of `torch.utils.cpp_extension` that lead to a compiler."""
MOST_CHARACTERS = 1 << 20
MOST_ITEMS = 1_000
ANY_NAME = "extension"
"""In place of a name that is no literal, such as one with the number of the process."""
_IRRELEVANT = {"build_directory", "verbose", "keep_intermediates", "use_pch"}
_STRIPPING = {"strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip}
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class _NoLiteralError(Exception):
    """The value is known only when the module runs."""


def builds_extensions(source: str) -> bool:
    """Whether the source uses what builds extensions; an import alone does not count."""
    tree = _tree(source)
    names = _Names.of(tree)
    used = (node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute))
    return any(isinstance(node.ctx, ast.Load) and names.builds(node) for node in used)


def literal_calls(source: str, *, handlers: bool) -> list[Call]:
    """Calls of `load_inline` inside functions whose arguments are literals; `handlers`: also those after `except`."""
    tree = _tree(source)
    names = _Names.of(tree)
    folder = _Folder(_attributes(tree))
    found: dict[Call, None] = {}
    for site in _sites(tree, _Scope.of(tree), within=False):
        if site.after_except and not handlers:
            continue
        if names.is_load_inline(site.call.func):
            try:
                found[folder.call(site)] = None
            except (_NoLiteralError, TypeError, ValueError, RecursionError):
                continue
    return list(found)


def _tree(source: str) -> ast.Module:
    try:
        return syntax_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


@dataclass(frozen=True)
class _Names:
    """What a module calls PyTorch's builders, and the package that they are in."""

    builders: dict[str, str]
    """Local name -> PyTorch's."""
    packages: frozenset[str]

    @classmethod
    def of(cls, tree: ast.Module) -> _Names:
        builders: dict[str, str] = {}
        packages = {"cpp_extension"}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("cpp_extension"):
                builders |= {alias.asname or alias.name: alias.name for alias in node.names if alias.name in BUILDERS}
            elif isinstance(node, ast.Import | ast.ImportFrom):
                packages |= {alias.asname for alias in node.names if alias.asname and "cpp_extension" in alias.name}
        return cls(builders, frozenset(packages))

    def builds(self, node: ast.expr) -> bool:
        return bool(self._original(node))

    def is_load_inline(self, node: ast.expr) -> bool:
        return self._original(node) == "load_inline"

    def _original(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return self.builders.get(node.id, "")
        if not isinstance(node, ast.Attribute) or node.attr not in BUILDERS:
            return ""
        owner = node.value
        package = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
        return node.attr if package in self.packages or node.attr == "load_inline" else ""


@dataclass(frozen=True)
class _Scope:
    """The values that names of one function, class or module are given; None for one that is given several."""

    values: dict[str, ast.expr | None]
    outer: _Scope | None = None

    @classmethod
    def of(cls, node: ast.Module | ast.ClassDef | _Function, outer: _Scope | None = None) -> _Scope:
        values: dict[str, ast.expr | None] = {}
        plain = {}
        for item in _own_nodes(node):
            if isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
                plain[item.targets[0]] = item.value
            if isinstance(item, ast.arg):
                values[item.arg] = None
            elif isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load):
                values[item.id] = None if item.id in values else plain.get(item)
            elif isinstance(item, ast.Global | ast.Nonlocal):
                values |= dict.fromkeys(item.names)
        return cls(values, outer)

    def value_of(self, name: str) -> ast.expr | None:
        if name in self.values:
            return self.values[name]
        return self.outer.value_of(name) if self.outer else None


@dataclass(frozen=True)
class _Site:
    call: ast.Call
    scope: _Scope
    after_except: bool


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a scope in order of the source, without what lies in functions and classes inside."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.ClassDef | _Function):
            yield from _own_nodes(child)


def _sites(node: ast.AST, scope: _Scope, *, within: bool, after_except: bool = False) -> Iterator[_Site]:
    """The calls inside functions; `within`: whether the node is in one."""
    for child in ast.iter_child_nodes(node):
        handled = after_except or isinstance(child, ast.ExceptHandler)
        if isinstance(child, ast.Call) and within:
            yield _Site(child, scope, handled)
        if isinstance(child, _Function):
            yield from _sites(child, _Scope.of(child, scope), within=True, after_except=handled)
        else:
            yield from _sites(child, scope, within=within, after_except=handled)


def _attributes(tree: ast.Module) -> dict[str, ast.expr | None]:
    """What attributes of objects and classes are set to, by the attribute's name alone; None for several values."""
    found: dict[str, ast.expr | None] = {}
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(node, ast.Assign):
                found[target.attr] = None if target.attr in found else node.value
        if isinstance(node, ast.ClassDef):
            inside = _Scope.of(node).values
            found |= {name: None if name in found else value for name, value in inside.items()}
    return found


@dataclass
class _Folder:
    """Values of expressions, each name's worked out once."""

    attributes: dict[str, ast.expr | None]
    _known: dict[ast.expr, object] = field(default_factory=dict)

    def call(self, site: _Site) -> Call:
        """The call; raises _NoLiteralError, or what `call_of` raises."""
        arguments = [self._argument(node, site, first=place == 0) for place, node in enumerate(site.call.args)]
        named = {}
        for keyword in site.call.keywords:
            if keyword.arg is None:
                raise _NoLiteralError
            if keyword.arg not in _IRRELEVANT:
                named[keyword.arg] = self._argument(keyword.value, site, first=keyword.arg == "name")
        return call_of(*arguments, **named)  # type: ignore[arg-type]

    def _argument(self, node: ast.expr, site: _Site, *, first: bool) -> object:
        try:
            return self.value(node, site.scope)
        except _NoLiteralError:
            if first:
                return ANY_NAME
            raise

    def value(self, node: ast.expr, scope: _Scope) -> object:
        """Raises _NoLiteralError for everything but literals and what is put together from them."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name | ast.Attribute):
            return self._named(node, scope)
        if isinstance(node, ast.JoinedStr):
            return _bounded("".join(self._part(part, scope) for part in node.values))
        if isinstance(node, ast.Call) and not node.keywords:
            return self._changed(node, scope)
        return self._composed(node, scope)

    def _composed(self, node: ast.expr, scope: _Scope) -> object:
        if isinstance(node, ast.List | ast.Tuple):
            return _bounded([self.value(item, scope) for item in node.elts])
        if isinstance(node, ast.Dict):
            keys = [self.value(key, scope) for key in node.keys if key is not None]
            return dict(zip(keys, [self.value(item, scope) for item in node.values], strict=True))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return _sum(self.value(node.left, scope), self.value(node.right, scope))
        raise _NoLiteralError

    def _named(self, node: ast.Name | ast.Attribute, scope: _Scope) -> object:
        given = scope.value_of(node.id) if isinstance(node, ast.Name) else self.attributes.get(node.attr)
        if given is None:
            raise _NoLiteralError
        if given not in self._known:
            self._known[given] = _NoLiteralError  # a name that is given its own value
            self._known[given] = self.value(given, scope)
        if self._known[given] is _NoLiteralError:
            raise _NoLiteralError
        return self._known[given]

    def _part(self, node: ast.expr, scope: _Scope) -> str:
        if not isinstance(node, ast.FormattedValue):
            return str(self.value(node, scope))
        value = self.value(node.value, scope)
        if node.conversion != -1 or node.format_spec is not None or not isinstance(value, str | int):
            raise _NoLiteralError
        return str(value)

    def _changed(self, node: ast.Call, scope: _Scope) -> object:
        """A text without the blanks around it: `.strip()`, `textwrap.dedent(...)`."""
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name == "dedent" and len(node.args) == 1:
            return textwrap.dedent(self._text(node.args[0], scope))
        if isinstance(function, ast.Attribute) and name in _STRIPPING and not node.args:
            return _STRIPPING[name](self._text(function.value, scope))
        raise _NoLiteralError

    def _text(self, node: ast.expr, scope: _Scope) -> str:
        value = self.value(node, scope)
        if not isinstance(value, str):
            raise _NoLiteralError
        return value


def _sum(left: object, right: object) -> object:
    if isinstance(left, str) and isinstance(right, str):
        return _bounded(left + right)
    if isinstance(left, list) and isinstance(right, list):
        return _bounded(left + right)
    raise _NoLiteralError


def _bounded(value: str | list[object]) -> str | list[object]:
    """Names that hold twice what another name holds would else fill the memory."""
    if len(value) > (MOST_CHARACTERS if isinstance(value, str) else MOST_ITEMS):
        raise _NoLiteralError
    return value

"""One parsed module, with what the checks ask again and again: nodes, parents, dotted names, constant texts.

Sources are untrusted: nothing here recurses along the tree without a limit, or folds texts without one.
"""

from __future__ import annotations

import ast
import functools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from hone.compile.parse import syntax_tree

LARGEST_CHARACTERS = 4_000_000
FOLDING_DEPTH = 40
FOLDED_CHARACTERS = 20_000_000
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""Stands in a folded text for what is only known when the module runs."""


class UnreadableSourceError(ValueError):
    """Python cannot parse the source; the message says why, in one line."""


@dataclass(frozen=True, eq=False)
class Module:
    """A source's syntax tree. Compared by identity, so that what is computed from it can be cached."""

    tree: ast.Module
    _folded: dict[ast.AST, str | None] = field(default_factory=dict)
    _budget: list[int] = field(default_factory=lambda: [FOLDED_CHARACTERS])
    """Characters that may still be folded: texts that double themselves must not fill the memory."""

    @functools.cached_property
    def children(self) -> dict[ast.AST, tuple[ast.AST, ...]]:
        """Every node, breadth first -> what stands right in it."""
        found: dict[ast.AST, tuple[ast.AST, ...]] = {}
        waiting: deque[ast.AST] = deque([self.tree])
        while waiting:
            node = waiting.popleft()
            if node not in found:  # Python shares nodes such as Load()
                found[node] = tuple(ast.iter_child_nodes(node))
                waiting += found[node]
        return found

    @functools.cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes, breadth first."""
        return tuple(self.children)

    @functools.cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Node -> the node that it stands in."""
        return {child: node for node, inside in self.children.items() for child in inside}

    def walk(self, *roots: ast.AST) -> Iterator[ast.AST]:
        """The nodes and all that stands in them."""
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            yield node
            waiting += self.children[node]

    @functools.cached_property
    def imports(self) -> dict[str, str]:
        """Name in the module -> dotted name of what was imported under it, wherever the import stands."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found |= {alias.asname or alias.name.split(".")[0]: _imported(alias) for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        return found

    @functools.cached_property
    def imported(self) -> frozenset[str]:
        """Dotted names of all that is imported, wherever the import stands; a module's own neighbours are left out."""
        plain = (alias.name for node in self.nodes if isinstance(node, ast.Import) for alias in node.names)
        parts = (
            f"{node.module}.{alias.name}"
            for node in self.nodes
            if isinstance(node, ast.ImportFrom) and node.module and not node.level
            for alias in node.names
        )
        return frozenset((*plain, *parts))

    @functools.cached_property
    def calls(self) -> tuple[tuple[str, ast.Call], ...]:
        """(dotted name, call) of every call; the name is empty where it is neither a name nor an attribute."""
        return tuple((self.dotted(node.func), node) for node in self.nodes if isinstance(node, ast.Call))

    @functools.cached_property
    def uses(self) -> frozenset[str]:
        """Dotted names of all names and attributes that are read."""
        parts = (node for node in self.nodes if isinstance(node, ast.Name | ast.Attribute))
        return frozenset(filter(None, map(self.dotted, parts)))

    @functools.cached_property
    def definitions(self) -> dict[str, list[ast.AST]]:
        """Name -> functions, methods and classes of that name, and values bound to it outside of functions."""
        found: dict[str, list[ast.AST]] = {}
        for node in self.nodes:
            if isinstance(node, FunctionNode | ast.ClassDef):
                found.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Assign | ast.AnnAssign) and not isinstance(self.function_of(node), FunctionNode):
                for name in _bound_names(node):
                    found.setdefault(name, []).append(node.value or node)
        return found

    @functools.cached_property
    def texts(self) -> tuple[str, ...]:
        """All text constants, with the parts of an f-string joined to one text; docstrings among them."""
        inside = {part for node in self.nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        plain = (node.value for node in self.nodes if isinstance(node, ast.Constant) and node not in inside)
        joined = (self.folded(node) for node in self.nodes if isinstance(node, ast.JoinedStr))
        return tuple(text for text in (*plain, *joined) if isinstance(text, str) and text)

    def dotted(self, node: ast.AST) -> str:
        """`torch.nn.Linear` for `nn.Linear` after `from torch import nn`; `?.item` where the owner is no plain name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            parts.append(self.imports.get(node.id, node.id))
        elif parts:
            parts.append("?")
        return ".".join(reversed(parts))

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """What the node stands in, from the inside outwards."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def function_of(self, node: ast.AST) -> ast.AST:
        """The innermost function around the node, or the module itself."""
        return next((item for item in self.ancestors(node) if isinstance(item, FunctionNode)), self.tree)

    def classes(self, name: str) -> list[ast.ClassDef]:
        """The module's classes of this name; where there are several, the last one counts when it runs."""
        return [node for node in self.nodes if isinstance(node, ast.ClassDef) and node.name == name]

    def folded(self, node: ast.AST | None, depth: int = 0) -> str | None:
        """The constant text of an expression, UNKNOWN in place of what is not constant in it; None where it is none."""
        if node is None or depth > FOLDING_DEPTH or self._budget[0] < 0:
            return None
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if node not in self._folded:
            self._folded[node] = text = self._fold(node, depth)
            self._budget[0] -= len(text or "")
        return self._folded[node]

    def _fold(self, node: ast.AST, depth: int) -> str | None:
        if isinstance(node, ast.JoinedStr):
            return "".join(self._part(part, depth) for part in node.values)[:LARGEST_CHARACTERS]
        if isinstance(node, ast.Name | ast.Attribute):
            return self._bound(self.dotted(node), depth)
        if isinstance(node, ast.BinOp):
            return self._of_operation(node, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self._of_method(node.func, depth)
        return None

    def texts_of(self, node: ast.AST | None) -> tuple[str, ...] | None:
        """One text or a list of texts as a tuple, as load_inline takes them; None where that is not constant."""
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return ()
        if isinstance(node, ast.List | ast.Tuple):
            items = [self.folded(item) for item in node.elts]
        elif isinstance(node, ast.Dict):
            items = [self.folded(item) for item in node.keys]
        else:
            items = [self.folded(node)]
            bound = self.definitions.get(node.id, []) if isinstance(node, ast.Name) else []
            if items == [None] and len(bound) == 1 and isinstance(bound[0], ast.List | ast.Tuple | ast.Dict):
                return self.texts_of(bound[0])
        return None if None in items else tuple(item for item in items if item is not None)

    def _part(self, part: ast.expr, depth: int) -> str:
        """A part of an f-string."""
        if isinstance(part, ast.FormattedValue):
            return self.folded(part.value, depth + 1) or UNKNOWN
        return str(part.value) if isinstance(part, ast.Constant) else UNKNOWN

    def _bound(self, name: str, depth: int) -> str | None:
        """The text of a name that is bound once in the module, wherever."""
        values = self._assignments.get(name, [])
        return self.folded(values[0], depth + 1) if len(values) == 1 else None

    @functools.cached_property
    def _assignments(self) -> dict[str, list[ast.expr]]:
        found: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
                for name in _bound_names(node):
                    found.setdefault(name, []).append(node.value)
        return found

    def _of_operation(self, node: ast.BinOp, depth: int) -> str | None:
        """`a + b`; of `text % values` the text, where some of it may be replaced."""
        left = self.folded(node.left, depth + 1)
        if isinstance(node.op, ast.Mod):
            return left + UNKNOWN if left is not None else None
        right = self.folded(node.right, depth + 1)
        if not isinstance(node.op, ast.Add) or (left is None and right is None):
            return None
        return ((left or UNKNOWN) + (right or UNKNOWN) if None in (left, right) else f"{left}{right}")[
            :FOLDED_CHARACTERS
        ]

    def _of_method(self, function: ast.Attribute, depth: int) -> str | None:
        """`text.strip()` and the like; of `format` and `replace` the text, where some of it may be replaced."""
        text = self.folded(function.value, depth + 1)
        if text is None:
            return None
        if function.attr in ("strip", "lstrip", "rstrip"):
            return text
        return text + UNKNOWN if function.attr in ("format", "replace", "format_map", "substitute") else None


def read_module(source: str) -> Module:
    """The parsed source; raises UnreadableSourceError for what Python cannot parse and for 4 million characters."""
    if len(source) > LARGEST_CHARACTERS:
        raise UnreadableSourceError(f"longer than {LARGEST_CHARACTERS} characters")
    try:
        return Module(syntax_tree(source))
    except SyntaxError as error:
        raise UnreadableSourceError(f"SyntaxError: {error.msg} (line {error.lineno})") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnreadableSourceError(f"{type(error).__name__}: {error}") from None


def _imported(alias: ast.alias) -> str:
    """`import a.b` binds `a`, `import a.b as c` binds a.b."""
    return alias.name if alias.asname else alias.name.split(".")[0]


def _bound_names(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[str]:
    """Names, and attributes such as `self.source`."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    owned = [target for target in targets if isinstance(target, ast.Attribute)]
    attributes = [f"{item.value.id}.{item.attr}" for item in owned if isinstance(item.value, ast.Name)]
    return [*(target.id for target in targets if isinstance(target, ast.Name)), *attributes]

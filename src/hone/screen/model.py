"""ModelNew: whether it is there, whether it takes the arguments that the reference's problem gives, what it returns."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from hone.screen.module import FunctionNode, Module

_MODULE_CLASSES = ("torch.nn.Module", "nn.Module", "torch.nn.modules.module.Module")
_ALLOCATES = {
    *("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like", "empty_strided"),
    *("new_empty", "new_zeros", "new_ones", "new_full"),
}
_VIEWS = {
    *("view", "reshape", "expand", "squeeze", "unsqueeze", "narrow", "transpose", "permute", "t", "flatten", "detach"),
    *("view_as", "expand_as", "unflatten", "select"),
}
_BASES = 10


@dataclass(frozen=True)
class Arity:
    """How many positional arguments a function takes, `self` not counted."""

    least: int
    most: int | None
    """Absent with `*args`."""
    names: tuple[str, ...] = ()

    def takes(self, count: int) -> bool:
        """Whether so many positional arguments fit."""
        return self.least <= count and (self.most is None or count <= self.most)


def model_class(module: Module, name: str = "ModelNew") -> ast.ClassDef | None:
    """The last class of this name."""
    found = [node for node in module.classes(name) if node in module.tree.body] or module.classes(name)
    return found[-1] if found else None


def has_model(module: Module, name: str = "ModelNew") -> bool:
    """Whether the module binds the name, as a class or otherwise."""
    return model_class(module, name) is not None or name in module.definitions or name in module.imports


def fits(module: Module, reference: Module, method: str, given: str) -> bool | None:
    """Whether ModelNew's method takes what the reference's function `given` returns; None where text does not say."""
    count, arity = _count(reference, given), _arity(module, model_class(module), method)
    if count is None:
        theirs = _arity(reference, model_class(reference, "Model"), method)
        count = theirs.least if theirs is not None and theirs.most is not None else None
    return None if count is None or arity is None else arity.takes(count)


def returns_kept(module: Module) -> bool:
    """Whether ModelNew.forward returns memory that the module keeps: a buffer, an `out=` target, a graph's output."""
    model = model_class(module)
    forward = _method(module, model, "forward") if model else None
    if model is None or forward is None:
        return False
    kept = _kept_attributes(module, model)
    aliases = {
        target.id: node.value
        for node in module.walk(forward)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    returned = [node.value for node in module.walk(forward) if isinstance(node, ast.Return) and node.value is not None]
    items = [
        item for value in returned for item in (value.elts if isinstance(value, ast.Tuple | ast.List) else [value])
    ]
    return any(_root(item, aliases) in kept for item in items)


def _count(reference: Module, name: str) -> int | None:
    """How many values get_inputs or get_init_inputs returns; None where it is no list that stands in the text."""
    functions = [node for node in reference.definitions.get(name, []) if isinstance(node, FunctionNode)]
    returned = [node.value for item in functions[-1:] for node in reference.walk(item) if isinstance(node, ast.Return)]
    if len(returned) != 1 or not isinstance(returned[0], ast.List | ast.Tuple):
        return None
    items = returned[0].elts
    return None if any(isinstance(item, ast.Starred) for item in items) else len(items)


def _arity(module: Module, model: ast.ClassDef | None, method: str) -> Arity | None:
    """Of a method, which may be inherited from another class of the module; nn.Module's constructor takes nothing."""
    if model is None:
        return None
    function = _method(module, model, method)
    if function is not None:
        return _of_function(function)
    bases = {module.dotted(base) for base in model.bases}
    return Arity(0, 0) if method == "__init__" and bases and bases <= {*_MODULE_CLASSES} else None


def _method(module: Module, model: ast.ClassDef, name: str) -> FunctionNode | None:
    """Of the class itself, or of the first of its bases in the module that has it."""
    waiting, seen = [model], 0
    while waiting and seen < _BASES:
        current, seen = waiting.pop(0), seen + 1
        own = [node for node in current.body if isinstance(node, FunctionNode) and node.name == name]
        if own:
            return own[-1]
        waiting += [found for base in current.bases for found in module.classes(module.dotted(base))[-1:]]
    return None


def _of_function(function: FunctionNode) -> Arity:
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    static = any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in function.decorator_list)
    own = positional if static else positional[1:]
    least = max(0, len(own) - len(given.defaults))
    return Arity(least, None if given.vararg else len(own), tuple(item.arg for item in own))


def _kept_attributes(module: Module, model: ast.ClassDef) -> set[str]:
    """Attributes of `self` that hold memory which forward writes to."""
    kept: set[str] = set()
    for node in module.walk(model):
        if isinstance(node, ast.Assign):
            allocated = isinstance(node.value, ast.Call) and module.dotted(node.value.func).split(".")[-1] in _ALLOCATES
            if allocated or _is_captured(module, node):
                kept |= {name for target in node.targets if (name := _own_attribute(target))}
        elif isinstance(node, ast.Call):
            kept |= {name for word in node.keywords if word.arg == "out" and (name := _own_attribute(word.value))}
            if module.dotted(node.func) == "self.register_buffer" and node.args:
                kept |= {module.folded(node.args[0]) or ""} - {""}
    return kept


def _is_captured(module: Module, node: ast.AST) -> bool:
    """Whether it stands under `with torch.cuda.graph(…)`."""
    graphs = (outer for outer in module.ancestors(node) if isinstance(outer, ast.With))
    calls = (item.context_expr for outer in graphs for item in outer.items)
    return any(isinstance(call, ast.Call) and module.dotted(call.func) == "torch.cuda.graph" for call in calls)


def _own_attribute(node: ast.AST) -> str:
    """`x` of `self.x`, else nothing."""
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if own and isinstance(node, ast.Attribute) else ""


def _root(node: ast.AST, aliases: dict[str, ast.expr]) -> str:
    """The attribute of `self` that an expression is a view of; empty where it is none."""
    for _ in range(_BASES):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            out = next((word.value for word in node.keywords if word.arg == "out"), None)
            is_view = isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS
            if out is not None:
                node = out
            elif is_view and isinstance(node.func, ast.Attribute):
                node = node.func.value
            else:
                return ""
        elif isinstance(node, ast.Name) and node.id in aliases:
            node = aliases[node.id]
        else:
            break
    return _own_attribute(node)

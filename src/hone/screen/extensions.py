"""The `load_inline` calls of a module: where they are made, whether they can be built, whether failure is hidden."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from typing import Literal

from hone.screen.cuda_text import bound_functions, mentions, module_bindings, registers_operators
from hone.screen.module import UNKNOWN, FunctionNode, Module

Place = Literal["module", "constructor", "forward", "never"]
_ARGUMENTS = ("name", "cpp_sources", "cuda_sources")
_BUILDERS = ("load_inline", "cpp_extension.load")
_STEPS = 20
"""So many calls of one function by another are followed."""


@dataclass(frozen=True, eq=False)
class ExtensionCall:
    """One call of load_inline or load, its arguments folded to texts; None where they are no constants."""

    node: ast.Call
    inline: bool
    """load_inline, not load."""
    name: str | None
    cpp_sources: tuple[str, ...] | None
    cuda_sources: tuple[str, ...] | None
    functions: tuple[str, ...] | None
    has_functions: bool
    python_module: bool
    """Not called with `is_python_module=False`."""

    @property
    def exported(self) -> tuple[str, ...]:
        """Names that Python finds in the extension, as far as they are known."""
        texts = (*(self.cpp_sources or ()), *(self.cuda_sources or ()))
        return tuple(
            dict.fromkeys((*(self.functions or ()), *(name for text in texts for name in bound_functions(text))))
        )


def extension_calls(module: Module) -> list[ExtensionCall]:
    """All calls of load_inline and cpp_extension.load, in the order of the text."""
    found = [_call(module, name, node) for name, node in module.calls if name.endswith(_BUILDERS)]
    return sorted(found, key=lambda call: (call.node.lineno, call.node.col_offset))


def unbuildable(call: ExtensionCall) -> str:
    """Why no PyTorch can build or import this extension, read off its text; empty where nothing says so."""
    if not call.inline:
        return ""
    texts = (*(call.cpp_sources or ()), *(call.cuda_sources or ()))
    if not call.has_functions:
        known = None not in (call.cpp_sources, call.cuda_sources) and not any(UNKNOWN in text for text in texts)
        return _nothing_to_import(call, texts) if known else ""
    names = {"TORCH_EXTENSION_NAME", call.name}
    if any(names & {*module_bindings(text)} for text in texts):
        return "`functions` beside a PYBIND11_MODULE of its own"
    return _undeclared(call)


def _nothing_to_import(call: ExtensionCall, texts: tuple[str, ...]) -> str:
    if not call.python_module or any(module_bindings(text) or registers_operators(text) for text in texts):
        return ""
    return (
        ""
        if any("PyInit_" in text or "PyMODINIT_FUNC" in text for text in texts)
        else "neither `functions` nor bindings"
    )


def _undeclared(call: ExtensionCall) -> str:
    """PyTorch binds `functions` in the C++ file, which sees declarations of `cpp_sources` alone."""
    declared = call.cpp_sources
    if declared is None or any(UNKNOWN in text for text in declared):
        return ""
    for name in call.functions or ():
        if not name.startswith(("at::", "torch::")) and not any(mentions(text, name) for text in declared):
            return f"`functions` has {name[:60]}, which cpp_sources does not declare"
    return ""


def places(module: Module, call: ExtensionCall) -> tuple[Place, ...]:
    """When it is called: as the module is imported, in a constructor, in a forward, or never; several where several do.

    Callers are found by name, so a method of the same name elsewhere counts too.
    """
    found: set[Place] = set()
    seen, waiting = set(), [module.function_of(call.node)]
    while waiting:
        function = waiting.pop()
        if function in seen or not isinstance(function, FunctionNode):
            found |= {"module"} if not isinstance(function, FunctionNode) else set()
            continue
        seen.add(function)
        if function.name in ("__init__", "__post_init__"):
            found.add("constructor")
        elif function.name in ("forward", "__call__"):
            found.add("forward")
        else:
            waiting += [module.function_of(node) for node in _references(module).get(function.name, ())]
    return tuple(sorted(found)) or ("never",)


def swallowed(module: Module, call: ExtensionCall) -> bool:
    """Whether a `try` around the call, or around a call of the function that it stands in, goes on after a failure."""
    seen: set[ast.AST] = set()
    waiting: list[ast.AST] = [call.node]
    for _ in range(_STEPS):
        if not waiting:
            return False
        node = waiting.pop()
        if _in_swallowing_try(module, node):
            return True
        function = module.function_of(node)
        if isinstance(function, FunctionNode) and function not in seen:
            seen.add(function)
            waiting += _references(module).get(function.name, ())
    return False


def _call(module: Module, name: str, node: ast.Call) -> ExtensionCall:
    given = dict(zip(_ARGUMENTS, node.args, strict=False)) | {
        word.arg: word.value for word in node.keywords if word.arg
    }
    whole = not any(isinstance(item, ast.Starred) for item in node.args) and all(word.arg for word in node.keywords)
    functions = given.get("functions", node.args[3] if len(node.args) > 3 else None)
    flag = given.get("is_python_module")
    texts = module.texts_of(functions)
    return ExtensionCall(
        node=node,
        inline=name.endswith("load_inline"),
        name=module.folded(given.get("name")),
        cpp_sources=module.texts_of(given.get("cpp_sources")) if whole else None,
        cuda_sources=module.texts_of(given.get("cuda_sources")) if whole else None,
        functions=texts,
        has_functions=texts is None or bool(texts),
        python_module=not (isinstance(flag, ast.Constant) and flag.value is False),
    )


@functools.lru_cache(maxsize=4)
def _references(module: Module) -> dict[str, list[ast.AST]]:
    """Last part of a name -> where it is read."""
    found: dict[str, list[ast.AST]] = {}
    for node in module.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            found.setdefault(node.attr, []).append(node)
    return found


def _in_swallowing_try(module: Module, node: ast.AST) -> bool:
    """Within the node's own function."""
    inside = node
    for outer in module.ancestors(node):
        if isinstance(outer, FunctionNode):
            return False
        if isinstance(outer, ast.Try) and inside in outer.body and any(_goes_on(handler) for handler in outer.handlers):
            return True
        if isinstance(outer, ast.With) and any(_suppresses(module, item) for item in outer.items):
            return True
        inside = outer
    return False


def _goes_on(handler: ast.ExceptHandler) -> bool:
    return not any(isinstance(node, ast.Raise) for node in ast.walk(handler))


def _suppresses(module: Module, item: ast.withitem) -> bool:
    return isinstance(item.context_expr, ast.Call) and module.dotted(item.context_expr.func).endswith("suppress")

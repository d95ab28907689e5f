"""What ModelNew's constructor and forward lead to, by name: kernels that nothing reaches, waiting for the GPU."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from hone.screen.cuda_text import without_comments
from hone.screen.extensions import ExtensionCall, extension_calls
from hone.screen.model import model_class
from hone.screen.module import FunctionNode, Module

_ROOTS = ("__init__", "forward", "__call__")
_WAITING_METHODS = {"item", "tolist", "cpu", "numpy"}
_WAITING_FUNCTIONS = ("torch.cuda.synchronize", "torch.cuda.current_stream.synchronize")


def reached_nodes(module: Module, roots: Iterable[str] = _ROOTS) -> list[ast.AST]:
    """Nodes of ModelNew's methods of these names, and of what they name, transitively: functions, classes, values."""
    model = model_class(module)
    waiting: list[ast.AST] = []
    if model is not None:
        waiting = [node for node in model.body if not isinstance(node, FunctionNode) or node.name in {*roots}]
        waiting += model.bases
    found: dict[ast.AST, None] = {}
    followed: set[str] = set()
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found[node] = None
        waiting += module.children[node]
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name and name not in followed:
            followed.add(name)
            waiting += module.definitions.get(name, [])
    return list(found)


def unreached_kernels(module: Module) -> tuple[str, ...]:
    """Functions of extensions, and Triton kernels, that ModelNew does not lead to; empty without ModelNew."""
    if model_class(module) is None:
        return ()
    reached = reached_nodes(module)
    names = {node.attr for node in reached if isinstance(node, ast.Attribute)}
    names |= {node.id for node in reached if isinstance(node, ast.Name)}
    built = {*module.walk(*(call.node for call in extension_calls(module)))}  # `functions` says what there is, not more
    constants = (node.value for node in reached if isinstance(node, ast.Constant) and node not in built)
    names |= {value for value in constants if isinstance(value, str)}
    names |= {alias.name for node in module.nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    made = [name for call in extension_calls(module) for name in _of_extension(call, names)]
    triton = [node.name for node in module.nodes if isinstance(node, ast.FunctionDef) and _is_triton(module, node)]
    return tuple(sorted({*made, *triton} - names))


def synchronises(module: Module) -> bool:
    """Whether forward, or what it leads to, waits for the GPU: `.item()`, `.cpu()`, `torch.cuda.synchronize()`, …"""
    for node in reached_nodes(module, ("forward", "__call__")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            waits = node.func.attr in _WAITING_METHODS and not node.args
            if waits or module.dotted(node.func) in _WAITING_FUNCTIONS or node.func.attr == "synchronize":
                return True
    return False


def _of_extension(call: ExtensionCall, names: set[str]) -> set[str]:
    """Functions that Python does not reach, but for those that others call in C++, as far as the text shows it."""
    exported = {name.rpartition("::")[2] for name in call.exported}
    code = "\n".join(without_comments(text) for text in call.cuda_sources or ())
    called = {name for name in exported if len(re.findall(rf"\b{re.escape(name)}\s*\(", code)) > 1}
    return exported - called - names if exported & names else exported - names


def _is_triton(module: Module, node: ast.FunctionDef) -> bool:
    items = (item.func if isinstance(item, ast.Call) else item for item in node.decorator_list)
    return any(module.dotted(item) == "triton.jit" for item in items)

"""Switches that change the number format, and other ways of writing that a judge must know."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from typing import Literal

from hone.screen.module import Module

Switch = Literal["autocast", "half", "tf32", "cudnn_benchmark", "channels_last"]
Use = Literal["temporary_folder", "files", "environment", "threads", "data_ptr_key", "version_key"]

_HALF_METHODS = {"half", "bfloat16"}
_HALF_TYPES = {"torch.float16", "torch.bfloat16", "torch.half"}
_FILES = re.compile(r"open|os\.(makedirs|mkdir|remove|unlink)|shutil\..+|.*\.(write_text|write_bytes|mkdir|read_text)")
_LEGACY = {
    f"torch.{name}" for name in ("Tensor", "FloatTensor", "DoubleTensor", "HalfTensor", "LongTensor", "IntTensor")
}
_MODULES: dict[Use, str] = {
    "temporary_folder": r"tempfile\..+",
    "environment": r"os\.(environ|getenv|putenv)(\..+)?",
    "threads": r"(threading|concurrent|multiprocessing)\..+",
}


def switches(module: Module) -> tuple[Switch, ...]:
    """In Python; what CUDA text does is `CudaText`'s."""
    return tuple(sorted({*_by_names(module), *_by_assignments(module), *_by_calls(module)}))


def uses(module: Module) -> tuple[Use, ...]:
    """What it needs of its surroundings, and keys that caches are kept under."""
    found: set[Use] = {use for use, names in _MODULES.items() if any(re.fullmatch(names, name) for name in module.uses)}
    if any(_FILES.fullmatch(name) for name, _ in module.calls):
        found.add("files")
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and node.attr == "_version":
            found.add("version_key")
        elif isinstance(node, ast.Attribute) and node.attr == "data_ptr" and _is_key(module, node):
            found.add("data_ptr_key")
    return tuple(sorted(found))


def legacy_constructors(module: Module) -> int:
    """Calls such as `torch.Tensor(n, m)`: memory on the CPU whatever the default device is. Data in a list is none."""
    return sum(name in _LEGACY and _is_size(call) for name, call in module.calls)


def own_graph(module: Module) -> bool:
    """Whether it captures a CUDA graph of its own."""
    return not module.uses.isdisjoint({"torch.cuda.CUDAGraph", "torch.cuda.graph", "torch.cuda.make_graphed_callables"})


def own_stream(module: Module) -> bool:
    """Whether it makes a stream of its own."""
    return any(name in ("torch.cuda.Stream", "torch.Stream") for name, _ in module.calls)


def _by_names(module: Module) -> Iterator[Switch]:
    for name in module.uses:
        if name.split(".")[-1] == "autocast":
            yield "autocast"
        elif name in _HALF_TYPES:
            yield "half"
        elif name == "torch.channels_last":
            yield "channels_last"


def _by_calls(module: Module) -> Iterator[Switch]:
    for name, call in module.calls:
        last = name.split(".")[-1]
        if last in _HALF_METHODS and "." in name and not call.args:
            yield "half"
        elif last == "set_float32_matmul_precision" and call.args and module.folded(call.args[0]) in ("high", "medium"):
            yield "tf32"


def _by_assignments(module: Module) -> Iterator[Switch]:
    for node in module.nodes:
        if not isinstance(node, ast.Assign):
            continue
        on = isinstance(node.value, ast.Constant) and node.value.value in (True, "tf32")
        for target in node.targets:
            name = module.dotted(target).split(".")[-1]
            if on and name in ("allow_tf32", "fp32_precision"):
                yield "tf32"
            elif on and name == "benchmark":
                yield "cudnn_benchmark"


def _is_size(call: ast.Call) -> bool:
    return bool(call.args) and not isinstance(call.args[0], ast.List | ast.Tuple | ast.ListComp | ast.GeneratorExp)


def _is_key(module: Module, node: ast.AST) -> bool:
    """Whether an address is compared or looked up by, there or under the name that it is given in a tuple."""
    for outer in module.ancestors(node):
        if isinstance(outer, ast.Compare | ast.Subscript):
            return True
        if isinstance(outer, ast.Assign):
            return any(isinstance(target, ast.Name) and target.id in _compared(module) for target in outer.targets)
        if isinstance(outer, ast.stmt) or (isinstance(outer, ast.Call) and outer.func is not node):
            return False
    return False


@functools.lru_cache(maxsize=4)
def _compared(module: Module) -> frozenset[str]:
    """Names in comparisons and subscripts."""
    places = (node for node in module.nodes if isinstance(node, ast.Compare | ast.Subscript))
    return frozenset(part.id for node in places for part in module.children[node] if isinstance(part, ast.Name))

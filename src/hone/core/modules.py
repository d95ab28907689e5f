"""Source text as a Python module."""

from __future__ import annotations

import linecache
import sys
from types import ModuleType


def load_module(name: str, source: str, after: ModuleType | None = None) -> ModuleType:
    """Execute source text as a module of its own; `inspect.getsource` works on what it defines.

    `after`: it finds the names of that module, as KernelBench executes a solution where it has executed the problem.
    """
    filename = f"<{name}>"
    module = ModuleType(name)
    given = vars(after) if after is not None else {}
    vars(module).update({name: value for name, value in given.items() if not name.startswith("__")})
    module.__file__ = filename
    sys.modules[name] = module
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), module.__dict__)
    return module

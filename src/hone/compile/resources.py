"""What the compiler says that each kernel of a .cu needs: read from the lines of `ptxas -v`, which leave the log."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

from hone.records import KernelResources

_INFO = re.compile(r"ptxas info\s*: ")
_ENTRY = re.compile(r"ptxas info\s*: Compiling entry function '([^']+)' for")
_FUNCTION = re.compile(r"ptxas info\s*: Function properties for (\S+)")
_SPILLS = re.compile(r"\s+\d+ bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
DEMANGLER = "c++filt"
DEMANGLE_TIMEOUT_S = 10.0


def split_resources(log: str) -> tuple[str, tuple[KernelResources, ...]]:
    """The log without the lines of `ptxas -v`, and what they say, sorted by kernel.

    Lines of functions that are no kernels are dropped. A source can forge such lines: they inform and decide nothing.
    """
    kept: list[str] = []
    found: dict[str, dict[str, int]] = {}
    entry = function = ""
    for line in log.splitlines(keepends=True):
        if spills := _SPILLS.match(line):
            if function and function == entry:
                found[entry] |= {"spill_store_bytes": int(spills[1]), "spill_load_bytes": int(spills[2])}
        elif not _INFO.match(line):
            kept.append(line)
        elif begun := _ENTRY.match(line):
            entry, function = begun[1], ""
            found[entry] = {"registers": 0, "shared_bytes": 0, "spill_store_bytes": 0, "spill_load_bytes": 0}
        elif properties := _FUNCTION.match(line):
            function = properties[1]
        elif (used := _REGISTERS.search(line)) and entry:
            shared = _SHARED.search(line)
            found[entry] |= {"registers": int(used[1]), "shared_bytes": int(shared[1]) if shared else 0}
            entry = ""
    names = _demangled(list(found))
    records = [KernelResources(kernel=name, **found[mangled]) for mangled, name in zip(found, names, strict=True)]
    return "".join(kept), tuple(sorted(records, key=lambda record: record.kernel))


def _demangled(names: Sequence[str]) -> list[str]:
    """As C++ writes them, without arguments; as they are where there is no `c++filt` (binutils).

    In a process of its own, because the names come from sources that nobody has read.
    """
    if not names:
        return []
    try:
        said = subprocess.run(
            [DEMANGLER], input="\n".join(names) + "\n", capture_output=True, text=True, check=True,
            timeout=DEMANGLE_TIMEOUT_S,
        ).stdout.splitlines()  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return list(names)
    return [_short(name) for name in said] if len(said) == len(names) else list(names)


def _short(name: str) -> str:
    """`void silu<float, 4>(float const*, int)` as `silu<float, 4>`: without arguments and result."""
    name = name.replace("(anonymous namespace)::", "")
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if name[at] == "(" and depth == 0:
            name = name[:at]
            break
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += {">": 1, "<": -1}.get(name[at], 0)
        if name[at] == " " and depth == 0:
            return name[at + 1 :]
    return name

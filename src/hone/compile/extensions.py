"""One `load_inline` call to one shared object, as PyTorch builds it, or to the compiler's refusal."""

from __future__ import annotations

import re
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from hone.compile.compiler import Compiled, check_machine, run_compiler, scratch_folder, write_source
from hone.compile.extension_call import Call, call_key
from hone.compile.extension_flags import FlagError
from hone.compile.extension_screen import hopeless
from hone.compile.extension_sources import CORE, FULL, SLIM, Plan, Unit, levels_for, plan_of
from hone.compile.installed_torch import InstalledTorch, installed_torch
from hone.compile.precompiled import precompiled_folder
from hone.compile.toolchain import Toolchain, toolchain_for
from hone.core.store import Store
from hone.machine.hardware import GPU
from hone.records import Build, BuildStatus, Language, digest

LOG_CHARACTERS = 20_000
RECIPE = 2
"""Part of the keys of the store: to be raised when extensions are linked in another way."""
TORCH_LIBRARIES = ("c10", "c10_cuda", "torch_cpu", "torch_cuda", "torch", "torch_python")
# What compilers say of something that a header may declare; other errors are not mended by more headers.
LACKS_HEADER = re.compile(
    r"error.*(has no member|is undefined|not been declared|was not declared|not a member of|incomplete type"
    r"|does not name|cannot open source file|[Nn]o such file|must be a class or namespace|is not a template"
    r"|is ambiguous|not a type name|no instance of|no matching function|explicit type is missing|identifier"
    r"|no suitable|no operator|cannot convert|could not convert|invalid conversion|invalid use of|cannot be used)"
)


@dataclass(frozen=True)
class Tools:
    """The compilers and libraries of this machine."""

    gxx: Toolchain
    nvcc: Toolchain
    torch: InstalledTorch

    def missing(self, call: Call) -> str:
        """Why this machine cannot build the call; empty when it can."""
        return self.gxx.missing or (self.nvcc.missing if call.cuda_sources else "")

    def versions(self, call: Call) -> str:
        """Of everything that takes part."""
        nvcc = [self.nvcc.version] if call.cuda_sources else []
        return "; ".join([self.gxx.version, *nvcc, f"torch {self.torch.version}"])


def find_tools(gpu: GPU | None = None) -> Tools:
    """Look for compilers and PyTorch, `gpu` as in `toolchain_for`; raises MachineError when there is no PyTorch."""
    nvcc = toolchain_for(Language.CUDA, gpu)
    return Tools(toolchain_for(Language.CPP), nvcc, installed_torch(nvcc))


def build_extension(call: Call, tools: Tools, store: Store, timeout_s: float) -> Build:
    """One extension, compiled or from the store, as a build of its own whose `solution` is the call's key."""
    name = call_key(call)
    blank = Build(solution=name, status=BuildStatus.REJECTED, toolchain=tools.versions(call), command=("load_inline",))
    if refusal := hopeless(call):
        return blank.model_copy(update={"log": refusal})
    if missing := tools.missing(call):
        return blank.model_copy(update={"status": BuildStatus.NO_COMPILER, "command": (), "log": missing})
    try:
        plan = plan_of(call, tools.gxx, tools.nvcc, tools.torch)
        for library in plan.cuda_libraries:
            if tools.torch.library(library) is None:
                raise FlagError(f"error: load_inline: lib{library} is not installed here")
    except FlagError as error:
        return blank.model_copy(update={"log": str(error)})
    blank = blank.model_copy(update={"command": plan.units[-1].flags, "target": plan.target})
    key = _store_key(plan, tools)
    known = store.build(key)
    if known is not None:
        return known.model_copy(update={"solution": name})
    with scratch_folder() as scratch:
        compiled = _compile(plan, tools, store, Path(scratch), timeout_s)
        update = {"log": compiled.log, "seconds": compiled.seconds}
        if compiled.timed_out:  # not kept: tried again next time
            log = f"the compilers took over {timeout_s:g} s\n{compiled.log}"[:LOG_CHARACTERS]
            return blank.model_copy(update={**update, "status": BuildStatus.TIMEOUT, "log": log})
        if compiled.artifact:
            update |= {"status": BuildStatus.BUILT, "artifact": store.artifact_of(key)}
        build = blank.model_copy(update=update)
        store.keep_build(key, build, compiled.artifact)
        return build


def _store_key(plan: Plan, tools: Tools) -> str:
    units = [[unit.text, unit.program, unit.flags] for unit in plan.units]
    linked = [plan.cuda_libraries, plan.system_libraries, plan.target]
    versions = [tools.gxx.version, tools.nvcc.version, tools.torch.version, str(tools.torch.cuda)]
    return digest(["extension", units, linked, versions, sysconfig.get_config_var("SOABI"), RECIPE])


def _compile(plan: Plan, tools: Tools, store: Store, scratch: Path, timeout_s: float) -> Compiled:
    """Compile the units side by side, then link; the log is the first refusal's, `seconds` those of all compilers."""
    with ThreadPoolExecutor(len(plan.units)) as pool:
        done = list(pool.map(lambda unit: _compile_unit(unit, tools, store, scratch, timeout_s), plan.units))
    refused = [compiled for compiled in done if compiled.artifact is None]
    if refused:
        compiled = refused[0]
    else:
        linked = _link(plan, tools, [item.artifact for item in done if item.artifact], scratch, timeout_s)
        done.append(linked)
        compiled = replace(linked, log="".join(item.log for item in done)[:LOG_CHARACTERS])
    return replace(compiled, seconds=sum(item.seconds for item in done))


def _compile_unit(unit: Unit, tools: Tools, store: Store, scratch: Path, timeout_s: float) -> Compiled:
    """With the smallest headers first; with larger ones as long as something is missing that they may declare.

    `timeout_s` is for all tries together; `seconds` is their sum.
    """
    folder = Path(tempfile.mkdtemp(dir=scratch))
    write_source(folder / unit.file, unit.text)
    compiled, spent_s, errors, alike = None, 0.0, "", False
    for level in levels_for(unit.text):
        if alike and level != FULL:  # what two sets do not have, a third one will hardly have
            continue
        compiled = _try(unit, level, tools, store, folder, max(timeout_s - spent_s, 0.01))
        spent_s += compiled.seconds
        if compiled.artifact or compiled.timed_out or _is_final(level, compiled.log):
            break
        before, errors = errors, "\n".join(line for line in compiled.log.splitlines() if "error" in line)
        alike = errors == before
    assert compiled is not None
    if compiled.breakdown:
        toolchain = tools.nvcc if unit.program == tools.nvcc.program else tools.gxx
        check_machine(compiled.breakdown, toolchain, folder, max(timeout_s - spent_s, 10.0))
    return replace(compiled, seconds=spent_s)


def _is_final(level: int, log: str) -> bool:
    """Whether larger headers would not help: what a header may declare is refused with PyTorch's own alone.

    The smallest replace some of CUDA's too, so they never refuse alone.
    """
    return level != CORE and not LACKS_HEADER.search(log)


def _try(unit: Unit, level: int, tools: Tools, store: Store, folder: Path, timeout_s: float) -> Compiled:
    """With one set of headers, precompiled where it can be."""
    torch = tools.torch
    precompiled = precompiled_folder(unit, level, tools.gxx, torch, store)
    opened = [SLIM, *torch.include_folders, *([precompiled] if precompiled else [])]
    return run_compiler(unit.command(torch, level, precompiled), folder / unit.object, timeout_s, opened)


def _link(plan: Plan, tools: Tools, objects: Sequence[Path], scratch: Path, timeout_s: float) -> Compiled:
    """A shared object of the objects, PyTorch's libraries and those that the call names."""
    torch = tools.torch
    found = [torch.library(name) for name in plan.cuda_libraries]
    own = [torch.folder / "lib" / f"lib{name}.so" for name in TORCH_LIBRARIES]
    linked = [str(path) for path in (*own, *(path for path in found if path)) if path.is_file()]
    system = [f"-l{name}" for name in plan.system_libraries]
    command = [*tools.gxx.program, "-shared", *map(str, objects), *linked, *system, "-o", "extension.so"]
    return run_compiler(command, scratch / "extension.so", timeout_s, torch.library_folders)

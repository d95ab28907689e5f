"""Many solutions to builds, each compiled at most once per source, flags, compiler and CPU model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from hone.compile.compiler import compile_source, scratch_folder
from hone.compile.extension_rounds import build_with_extensions, mentions_extensions
from hone.compile.parse import parse
from hone.compile.toolchain import Toolchain, flags_for, toolchain_for
from hone.core.errors import RecordError, on_failure
from hone.core.progress import progress_bar
from hone.core.store import Store
from hone.machine.hardware import GPU
from hone.records import Build, BuildStatus, Definition, Language, Solution, digest

COMPILED = (Language.CPP, Language.CUDA)
ALONE_TIMEOUT_S = 600.0
CUDA_EPILOGUE = """

#undef cudaGetLastError
#undef cudaGetErrorString
#include <cuda_runtime.h>
extern "C" int hone_last_error(void) { return static_cast<int>(cudaGetLastError()); }
extern "C" const char* hone_error_text(int code) { return cudaGetErrorString(static_cast<cudaError_t>(code)); }
"""
"""Stands behind every .cu: the object has a CUDA runtime of its own, which alone knows that a launch failed."""


def build_all(
    solutions: Sequence[Solution],
    definitions: Mapping[str, Definition],
    *,
    store: Path,
    timeout_s: float,
    workers: int,
    gpu: GPU | None = None,
    extensions: bool = True,
    progress: bool = True,
) -> list[Build]:
    """One build for each solution, in the order given.

    `gpu`: what CUDA is compiled for, as in `toolchain_for`. `extensions`: also build what Python solutions build with
    `load_inline`; of no use where they are judged on a CPU. `workers` solutions are built at a time, those that take
    longest first; how many compilers that makes is up to `hone.compile.slots`. Each compiler has `timeout_s`. A refused
    source is a build too; a full disk or a compiler that the machine broke ends the call (MachineError), and what was
    built before stays in the store. RecordError when a solution's definition is not among `definitions`, ConfigError
    for flags that are not allowed.
    """
    shelf = Store(store)
    builds: dict[str, Build] = {}
    distinct = {solution.id: solution for solution in solutions}
    toolchains = _toolchains(distinct, definitions, gpu)
    with progress_bar("build", len(distinct), wanted=progress) as advance, ThreadPoolExecutor(workers) as pool:
        pending = {
            pool.submit(
                build_one, solution, toolchains[key], shelf, timeout_s,
                reference=definitions[solution.definition].reference, gpu=gpu, extensions=extensions,
            ): key
            for key, solution in sorted(distinct.items(), key=lambda item: _effort(item[1]), reverse=True)
        }  # fmt: skip
        with on_failure(lambda: pool.shutdown(wait=False, cancel_futures=True)):
            for done in as_completed(pending):
                builds[pending[done]] = done.result()
                advance()
    return [builds[solution.id] for solution in solutions]


def build_one(
    solution: Solution,
    toolchain: Toolchain | None,
    store: Store,
    timeout_s: float,
    *,
    reference: str = "",
    gpu: GPU | None = None,
    extensions: bool = True,
    own: bool = False,
) -> Build:
    """Build one solution, or take it from the store; `toolchain` is absent for interpreted languages.

    `reference` is the problem's source, whose `get_init_inputs` shows which extensions a Python constructor builds.
    `own`: the source is Hone's, and if it is refused, something is missing on this machine. It is tried again then.
    """
    if toolchain is None:
        parsed = parse(solution)
        asked = extensions and solution.language is Language.PYTHON and mentions_extensions(solution.source)
        if parsed.status is BuildStatus.INTERPRETED and asked:
            return build_with_extensions(parsed, solution, reference, store, timeout_s, gpu)
        return parsed
    if toolchain.missing:
        return Build(solution=solution.id, status=BuildStatus.NO_COMPILER, log=toolchain.missing)
    source = solution.source + (CUDA_EPILOGUE if solution.language is Language.CUDA else "")
    key = digest([source, toolchain.command, toolchain.suffix, toolchain.version, toolchain.target])
    known = store.build(key)
    if known is not None and (known.artifact is not None or not own):
        return known.model_copy(update={"solution": solution.id})
    with scratch_folder() as scratch:
        compiled = compile_source(source, toolchain, Path(scratch), timeout_s)
        build = Build(
            solution=solution.id,
            status=BuildStatus.BUILT if compiled.artifact else BuildStatus.REJECTED,
            artifact=store.artifact_of(key) if compiled.artifact else None,
            log=compiled.log,
            command=toolchain.command,
            toolchain=toolchain.version,
            target=toolchain.target,
            seconds=compiled.seconds,
            resources=compiled.resources,
        )
        if compiled.timed_out:  # says as much about this machine's load as about the source: tried again next time
            log = f"the compiler took over {timeout_s:g} s\n{compiled.log}"
            return build.model_copy(update={"status": BuildStatus.TIMEOUT, "artifact": None, "log": log[:20_000]})
        if build.artifact is not None or not own:
            store.keep_build(key, build, compiled.artifact)
        return build


def build_for(definition: Definition, solution: Solution, store: Path) -> Build:
    """One native solution alone, with its definition's flags."""
    toolchain = toolchain_for(solution.language).with_flags(flags_for(definition, solution.language))
    return build_one(solution, toolchain, Store(store), ALONE_TIMEOUT_S)


def _toolchains(
    solutions: Mapping[str, Solution], definitions: Mapping[str, Definition], gpu: GPU | None
) -> dict[str, Toolchain | None]:
    """The compiler of each solution with its definition's flags; none for interpreted languages."""
    compilers = {language: toolchain_for(language, gpu) for language in COMPILED if _uses(solutions.values(), language)}
    found: dict[str, Toolchain | None] = {}
    for key, solution in solutions.items():
        if solution.definition not in definitions:
            raise RecordError(f"solution {key[:12]} is for the unknown definition '{solution.definition}'")
        compiler = compilers.get(solution.language)
        flags = flags_for(definitions[solution.definition], solution.language) if compiler else ()
        found[key] = compiler.with_flags(flags) if compiler else None
    return found


def _effort(solution: Solution) -> tuple[int, int]:
    """Longest first: extensions, by their number, then CUDA, then C++; of equals the one with more source."""
    compilers = {Language.PYTHON: 10 * solution.source.count("load_inline("), Language.CUDA: 2, Language.CPP: 1}
    return compilers.get(solution.language, 0), len(solution.source)


def _uses(solutions: Iterable[Solution], language: Language) -> bool:
    return any(solution.language is language for solution in solutions)

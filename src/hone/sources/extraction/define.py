"""Entries become definitions with their existing kernels, and workloads; every reference is run without data first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hone.core.errors import SourceError, located
from hone.records import TORCH_BASELINES, Argument, Definition, Tolerance, Workload
from hone.sources.extraction.entry import Entry, Shape, TensorOrScalar
from hone.sources.extraction.fetch import LEVEL, KernelFile
from hone.sources.extraction.stand_alone import stand_alone
from hone.sources.fetch import LOCAL_COMMIT
from hone.sources.inspect import PROBLEM_TIMEOUT_S
from hone.sources.inspect import define as inspected
from hone.sources.problem import ProblemFile, check
from hone.sources.soundness import Soundness
from hone.sources.workloads import moved_bytes

DEFAULT_TOLERANCE = Tolerance(atol=1e-4, rtol=1e-4)
BASE_DTYPE = "float32"
"""Of what `get_inputs` makes; the judge casts it to the workload's."""


def define(
    files: Sequence[KernelFile],
    tolerance: Tolerance = DEFAULT_TOLERANCE,
    *,
    baselines: Sequence[str] = ("torch_eager",),
    timeout_s: float = PROBLEM_TIMEOUT_S,
) -> tuple[list[Definition], list[Workload]]:
    """Definitions in the files' order, and their workloads. `tolerance` is for data types for which an entry has none.

    Raises SourceError when a reference does not run, or its shapes and types are not those of the entry. `timeout_s` is
    the limit of running one reference once.
    """
    entries = {file.name: file.entry for file in files}
    plain = {file.name: _definition(file, entries[file.name], baselines) for file in files}
    flops = _inspect(files, entries, plain, timeout_s)
    found, workloads = [], []
    for file in files:
        entry, definition = entries[file.name], plain[file.name]
        own = list(_workloads(definition, entry, tolerance))
        workloads += own
        found.append(
            definition.model_copy(
                update={
                    "kernels": _kernels(file, entry, definition),
                    "flops": flops[file.name],
                    "compulsory_bytes": moved_bytes(definition, own[0]),
                }
            )
        )
    return found, workloads


def _kernels(file: KernelFile, entry: Entry, definition: Definition) -> dict[str, str]:
    found = {}
    for name, kernel in entry.kernels.items():
        with located(f"{file.path}: kernels.{name}"):
            found[name] = stand_alone(name, kernel, file.resolved[name], definition, entry.language)
    return found


def _definition(file: KernelFile, entry: Entry, baselines: Sequence[str]) -> Definition:
    """Without kernels and what is only known once the reference has run."""
    own = [*TORCH_BASELINES, *entry.kernels]
    return Definition(
        name=file.name,
        source=file.source,
        level=LEVEL,
        number=file.number,
        title=file.title,
        axes=entry.sizes(entry.workloads[0]),
        formulas=entry.formulas,
        inputs=tuple(map(_argument, entry.inputs)),
        parameters=(),
        outputs=tuple(map(_argument, entry.outputs)),
        dtypes=entry.dtypes,
        reference=_reference(file, entry, entry.workloads[0]),
        baselines=tuple(name for name in baselines if name in own),
        kernel_language=entry.language,
        compiler_flags=entry.flags,
        compulsory_bytes=0,
        flops=0,
        upstream=file.upstream,
    )


def _argument(item: TensorOrScalar) -> Argument:
    if item.scalar:
        return Argument(name=item.name, kind="scalar", dtype=item.scalar)
    fixed = item.dtype is not None and item.dtype.startswith(("float", "bfloat"))
    return Argument(
        name=item.name, shape=item.axes, dtype=item.dtype or BASE_DTYPE, fixed_dtype=fixed, in_place=item.in_place
    )


def _reference(file: KernelFile, entry: Entry, shape: Shape) -> str:
    """The entry's reference with the sizes of a shape as constants in front of the first class or function."""
    where = f"{file.path}: reference"
    check(entry.reference, where)
    constants = "".join(f"{axis.upper()} = {size}\n" for axis, size in entry.sizes(shape).items())
    start = re.search(r"^(class|def) ", entry.reference, re.MULTILINE)
    if start is None:
        raise SourceError("has no class Model", where=where, remedy="write it at the top level of the text")
    head, tail = entry.reference[: start.start()].rstrip(), entry.reference[start.start() :]
    return f"{head}\n\n{constants}\n\n{tail}"


def _workloads(definition: Definition, entry: Entry, tolerance: Tolerance) -> list[Workload]:
    """One for each shape and data type, named `<shape>_<type>`, or `<shape>` where the entry has no types."""
    return [
        Workload(
            definition=definition.name,
            name=f"{shape.name}_{dtype}" if entry.dtypes else shape.name,
            axes=entry.sizes(shape),
            dtype=dtype,
            tolerance=entry.tolerances.get(dtype, tolerance),
            held_out=shape.held_out,
        )
        for shape in entry.workloads
        for dtype in entry.dtypes_of(shape) or (BASE_DTYPE,)
    ]


def _inspect(
    files: Sequence[KernelFile], entries: Mapping[str, Entry], plain: Mapping[str, Definition], timeout_s: float
) -> dict[str, int]:
    """Floating-point operations by definition; SourceError unless every shape gives the entry's arguments."""
    trials: dict[str, tuple[KernelFile, Shape]] = {}
    problems = []
    for file in files:
        for index, shape in enumerate(entries[file.name].workloads):
            problem = _problem(file, f"{file.title}__{index}", _reference(file, entries[file.name], shape))
            problems.append(problem)
            trials[problem.name] = (file, shape)
    done, failed = inspected(problems, Soundness(), in_place=True, timeout_s=timeout_s)
    for lost in failed:
        file, shape = trials[lost.name]
        where = f"{file.path}: reference at the sizes of {shape.name}"
        constants = ", ".join(axis.upper() for axis in entries[file.name].axes)
        remedy = f"correct the reference, in which the axes are the constants {constants}, or the workload"
        raise SourceError(f"fails: {lost.reason}", where=where, remedy=remedy)
    for seen in done:
        file, shape = trials[seen.name]
        _compare(f"{file.path}: {shape.name}", plain[file.name], entries[file.name].sizes(shape), seen)
    first = {trials[seen.name][0].name: seen.flops for seen in reversed(done)}
    return {file.name: first[file.name] for file in files}


def _problem(file: KernelFile, title: str, text: str) -> ProblemFile:
    return ProblemFile(
        source=file.source, level=LEVEL, number=file.number, title=title, path=file.path, sha256="", text=text,
        repository=file.upstream.repository, commit=LOCAL_COMMIT,
    )  # fmt: skip


def _compare(where: str, definition: Definition, sizes: Mapping[str, int], seen: Definition) -> None:
    """Raise SourceError unless what the reference takes and returns is what the entry says."""

    def described(items: Sequence[Argument], axes: Mapping[str, int], named: bool) -> list[str]:
        shapes = (tuple(axes[axis] for axis in item.shape) for item in items)
        return [f"{item.name if named else ''} {s} {item.dtype}" for item, s in zip(items, shapes, strict=True)]

    if seen.parameters:
        remedy = "let get_inputs give all tensors that the kernel takes"
        raise SourceError("the reference's Model has parameters", where=where, remedy=remedy)
    for what, named in (("inputs", True), ("outputs", False)):
        wanted = described(getattr(definition, what), sizes, named)
        got = described(getattr(seen, what), seen.axes, named)
        if wanted != got:
            raise SourceError(
                f"the reference's {what} are {'; '.join(got) or 'none'}, the entry says {'; '.join(wanted) or 'none'}",
                where=where,
                remedy="take the sizes from the constants in capitals, and name arguments as in the entry",
            )

"""Post-processing as functions of files: chosen kernels as operators, and whether these agree with upstream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from hone.core.errors import MachineError, RecordError
from hone.core.files import read_all, read_records
from hone.operators.choice import KERNEL_SETS, KernelChoice
from hone.operators.contract import OperatorError
from hone.operators.operator import Operator
from hone.records import Definition, Workload
from hone.sources.extraction.replacement import read_compiled, read_replacements
from hone.sources.workloads import group


def load_operators(
    choices: Path,
    definitions: Iterable[Path],
    workloads: Iterable[Path],
    *,
    store: Path,
    entries: Mapping[str, Path],
    kernel_sets: Iterable[str] = KERNEL_SETS,
    wanted: Callable[[Definition], bool] = lambda _: True,
) -> list[tuple[KernelChoice, Operator]]:
    """The chosen kernels as operators; `entries`: source -> folder of its config entries, which have `replaces`.

    Kernels of definitions that are not `wanted` are not loaded. Raises RecordError where nothing was chosen,
    OperatorError for a kernel that is wanted and cannot be one.
    """
    items = by_name(definitions)
    chosen = chosen_kernels(choices, items, kernel_sets)
    load = _loader(items, workloads, store, entries)
    return [(choice, load(choice)) for choice in chosen if wanted(items[choice.solution.definition])]


def describe(
    choices: Path, definitions: Iterable[Path], workloads: Iterable[Path], *, store: Path, entries: Mapping[str, Path]
) -> list[str]:
    """Lines on every chosen kernel: its operator's name, schema and replacements, or why it is none."""
    items = by_name(definitions)
    chosen, load = chosen_kernels(choices, items), _loader(items, workloads, store, entries)
    lines = []
    for choice in chosen:
        try:
            operator = load(choice)
        except OperatorError as error:
            lines.append(f"{choice.kernel_set}  {choice.solution.definition}: left out, because {error.problem}")
            continue
        lines.append(f"{choice.kernel_set}  {operator.qualified_name}{operator.contract.schema()}")
        lines += [f"    replaces {', '.join(item.functions)}" for item in operator.replaces]
    return lines


def chosen_kernels(
    choices: Path, items: Mapping[str, Definition], kernel_sets: Iterable[str] = KERNEL_SETS
) -> list[KernelChoice]:
    """The choices of some sets, in the file's order; `items` are all definitions by name.

    Raises RecordError: no such file, or a choice whose definition is not among `items`.
    """
    if not choices.is_file():
        raise RecordError("no such file", where=str(choices), remedy="`hone operator choose` writes it")
    wanted = set(kernel_sets)
    found = [choice for choice in read_records(choices, KernelChoice) if choice.kernel_set in wanted]
    if missing := next((name for name in (choice.solution.definition for choice in found) if name not in items), ""):
        remedy = "name the folder that has it with --definitions"
        raise RecordError(f"the definition '{missing}' is not there", where=str(choices), remedy=remedy)
    return found


def by_name(definitions: Iterable[Path]) -> dict[str, Definition]:
    """All definitions of some files."""
    return {item.name: item for item in read_all(definitions, Definition)}


def _loader(
    items: Mapping[str, Definition], workloads: Iterable[Path], store: Path, entries: Mapping[str, Path]
) -> Callable[[KernelChoice], Operator]:
    sized = group(read_all(workloads, Workload))

    def load(choice: KernelChoice) -> Operator:
        item = items[choice.solution.definition]
        replaces = read_replacements(item, entries[item.source]) if item.source in entries else ()
        return Operator.load(item, choice.solution, choice.build, store, sized.get(item.name, ()), replaces)

    return load


def check(
    choices: Path,
    definitions: Iterable[Path],
    workloads: Iterable[Path],
    *,
    store: Path,
    entries: Mapping[str, Path],
    kernel_sets: Iterable[str],
    library: Path | None = None,
    output: Path,
) -> list[str]:
    """Write the table of `hone.operators.check`; a line for each disagreement, and for a library without any function
    that a kernel stands for. Needs a GPU for `cuda` kernels.

    `library`: registers the package's own compiled functions as PyTorch operators, in the namespace of its file name.
    """
    from hone.core.csv_table import Row, write_table
    from hone.operators import check as checking

    # Each is called at the sizes of one workload, so that nothing has to be learnt from all of them.
    loaded = load_operators(choices, definitions, (), store=store, entries=entries, kernel_sets=kernel_sets)
    require_device(operator for _, operator in loaded)
    sized = group(read_all(workloads, Workload))
    namespace = _loaded(library)
    rows: list[Row] = []
    served = False
    for choice, operator in loaded:
        item = operator.definition
        found = read_compiled(item, entries[item.source]) if namespace and item.source in entries else None
        compiled = dict([checking.compiled_function(namespace, found)]) if found else {}
        served |= any(compiled.values())
        rows += checking.check(operator, sized.get(item.name, []), choice.kernel_set, compiled=compiled)
        write_table(output, checking.COLUMNS, rows)
    problems = checking.disagreements(rows)
    if namespace and not served:
        problems.append(f"{library} has none of the functions that the kernels stand for")
    return problems


def record_files(path: Path) -> list[Path]:
    """A file itself, or all files of records in a folder but those of problems that became no definition."""
    if not path.is_dir():
        return [path]
    return [file for file in sorted(path.rglob("*.jsonl")) if not file.name.endswith(".unsupported.jsonl")]


def existing_files(path: Path, remedy: str) -> list[Path]:
    """As `record_files`; raises RecordError with the remedy where there is neither file nor folder."""
    if not path.exists():
        raise RecordError("no such file or folder", where=str(path), remedy=remedy)
    return record_files(path)


def _loaded(library: Path | None) -> str:
    """Namespace of the operators that a library registers; empty without one. Raises MachineError."""
    if library is None:
        return ""
    import torch

    try:
        torch.ops.load_library(str(library.resolve()))  # type: ignore[no-untyped-call]
    except OSError as error:
        raise MachineError(f"the library cannot be loaded: {error}", where=str(library)) from None
    return library.stem


def require_device(operators: Iterable[Operator]) -> None:
    """Raise MachineError when a kernel needs a GPU and PyTorch finds none."""
    import torch

    if any(operator.device_type == "cuda" for operator in operators) and not torch.cuda.is_available():
        raise MachineError("the kernels need a GPU, and PyTorch finds none", remedy="run this where there is a GPU")

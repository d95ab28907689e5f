"""The packages' own functions as sources: of PyTorch's operators, and of functions that tvm-ffi exports.

They are read from the packages; nothing is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from hone.config.sources import Package
from hone.core.errors import SourceError
from hone.core.files import write_bytes, write_text
from hone.launcher import c_type
from hone.records import Language
from hone.sources.extraction.entry import Operator, Template
from hone.sources.extraction.packages import CACHE, Tree, open_package

FFI_HEADERS = ("container/tensor", "dtype", "error", "extra/c_env_api", "function")


@dataclass(frozen=True)
class OperatorSources:
    """What is compiled, once for all of PyTorch's operators, or for one function that tvm-ffi exports."""

    sources: tuple[Path, ...]
    include: tuple[Path, ...]
    flags: tuple[str, ...]
    """Of nvcc."""

    def message(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "sources": [str(path.absolute()) for path in self.sources],
            "include": [str(path.absolute()) for path in self.include],
            "flags": list(self.flags),
        }


def write_sources(
    operators: Mapping[str, Operator], packages: Mapping[str, Package], folder: Path, cache: Path = CACHE
) -> OperatorSources:
    """Unpack the packages below `folder` and write one file for each source of the operators (title -> operator).

    Raises SourceError: a package cannot be had, or lacks a source.
    """
    trees = _unpacked(operators.values(), packages, folder, cache)
    sources: dict[str, Path] = {}
    include: dict[Path, None] = {}
    for title, operator in operators.items():
        own = trees[operator.packages[0]]
        for stem, text, beside in _texts(title, operator, own):
            # Another name than the package's file, which it includes.
            sources[stem] = folder / "sources" / f"hone_{stem}.cu"
            write_text(sources[stem], text)
            include[folder / own.name / beside] = None
        include |= {folder / name / part: None for name in operator.packages for part in packages[name].include}
    flags = dict.fromkeys(flag for operator in operators.values() for flag in operator.flags)
    return OperatorSources(tuple(sources.values()), tuple(include), tuple(flags))


def write_module(
    title: str, operator: Operator, dtypes: Sequence[str], packages: Mapping[str, Package], folder: Path,
    cache: Path = CACHE,
) -> OperatorSources:  # fmt: skip
    """Unpack the packages below `folder` and write one file that exports the operator's `function` for each data type.

    Raises SourceError as `write_sources`.
    """
    trees = _unpacked([operator], packages, folder, cache)
    own = trees[operator.packages[0]]
    texts = _texts(title, operator, own)
    lines = [f"#include <tvm/ffi/{header}.h>\n" for header in FFI_HEADERS]
    lines += [text for _, text, _ in texts]
    for dtype in dtypes:
        scalar, name = c_type(dtype, Language.CUDA), export_name(operator, dtype)
        exported = f"TVM_FFI_DLL_EXPORT_TYPED_FUNC({name}, ({operator.function}));"
        lines.append(f"namespace hone_{dtype} {{\nusing scalar_t = {scalar};\n{exported}\n}}\n")
    source = folder / "sources" / f"hone_{title}.cu"
    write_text(source, "".join(lines))
    include = dict.fromkeys(folder / own.name / beside for _, _, beside in texts)
    include |= {folder / name / part: None for name in operator.packages for part in packages[name].include}
    return OperatorSources((source,), tuple(include), operator.flags)


def export_name(operator: Operator, dtype: str) -> str:
    """Under which tvm-ffi exports an operator's `function` for a data type."""
    return f"{operator.name}_{dtype}"


def _unpacked(
    operators: Iterable[Operator], packages: Mapping[str, Package], folder: Path, cache: Path
) -> dict[str, Tree]:
    """The packages of the operators by name, with all of their files below the folder."""
    names = dict.fromkeys(name for operator in operators for name in operator.packages)
    trees = {name: _whole(name, packages[name], cache) for name in names}
    for name, tree in trees.items():
        for path, content in tree.files.items():
            write_bytes(folder / name / path, content)
    return trees


def _whole(name: str, package: Package, cache: Path) -> Tree:
    """The package with all of its files, not the include folders alone."""
    return open_package(name, package.model_copy(update={"include": (".",)}), cache)


def _texts(title: str, operator: Operator, tree: Tree) -> list[tuple[str, str, str]]:
    """(name, text, folder of the package that is searched for its headers) of each file to compile."""
    prelude = f"#include <{operator.prelude}>\n" if operator.prelude else ""
    found = []
    for source in operator.sources:
        if source not in tree.files:
            raise SourceError("no such file in the package", where=f"{title}: operator: {source} of {tree.label}")
        stem = PurePosixPath(source)
        found.append((stem.stem, f'{prelude}#include "{stem.name}"\n', str(stem.parent)))
    if operator.template is not None:
        found.append((title, prelude + rendered(operator.template, tree), "csrc"))
    return found


def rendered(template: Template, tree: Tree) -> str:
    """The source text that the package's template gives."""
    import jinja2

    values = {name: text_constant(tree, *place.rsplit(":", maxsplit=1)) for name, place in template.values_from.items()}
    text = text_constant(tree, template.file, template.variable)
    return jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text).render({**template.values, **values})


def text_constant(tree: Tree, file: str, variable: str) -> str:
    """A text that a Python file of the package assigns at its top level; raises SourceError."""
    where = f"{tree.label}: {file}"
    if file not in tree.files:
        raise SourceError("no such file in the package", where=where)
    for node in ast.parse(tree.files[file]).body:
        names = [part.id for part in _targets(node) if isinstance(part, ast.Name)]
        value = getattr(node, "value", None)
        if variable in names and isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value
    raise SourceError(f"assigns no text to {variable}", where=where)


def _targets(node: ast.stmt) -> Sequence[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else []

"""Which functions of other packages a kernel can stand in for: data of the kernel's config entry.

replaces:
  - functions: [flashinfer.silu_and_mul, flashinfer.activation.silu_and_mul]
    arguments: {out: out}          # definition's argument -> their parameter; the same name where left out
    fixed: {}                      # their parameter -> the one value that the kernel has built in
    ignored: [enable_pdl]          # their parameters that do not change the result; not all functions need them
    limits: {hidden: {multiple_of: 8}, heads * head_dim: {at_most: 8192}}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hone.core.errors import ConfigError
from hone.records import Definition
from hone.records.base import Record

FIELD = "replaces"
DottedName = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")]


class Limit(Record):
    """What a size, or a product of sizes, must be for the kernel; other calls go to the original."""

    multiple_of: int = 1
    at_most: int | None = None
    one_of: tuple[int, ...] = ()

    def complaint(self, size: Any) -> str:
        """Empty when the size is allowed."""
        if size % self.multiple_of:
            return f"not a multiple of {self.multiple_of}"
        if self.at_most is not None and size > self.at_most:
            return f"more than {self.at_most}"
        return f"not one of {', '.join(map(str, self.one_of))}" if self.one_of and size not in self.one_of else ""


class Replacement(Record):
    """Functions with one common signature that compute what a definition says."""

    functions: tuple[DottedName, ...] = Field(min_length=1)
    """Dotted names, such as `flashinfer.norm.fused_add_rmsnorm`."""
    arguments: dict[str, str] = Field(default_factory=dict)
    """Name of an input, parameter or output of the definition -> name of their parameter; the same where left out.
    An output that their function has no parameter for is allocated."""
    fixed: dict[str, Any] = Field(default_factory=dict)
    """Their parameter -> the value that the kernel has built in; any other goes to the original."""
    ignored: tuple[str, ...] = ()
    """Their parameters that do not change the result, such as `enable_pdl`."""
    limits: dict[str, Limit] = Field(default_factory=dict)
    """Axis, or product of axes as `heads * head_dim` -> what the kernel needs of it."""

    def complaint(self, sizes: Mapping[str, Any]) -> str:
        """Why the kernel does not take a call of these sizes; empty when it does."""
        for axes, limit in self.limits.items():
            if said := limit.complaint(math.prod(sizes[axis] for axis in axes.split(" * "))):
                return f"{axes} is {said}"
        return ""


class CompiledFunction(BaseModel):
    """A package's own function as an operator that its C++ sources register: part of the entry's `operator`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    arguments: tuple[str | bool | int | float, ...]
    """In order: names of the definition's inputs and outputs, or constants."""


def read_replacements(definition: Definition, folder: Path) -> tuple[Replacement, ...]:
    """`replaces` of a definition's config entry, empty where it has none; raises ConfigError.

    Definition `<source>/level1/<number>_<title>` has the entry `<folder>/<number>_<title>.yaml`.
    """
    found: tuple[Replacement, ...] | None = _section(definition, folder, FIELD, tuple[Replacement, ...])
    return found or ()


def read_compiled(definition: Definition, folder: Path) -> CompiledFunction | None:
    """`operator` of a definition's config entry, None where it has none; raises ConfigError."""
    found: CompiledFunction | None = _section(definition, folder, "operator", CompiledFunction)
    return found


def _section(definition: Definition, folder: Path, field: str, kind: Any) -> Any:
    import yaml

    path = folder / f"{definition.name.rpartition('/')[2]}.yaml"
    if not path.is_file():
        return None
    try:
        entry = yaml.safe_load(path.read_text(encoding="utf-8"))
        found = entry.get(field) if isinstance(entry, dict) else None
        return None if found is None else TypeAdapter(kind).validate_python(found)
    except yaml.YAMLError as error:
        raise ConfigError(f"not YAML: {error}", where=str(path)) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in (field, *first["loc"]))
        raise ConfigError(first["msg"], where=f"{path}: {field}") from None

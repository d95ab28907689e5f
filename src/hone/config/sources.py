"""The `sources` of the config: where problems and existing kernels come from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from hone.config.section import Section
from hone.records import Tolerance


class LocalSource(Section):
    """Problems in KernelBench's format in a folder `level<n>/<number>_<title>.py`."""

    kind: Literal["local"]
    path: str
    levels: dict[int, Annotated[int, Field(ge=1)]] = Field(min_length=1)
    """Level -> highest problem number; what is found is checked against it."""
    tolerance: Tolerance = Tolerance(atol=1e-4, rtol=1e-4)


class KernelBenchSource(Section):
    """The public KernelBench repository, or a clone of it, at a pinned commit."""

    kind: Literal["kernelbench"]
    url: str
    """Anything that `git clone` takes: an https address or the path of a bare repository."""
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    levels: dict[int, Annotated[int, Field(ge=1)]] = Field(min_length=1)
    """Level -> number of problems; what is found is checked against it."""
    tolerance: Tolerance = Tolerance(atol=1e-2, rtol=1e-2)
    """1e-2 is the paper's (branch v0, v0.1); the repository's main uses 1e-4 for fp32."""


class PyPIPackage(Section):
    """One file of a package index, found with pip's own configuration and never executed."""

    kind: Literal["pypi"]
    name: str
    version: str
    file: str
    """Name of the file: an sdist, or a wheel of whatever platform; of wheels only what they contain is read."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    include: tuple[str, ...] = (".",)
    """Folders within the package in which headers are looked for; an sdist's own top folder is left out."""


class GitPackage(Section):
    """A git repository at a pinned commit."""

    kind: Literal["git"]
    url: str
    """Anything that `git clone` takes: an https address or the path of a bare repository."""
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    include: tuple[str, ...] = (".",)


class FolderPackage(Section):
    """A folder of our own."""

    kind: Literal["folder"]
    path: str
    include: tuple[str, ...] = (".",)


Package = Annotated[PyPIPackage | GitPackage | FolderPackage, Field(discriminator="kind")]


class KernelsSource(Section):
    """Existing kernels, each a YAML file `<number>_<title>.yaml` that says what to take from which package."""

    kind: Literal["kernels"]
    path: str
    """Folder of the YAML files."""
    levels: dict[int, Annotated[int, Field(ge=1)]] = Field(min_length=1)
    """`{1: n}`: a folder is one level, with n kernels; what is found is checked against it."""
    packages: dict[str, Package] = Field(min_length=1)
    """Name that the entries use -> where its headers come from."""
    tolerance: Tolerance = Tolerance(atol=1e-4, rtol=1e-4)
    """Of data types for which an entry names none."""

    @field_validator("levels")
    @classmethod
    def _one_level(cls, value: dict[int, int]) -> dict[int, int]:
        if list(value) != [1]:
            raise ValueError("a folder of kernels is one level: write {1: <number of kernels>}")
        return value


Source = Annotated[LocalSource | KernelBenchSource | KernelsSource, Field(discriminator="kind")]

"""The existing kernels that a definition brings with it, as solutions: compiled and judged like any other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hone.launcher import ENTRY_POINT
from hone.records import Definition, Language, Solution


def kernel_solution(definition: Definition, name: str) -> Solution:
    """The kernel of a name; the same record, with the same id, whether it is a baseline or under judgement."""
    assert definition.kernel_language is not None, "the record sees to it"
    return Solution(
        definition=definition.name, language=definition.kernel_language, entry_point=ENTRY_POINT,
        source=definition.kernels[name],
    )  # fmt: skip


def native_language(device: str) -> Language:
    """What is written for a judge's device, `cpu` or `cuda`, and runs there without Python."""
    return Language.CUDA if device == "cuda" else Language.CPP


def kernels_for(definition: Definition, device: str) -> dict[str, Solution]:
    """The definition's kernels that run on a device, by name."""
    if definition.kernel_language is not native_language(device):
        return {}
    return {name: kernel_solution(definition, name) for name in definition.kernels}


def with_kernels(solutions: Iterable[Solution], definitions: Mapping[str, Definition], device: str) -> list[Solution]:
    """The solutions, then those kernels of their definitions that run on the device and are not among them."""
    known = {solution.id: solution for solution in solutions}
    names = dict.fromkeys(solution.definition for solution in known.values())
    needed = [
        kernel for name in names if name in definitions for kernel in kernels_for(definitions[name], device).values()
    ]
    return list((known | {kernel.id: kernel for kernel in needed if kernel.id not in known}).values())

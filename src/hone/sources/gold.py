"""The reference as its own candidate: it must pass with a speedup near one, or the judge is wrong."""

from __future__ import annotations

from hone.records import Definition, Language, Solution


def gold_solution(definition: Definition) -> Solution:
    """The definition's reference with its `Model` under the name that solutions use."""
    source = definition.reference.rstrip("\n") + "\n\n\nModelNew = Model\n"
    return Solution(definition=definition.name, language=Language.PYTHON, entry_point="ModelNew", source=source)

"""Held-out sizes: further sizes that a problem file gives for some of its axes, checked against what the problem does.

    held_out_sizes = [{"rows": 777, "columns": 1031}]

Every entry names module constants (in lower case) that are sizes of the problem. A solution never sees them, and must
compute them rightly too: code that is right for one size only is found out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hone.sources.inspection import Inspection, Value
from hone.sources.naming import name_arguments
from hone.sources.problem import HELD_OUT

FIELD = HELD_OUT
FORM = f'write {FIELD} like [{{"rows": 777, "columns": 1031}}], with whole numbers from 1 upwards, or leave it out'


class HeldOutError(ValueError):
    """The field is wrong: `where` within it, and the remedy."""

    def __init__(self, problem: str, where: str, remedy: str = FORM) -> None:
        super().__init__(problem)
        self.where = where
        self.remedy = remedy


def read_entries(field: Any, constants: Mapping[str, int]) -> tuple[dict[str, int], ...]:
    """The field's entries, axis -> size, in order; raises HeldOutError when it has another form or unknown axes.

    `constants` are the module's integers.
    """
    if not isinstance(field, list | tuple):
        raise HeldOutError(f"is a {type(field).__name__}, not a list", FIELD)
    for index, entry in enumerate(field):
        _check_entry(entry, f"{FIELD}[{index}]", sorted({name.lower() for name in constants}))
    return tuple(dict(entry) for entry in field)


def _check_entry(entry: Any, where: str, known: Sequence[str]) -> None:
    if not isinstance(entry, dict) or not entry:
        raise HeldOutError("is not a dictionary from axes to sizes", where)
    for axis, size in entry.items():
        if axis not in known:
            remedy = f"name constants of the module, in lower case: {', '.join(known) or 'there are none yet'}"
            raise HeldOutError(f"{axis!r} is not an axis", where, remedy)
        if type(size) is not int:
            raise HeldOutError(f"the size of {axis} is a {type(size).__name__}, not a whole number", where)
        if size < 1:
            raise HeldOutError(f"the size of {axis} is {size}, less than 1", where)


def complete(inspection: Inspection, entries: Sequence[dict[str, int]], variants: Sequence[Inspection]) -> Inspection:
    """`inspection` with the entries, once each of `variants` (of one entry each) is what the axes' names say.

    Where constants of one value leave open which of them a dimension follows, the variants decide (`Value.follows`).
    Raises HeldOutError when an axis does not exist or a shape under an entry is another one.
    """
    if not entries:
        return inspection
    done = inspection.model_copy(update={"held_out": tuple(entries)})
    for group in ("inputs", "parameters", "outputs"):
        values, others = getattr(inspection, group), [getattr(variant, group) for variant in variants]
        ranks = [len(value.shape) for value in values]
        for index, other in enumerate(others):
            if [len(value.shape) for value in other] != ranks:
                raise HeldOutError(f"the number of {group} or of their dimensions changes", f"{FIELD}[{index}]")
        found = [_followed(value, [other[at] for other in others], done) for at, value in enumerate(values)]
        done = done.model_copy(update={group: tuple(found)})
    for index, (entry, variant) in enumerate(zip(entries, variants, strict=True)):
        _check_variant(done, entry, variant, f"{FIELD}[{index}]")
    return done


def _followed(value: Value, variants: Sequence[Value], inspection: Inspection) -> Value:
    """`value` with the one constant that each dimension equals under every entry, or none."""

    def constant(position: int, size: int) -> str:
        found = [
            name
            for name, usual in inspection.constants.items()
            if usual == size > 1
            and all(
                entry.get(name.lower(), usual) == variant.shape[position]
                for entry, variant in zip(inspection.held_out, variants, strict=True)
            )
        ]
        return found[0] if len(found) == 1 else ""

    follows = tuple(constant(position, size) for position, size in enumerate(value.shape))
    return value.model_copy(update={"follows": follows})


def _check_variant(inspection: Inspection, entry: Mapping[str, int], variant: Inspection, where: str) -> None:
    """Raise HeldOutError unless every shape and type of `variant` is that of `inspection` with the entry's sizes."""
    inputs, parameters, outputs, axes = name_arguments(inspection)
    unknown = [axis for axis in entry if axis not in axes]
    if unknown:
        raise HeldOutError(f"{unknown[0]!r} is not an axis", where, f"name axes of the problem: {', '.join(axes)}")
    sizes = {**axes, **entry}
    values = (*variant.inputs, *variant.parameters, *variant.outputs)
    for argument, value in zip((*inputs, *parameters, *outputs), values, strict=True):
        expected = tuple(sizes[axis] for axis in argument.shape)
        if (value.shape, value.dtype) != (expected, argument.dtype):
            names = f"({', '.join(argument.shape)})"
            raise HeldOutError(
                f"{argument.name} {names} becomes {value.shape} {value.dtype}, not {expected} {argument.dtype}",
                where,
                "read the sizes from the constants inside get_inputs and get_init_inputs, give different values to "
                "constants that mean different things, or leave the axis out",
            )

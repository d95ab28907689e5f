"""What is wrong with a config, in the words of its file: the place of each field, what it must be and what it is for.

Places, keys and descriptions come from the JSON schema of the config, so that they are those of the section at hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from hone.core.errors import closest, nearest

Schema = Mapping[str, Any]
Details = Mapping[str, Any]
"""Of one error: pydantic's `type`, `loc`, `msg` and `input`."""
KEY = "[key]"
"""Ends the place of an error about a key itself."""
PAIRS = ("model_type", "model_attributes_type", "dict_type")
"""Errors of a section that is something else."""

LIKE = 0.75
"""How like a value must be to one that is allowed: whoever writes `gpu` does not mean `cpu`."""
WORDS = {"missing": "is missing", "too_short": "must not be empty", "tuple_type": "must be a list"}
WORDS |= dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "must be a whole number")
WORDS |= dict.fromkeys(("float_parsing", "float_type"), "must be a number")
WORDS |= dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false")
WORDS |= dict.fromkeys(PAIRS, "must hold key: value pairs")
"""Error -> what is wrong, where pydantic's own words speak of Python."""


class Place(NamedTuple):
    """Where an error is."""

    path: str
    """As in the file: without the kinds of sources, packages and graphs, which pydantic names too."""
    name: str
    """The field, or the one that has the item; empty where there is none."""
    description: str
    """Of this field."""
    schema: Schema
    """Of what stands there; empty where that is not known."""
    default: object = None
    """Of the field."""


def explain(error: ValidationError, schema: Schema) -> tuple[str, str]:
    """(problem, remedy): a line for each wrong field, and for each what it is, out of the whole config's schema."""
    problems: list[str] = []
    remedies: dict[str, None] = {}  # each once, in order
    details: list[Details] = [dict(item) for item in error.errors(include_url=False)]
    for item in details:
        if item["type"] == "too_short" and _has_wrong_items(item, details):
            continue  # pydantic does not count those
        place = find(item["loc"], schema)
        problems.append(f"{place.path}: {_problem(item, place, schema)}".removeprefix(": "))
        if remedy := _remedy(item, place, schema):
            remedies[remedy] = None
    return "\n  ".join(problems), "\n    ".join(remedies)


def find(location: Sequence[int | str], schema: Schema) -> Place:
    """Follow an error's location through the schema of the whole config."""
    path: list[str] = []
    name, description, default, node = "", "", None, schema
    for part in location:
        node = _resolved(node, schema)
        if part in node.get("discriminator", {}).get("mapping", ()):
            node = {"$ref": node["discriminator"]["mapping"][part]}
            continue
        if part == KEY:
            continue
        path.append(str(part))
        known = node.get("properties", {})
        if part in known:
            node, name, default = known[part], str(part), known[part].get("default")
            description = " ".join(node.get("description", "").split())
        else:
            node = (node.get("items") if isinstance(part, int) else node.get("additionalProperties")) or {}
    return Place(".".join(path), name, description, _resolved(node, schema), default)


def _resolved(node: Schema, schema: Schema) -> Schema:
    """What a reference points to; of something or nothing, the something."""
    while True:
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
        elif "anyOf" in node:
            node = next((item for item in node["anyOf"] if item.get("type") != "null"), {})
        else:
            return node


def _has_wrong_items(short: Details, details: Sequence[Details]) -> bool:
    size = len(short["loc"])
    return any(item["loc"][:size] == short["loc"] and len(item["loc"]) > size for item in details)


def _problem(item: Details, place: Place, schema: Schema) -> str:
    match item["type"], item["input"]:
        case "extra_forbidden", _:
            said = f"unknown key{nearest(str(item['loc'][-1]), _keys_beside(item, schema))}"
        case "union_tag_invalid", {"kind": kind}:
            said = f"there is no kind '{kind}'{closest(str(kind), iter(_kinds(place)))}"
        case "union_tag_not_found", _:
            said = f"needs a kind: {', '.join(_kinds(place))}"
        case "tuple_type", str() | int() | float() as value:
            said = f"must be a list: write [{value}]"
        case "literal_error", value:
            known = re.findall(r"'([^']*)'", item["ctx"]["expected"])
            said = f"{_pydantic_words(item['msg'])}{nearest(str(value), known, LIKE)} (got {value!r})"
        case kind, value:
            said = WORDS.get(kind) or _pydantic_words(item["msg"])
            if not isinstance(value, Mapping | list | tuple):
                said += f" (got {'nothing' if value is None else repr(value)})"
    return said


def _pydantic_words(text: str) -> str:
    """Of what a validator of our own says, all."""
    return text.removeprefix("Value error, ").partition(", unable to")[0].replace("Input should be", "must be", 1)


def _kinds(place: Place) -> list[str]:
    return sorted(place.schema.get("discriminator", {}).get("mapping", ()))


def _keys_beside(item: Details, schema: Schema) -> list[str]:
    """Keys of the section that an unknown key stands in."""
    return sorted(find(item["loc"][:-1], schema).schema.get("properties", ()))


def _remedy(item: Details, place: Place, schema: Schema) -> str:
    """What the field is for; nothing where the problem says what to write."""
    if item["type"] == "extra_forbidden":
        keys = _keys_beside(item, schema)
        section = find(item["loc"][:-1], schema).path or "the config"
        return "" if nearest(str(item["loc"][-1]), keys) else f"keys of {section}: {', '.join(keys)}"
    if item["type"] in PAIRS:
        keys = sorted(place.schema.get("properties", ()))
        return f"keys of {place.path}: {', '.join(keys)}" if keys else ""
    if item["type"].startswith(("value_error", "union_tag")) or not place.description:
        return ""
    if item["type"] == "missing":
        return f"add {place.name}: {place.description}"
    return f"correct {place.name}: {place.description}{_default(place.default)}"


def _default(value: object) -> str:
    """In the words of the file; nothing for a section, a list or an empty text."""
    if isinstance(value, bool):
        return f" (default: {str(value).lower()})"
    return f" (default: {value})" if isinstance(value, int | float | str) and value != "" else ""

"""Pages of `docs/records/`, generated from the records' own docstrings; a test fails when they drift."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hone import records

PAGES: dict[str, tuple[type[records.Record], str]] = {
    "definition": (
        records.Definition,
        "Made from a benchmark's problem file by the rule `define`;\n"
        "`results/<run>/definitions/<source>/level<n>.jsonl`.\n"
        "A KernelBench problem is a definition whose reference is its `Model`, `get_inputs`, `get_init_inputs`.",
    ),
    "workload": (
        records.Workload,
        "Made beside the definitions; `results/<run>/workloads/<source>/level<n>.jsonl`.\n"
        "A KernelBench problem has one, an existing kernel those of its entry, some of them held out from every\n"
        "prompt. Solutions are judged on each.",
    ),
    "prompt": (
        records.Prompt,
        "Rendered from `config/prompts/<method>/`; `results/<run>/prompts/` for first turns,\n"
        "`results/<run>/feedback/` after, `results/<run>/roles/` for the roles of `astra`.",
    ),
    "completion": (
        records.Completion,
        "One file per request in the ledger, named by the request's digest; asked once, paid for once.",
    ),
    "candidate": (
        records.Candidate,
        "Where a solution came from. One for each answer, so that answers without code stay in every denominator.",
    ),
    "solution": (
        records.Solution,
        "Only what is executed: where it came from stands in its candidates, so equal kernels are one record.",
    ),
    "build": (
        records.Build,
        "What the compiler made of a solution; `results/<run>/builds/`, with the shared object in the store.",
    ),
    "trace": (
        records.Trace,
        "The verdict on one (solution, workload), with everything needed to judge it again; `results/<run>/traces/`.",
    ),
    "search_step": (
        records.SearchStep,
        "One choice of a kernel's own parameters, measured once, made by the rule `tune`; `results/<run>/searches/`.\n"
        "Tables read it; the winner of a search is a solution like any other.",
    ),
    "claim": (
        records.Claim,
        "What a public archive says of an answer that it holds, made by the rule `archived`; `results/<run>/claims/`.\n"
        "Tables compare it with our own verdicts; it never decides one.",
    ),
    "selection": (
        records.Selection,
        "What trainings with `kernels: selected` run for one operator, made by the rule `select`;\n"
        "`results/<run>/selected/<source>/<operator>.json`;\n"
        "times and reasons stand in `<operator>.reasons.jsonl` beside it, and what compute-sanitizer says in\n"
        "`<operator>.sanitized.jsonl`.",
    ),
}


def page(name: str) -> str:
    """Markdown of one record's page."""
    kind, where = PAGES[name]
    schema = kind.model_json_schema(mode="serialization")
    parts = [f"# {kind.__name__}\n", (kind.__doc__ or "").strip() + "\n", where + "\n", _fields(schema)]
    for title, part in schema.get("$defs", {}).items():
        parts += [f"\n## {title}\n", part.get("description", "").strip() + "\n"]
        parts.append(_values(part) if "enum" in part else _fields(part))
    return "\n".join(parts).rstrip() + "\n"


def write_pages(folder: Path) -> None:
    """All pages of `docs/records/`."""
    from hone.core.files import write_text

    for name in PAGES:
        write_text(folder / f"{name}.md", page(name))


def _fields(schema: dict[str, Any]) -> str:
    rows = ["| field | type | meaning |", "| --- | --- | --- |"]
    for name, field in schema.get("properties", {}).items():
        meaning = " ".join(field.get("description", "").split()).replace("|", "\\|")
        rows.append(f"| `{name}` | {_type(field)} | {meaning} |")
    return "\n".join(rows) + "\n"


def _values(schema: dict[str, Any]) -> str:
    return "\n".join(f"- `{value}`" for value in schema["enum"]) + "\n"


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return str(field["$ref"]).rsplit("/", 1)[-1]
    if "anyOf" in field:
        return " or ".join(_type(option) for option in field["anyOf"])
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        items = field.get("items", {})
        return f"list of {_type(items)}" if items else "list"
    if field.get("type") == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"map to {_type(field['additionalProperties'])}"
    return str(field.get("type", "any"))

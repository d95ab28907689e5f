"""The first page: what ran, what came out, what to be careful with, and what stands behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hone.config.experiments import REFERENCE_MODEL
from hone.config.settings import Settings
from hone.report.landing import experiments, trainings
from hone.site.entries import Entry
from hone.site.tables import ReadTable
from hone.tables.row import PROVENANCE
from hone.tables.words import plural

PAPERS = {
    "KernelBench": "https://arxiv.org/abs/2502.10517",
    "Astra": "https://arxiv.org/abs/2509.07506",
    "SALIENT": "https://arxiv.org/abs/2110.08450",
}
MEANINGS = {
    "config_digest": "Digest of the config",
    "commit": "Commit of Hone",
    "device": "Device",
    "driver": "Driver",
    "protocol": "Protocols",
    "torch": "PyTorch",
}


def home(
    tables: Sequence[ReadTable],
    found: Sequence[Entry],
    settings: Settings | None,
    configs: Sequence[str],
    as_printed: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    """What the template of the first page shows; without `settings` what the tables alone can say.

    `as_printed`: place, title and address of each page with a paper's table.
    """
    return {
        "configs": list(configs),
        "ran": [_sentence(text) for text in (*experiments(settings), *trainings(settings))] if settings else [],
        "findings": [{"table": table.name, "title": table.title, "said": table.said} for table in tables if table.said],
        "figures": figures(found, tables),
        "warnings": list(warnings(found, tables)),
        "provenance": provenance(tables),
        "papers": PAPERS,
        "as_printed": list(as_printed),
        "tables": [{"name": table.name, "title": table.title, "rows": len(table.frame)} for table in tables],
    }


def figures(found: Sequence[Entry], tables: Sequence[ReadTable]) -> list[dict[str, Any]]:
    """Counts that head the page, each with the page that lists what was counted."""
    if not found:
        return [{"value": len(tables), "what": "tables", "link": "tables.html"}]
    count = [
        ("answers and existing kernels", len(found), "answers.html"),
        ("correct", sum(item.cells["category"] == "correct" for item in found), "answers.html#category=correct"),
        ("problems", len({item.place.definition for item in found}), "problems.html"),
        ("models and recordings", len({item.place.model for item in found} - {REFERENCE_MODEL}), "leaderboard.html"),
    ]
    return [{"value": value, "what": what, "link": link} for what, value, link in count]


def warnings(found: Sequence[Entry], tables: Sequence[ReadTable]) -> Iterator[dict[str, str]]:
    """What a reader must know before a number is quoted."""
    frames = [table.frame["model"] for table in tables if "model" in table.frame]
    models = {str(name) for names in frames for name in names.unique()} | {item.place.model for item in found}
    if any(name.startswith("recorded/") for name in models):
        said = "Models named recorded/… replay committed transcripts. What they reach is no model’s result."
        yield {"said": said, "link": ""}
    unresolved = sum(item.cells["category"] == "unresolved" for item in found)
    if unresolved:
        said = f"{plural(unresolved, 'answer')} without a verdict. Shares that depend on them have bounds alone."
        yield {"said": said, "link": "answers.html#category=unresolved"}
    doubtful = sum(bool(item.cells.get("findings")) for item in found)
    if doubtful:
        said = f"{plural(doubtful, 'correct answer')} with a doubtful time. Such a time is shown and earns no speedup."
        yield {"said": said, "link": "answers.html#findings=any"}
    differing = sum(bool(item.cells.get("prompt_differs")) for item in found)
    if differing:
        said = f"{plural(differing, 'recorded answer')} to a prompt that has changed since, by an edit or in its times."
        yield {"said": said, "link": "answers.html#prompt_differs=1"}


def provenance(tables: Sequence[ReadTable]) -> Mapping[str, list[str]]:
    """Meaning -> all values in the tables; empty ones are left out."""
    found = {}
    for name in PROVENANCE:
        cells = [table.frame[name] for table in tables if name in table.frame]
        values = {part for column in cells for cell in column.unique() for part in str(cell).split("; ") if part}
        values.discard("nan")
        if values:
            found[MEANINGS[name]] = sorted(values)
    return found


def _sentence(text: str) -> dict[str, str]:
    """The name in bold and what follows it, of a line of the report's first page."""
    name, _, rest = text.removeprefix("**").partition("**: ")
    return {"name": name, "said": rest}

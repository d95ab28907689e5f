"""The first page of `snakemake --report`, in reStructuredText: what was run, what came out, where to look."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hone.config.experiments import UNPROMPTED
from hone.config.settings import Settings
from hone.core.files import write_text
from hone.report.pages import OTHER_FILE

PAPERS = """
- **KernelBench** (arXiv 2502.10517): can a model write a faster kernel for a PyTorch workload?
- **Astra** (arXiv 2509.07506): existing kernels, improved in rounds by several roles or by one agent.
- **SALIENT** (arXiv 2110.08450): where an epoch of training goes, and what sampling costs in accuracy.
- **Judge** and **Cost**: what the verdicts rest on, and what they and the answers took.
"""
RECORDED = "Models named ``recorded/...`` are recordings, which replay answers. Their numbers are no model's results."
FINDINGS = re.compile(r"\A# .*?\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
"""Of the summary: what stands between its title and its first list."""
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def write_landing(settings: Settings, configs: Sequence[str], summary: str, path: Path) -> None:
    """Write the page for the run of these config files, with the findings of its `summary`, in Markdown.

    `path` is in the report's folder of the run: results/<run>/report.
    """
    write_text(path, "\n".join(_lines(settings, configs, summary, path.parent.parent.name)) + "\n")


def _lines(settings: Settings, configs: Sequence[str], summary: str, run: str) -> Iterator[str]:
    if said := findings(summary):
        yield from ("**What came out**", "", *said, "")
    yield "**What was run:** " + " and ".join(f"``{name}``" for name in configs)
    yield ""
    yield from (f"- {text}" for text in (*experiments(settings), *trainings(settings)))
    yield ""
    # The report stands in results/, unless somebody wants it elsewhere.
    explorer = f"`answers, verdicts and times, page by page <{run}/site/index.html>`_"
    yield f"**Explorer:** {explorer}; ``hone view {run}`` serves it."
    yield ""
    yield "**Where to look:** topics are on the left. Each table, figure and kernel there opens as a page of its own."
    yield PAPERS
    if any(model.startswith("recorded/") for item in settings.experiments.values() for model in item.models):
        yield RECORDED


def experiments(settings: Settings) -> Iterator[str]:
    """A sentence for each experiment: how many problems, by which method, answered by whom."""
    for name, item in settings.experiments.items():
        chosen = sum(item.selects(level, number) for level, number in settings.problems(item.source))
        by = "" if item.method in UNPROMPTED else f", answered by {', '.join(item.models)}"
        yield f"**{name}**: {item.method} on {_count(chosen, 'problem')} of {item.source}{by}"


def trainings(settings: Settings) -> Iterator[str]:
    """A sentence for each training: which models on which graphs, by which systems."""
    for name, item in settings.trainings.items():
        seeds = _count(len(item.seeds), "seed")
        yield (
            f"**{name}**: training of {', '.join(item.models)} on {', '.join(item.graphs)}, "
            f"by {', '.join(item.systems)}, {seeds}"
        )


def findings(summary: str) -> list[str]:
    """What the summary says before its lists, line by line as reStructuredText; empty where it says nothing."""
    found = FINDINGS.search(summary)
    text = LINK.sub(r"\1", OTHER_FILE.sub("", found[1])).strip() if found else ""
    return text.replace("`", "``").splitlines()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

"""llm_cost: calls, tokens and dollars of each experiment and model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hone.analysis.provenance import joined
from hone.records import Answer
from hone.tables import columns
from hone.tables.row import EMPTY, TableRow
from hone.tables.run import Run
from hone.tables.table import Figure, RunTable
from hone.tables.words import is_known, plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

TOKENS = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")
COUNTED = (*TOKENS, "cost_usd")


class Row(TableRow):
    """What one experiment asked one model."""

    experiment: columns.Experiment
    model: columns.LanguageModel
    calls: int
    """LLM calls, asked or replayed; each counts in one row alone."""
    input_tokens: float = EMPTY
    """Tokens sent, cached ones included."""
    output_tokens: float = EMPTY
    """Tokens received, reasoning included."""
    cost_usd: float = EMPTY
    """US dollars; empty, like the tokens, where no call has counts."""
    cached_input_tokens: float = EMPTY
    """Tokens of the input that the server had cached."""
    reasoning_tokens: float = EMPTY
    """Tokens of the output that were reasoning."""
    uncounted_calls: int
    """Calls whose server did not count the tokens: they are not in the sums of tokens and dollars."""
    unanswered_calls: int
    """Calls whose prompt the server refused, filtered or too long."""
    failed_attempts: int
    """Tries that gave no usable answer."""
    prompt_differs: columns.PromptsDiffer
    shared_calls: int
    """Answers served by a call that an earlier row of the table counts."""
    price_source: str = ""
    """What the cost was computed with."""


def rows(run: Run) -> list[Row]:
    """A row for each experiment and model; a call that serves two of them is counted once.

    It counts where it comes first in the records, so that the column `calls` adds up to what servers were asked.
    """
    seen: set[str] = set()
    found: dict[tuple[str, str], list[Answer]] = {}
    own: dict[tuple[str, str], list[Answer]] = {}
    for answer in run.records.answers:
        place = (answer.experiment, answer.model)
        found.setdefault(place, []).append(answer)
        if answer.completion.key not in seen:
            own.setdefault(place, []).append(answer)
        seen.add(answer.completion.key)
    shared = run.context.provenance.columns()
    return [_row(answers, own.get(place, []), shared) for place, answers in found.items()]


def _row(answers: Sequence[Answer], own: Sequence[Answer], provenance: dict[str, str]) -> Row:
    """`own` are the answers that no earlier row counts; where all of their tokens are 0, nobody counted them."""
    used = [item.completion.usage for item in own if item.completion.usage is not None]
    counts: dict[str, float] = {name: sum(getattr(usage, name) for usage in used) for name in TOKENS}
    counts["cost_usd"] = sum(item.completion.known_cost_usd or 0.0 for item in own)
    if own and not any(counts.values()):
        counts = dict.fromkeys(COUNTED, EMPTY)
    return Row(
        experiment=answers[0].experiment,
        model=answers[0].model,
        calls=len(own),
        shared_calls=len(answers) - len(own),
        uncounted_calls=len(own) - len(used),
        unanswered_calls=sum(bool(item.completion.refusal) for item in own),
        failed_attempts=sum(len(item.completion.failed_attempts) for item in own),
        prompt_differs=sum(item.prompt_differs for item in answers),
        price_source=joined(item.completion.price_source for item in answers),
        **counts,
        **provenance,
    )


def finding(rows: Sequence[Row]) -> str:
    """Calls and dollars of the run, and what is not in them."""
    calls, uncounted = (sum(getattr(row, name) for row in rows) for name in ("calls", "uncounted_calls"))
    missing = f" The server counted no tokens of {plural(uncounted, 'call')}: they are not in these sums."
    paid = [row for row in rows if is_known(row.cost_usd)]
    if not paid and not uncounted:
        return f"{plural(calls, 'answer')} came from recorded transcripts; nothing was paid for."
    dollars = sum(row.cost_usd for row in paid)
    tokens = sum(row.input_tokens + row.output_tokens for row in paid)
    said = f"{plural(calls, 'call')} of language models: {tokens:,.0f} tokens counted, {dollars:.2f} US dollars."
    return said + (missing if uncounted else "")


def figure(table: pd.DataFrame) -> Drawn:
    """Dollars and tokens of each experiment and model."""
    from hone.analysis.cost_figures import llm_cost_figure

    return llm_cost_figure(table)


TABLE = RunTable(
    name="llm_cost",
    title="LLM calls, tokens and cost",
    caption=(
        "Calls of language models with their tokens and dollars, by experiment and model. A call that serves several "
        "experiments is counted once. Replayed transcripts cost nothing; where nobody counted tokens, tokens and "
        "dollars are empty, and the figure leaves them out."
    ),
    category="Cost",
    row=Row,
    rows=rows,
    finding=finding,
    shown={
        "experiment": "Experiment",
        "model": "Model",
        "calls": "Calls",
        "input_tokens": "Input tokens",
        "output_tokens": "Output tokens",
        "cost_usd": "Cost (US $)",
        "uncounted_calls": "Calls without counts",
    },
    figures=(Figure("llm_cost", "Cost of the language models", figure),),
)

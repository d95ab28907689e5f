"""Tables about the judge and the money: gold run, seconds by phase, LLM calls."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import pandas as pd

from hone.analysis.provenance import Provenance, joined, of_trace, on_gpu
from hone.analysis.tables import Context, Row, timed_rows
from hone.records import Answer, Build, Trace

TOKENS = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")


def gold_rows(frame: pd.DataFrame, context: Context) -> list[Row]:
    """judge_gold: every problem of the `gold` experiments, judged or not, once for each baseline."""
    gold = frame[frame["method"] == "gold"]
    return [row for item in gold.to_dict("records") for row in timed_rows(item, context, untimed=True)]


def judge_cost_rows(traces: Iterable[Trace], builds: Iterable[Build], provenance: Provenance) -> list[Row]:
    """judge_cost: seconds of each phase of each verdict, and of each build; a verdict that came twice counts once.

    Whatever phases a verdict has are listed. They were spent where the solution ran; a build is always the CPU's.
    """
    rows: list[Row] = []
    definition_of: dict[str, str] = {}
    for trace in _distinct(traces):
        definition_of[trace.solution] = trace.definition
        where = "gpu" if on_gpu(trace) else "cpu"
        fixed = {"definition": trace.definition, "solution": trace.solution, "status": str(trace.status)}
        fixed |= provenance.columns(of_trace(trace))
        rows += [
            fixed | {"phase": phase, "seconds": seconds, "where": where} for phase, seconds in trace.phase_s.items()
        ]
    for build in {build.solution: build for build in builds}.values():
        fixed = {"definition": definition_of.get(build.solution, ""), "solution": build.solution}
        spent = {"phase": "build", "seconds": build.seconds, "where": "cpu", "status": str(build.status)}
        rows.append(fixed | spent | provenance.columns())
    return sorted(rows, key=lambda row: (row["definition"], row["solution"]))


def _distinct(traces: Iterable[Trace]) -> list[Trace]:
    return list({trace.model_dump_json(): trace for trace in traces}.values())


def llm_cost_rows(answers: Sequence[Answer], provenance: Provenance) -> list[Row]:
    """llm_cost: tokens and dollars of each experiment and model; a call that serves two of them is counted once.

    It counts where it comes first in `answers`, so that the column `calls` adds up to what servers were asked. Where
    nobody counted tokens, as in some transcripts, they and the dollars are empty.
    """
    seen: set[str] = set()
    rows: dict[tuple[str, str], Row] = {}
    sources: dict[tuple[str, str], set[str]] = {}
    for answer in answers:
        key = (answer.experiment, answer.model)
        row = rows.setdefault(key, _no_cost(answer, provenance))
        row["prompt_differs"] += answer.prompt_differs
        sources.setdefault(key, set()).add(answer.completion.price_source)
        if answer.completion.key in seen:
            row["shared_calls"] += 1
            continue
        seen.add(answer.completion.key)
        _add_cost(row, answer)
    return [row | _unknown(row) | {"price_source": joined(sources[key])} for key, row in rows.items()]


def _unknown(row: Row) -> Row:
    """The cells of a row that nobody has counted: a call has tokens, so that none at all means not counted."""
    if not row["calls"] or any(row[name] for name in (*TOKENS, "cost_usd")):
        return {}
    return dict.fromkeys((*TOKENS, "cost_usd"), math.nan)


def _no_cost(answer: Answer, provenance: Provenance) -> Row:
    zeros: Row = dict.fromkeys(("calls", *TOKENS, "failed_attempts", "prompt_differs", "shared_calls"), 0)
    place = {"experiment": answer.experiment, "model": answer.model, "cost_usd": 0.0}
    return zeros | place | provenance.columns()


def _add_cost(row: Row, answer: Answer) -> None:
    usage = answer.completion.usage
    row["calls"] += 1
    row["input_tokens"] += usage.input_tokens
    row["cached_input_tokens"] += usage.cached_input_tokens
    row["output_tokens"] += usage.output_tokens
    row["reasoning_tokens"] += usage.reasoning_tokens
    row["cost_usd"] += answer.completion.cost_usd
    row["failed_attempts"] += len(answer.completion.failed_attempts)

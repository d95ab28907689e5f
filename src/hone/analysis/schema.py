"""What each table holds: its title and columns, and for every column its type and meaning.

The meanings are written once and are shown in the summary; a column has the same type in every table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "int", "float", "bool"]


@dataclass(frozen=True)
class Column:
    """Type and meaning of a column."""

    kind: Kind
    meaning: str


@dataclass(frozen=True)
class Table:
    """Title and columns of a table; the leading columns are those of the design, the rest add to them."""

    title: str
    leading: tuple[str, ...]
    further: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in the order of the file."""
        return (*self.leading, *self.further, *PROVENANCE)


PROVENANCE = ("config_digest", "commit", "device", "driver", "protocol", "torch")
"""Columns that end every table."""

COLUMNS: dict[str, Column] = {
    "experiment": Column("text", "name in the config"),
    "model": Column("text", "name in the config; recorded/… is a replayed transcript, never a live model's result"),
    "method": Column("text", "how the model was asked"),
    "level": Column("text", "KernelBench level, or `all` for the levels together"),
    "subset": Column("text", "`all` problems, or the `sound` ones without a known defect"),
    "baseline": Column("text", "what the speedup is measured against"),
    "p": Column("float", "threshold: a kernel counts when it is correct and more than p times as fast"),
    "n": Column("int", "number of problems: the denominator"),
    "fast_p": Column("float", "share of problems, 0 to 1; empty where an answer is unresolved"),
    "ci_low": Column("float", "lower end of the confidence interval; with unresolved answers: if all of them failed"),
    "ci_high": Column("float", "upper end of the interval; with unresolved answers: if all of them succeeded"),
    "unresolved": Column("int", "answers without a verdict: not judged, machine broke, lost; or correct but not timed"),
    "statistic": Column("text", "what one problem contributes"),
    "geomean_speedup": Column("float", "geometric mean of the speedup of correct timed kernels (of the best turn)"),
    "doubtful": Column("int", "correct answers whose time is doubtful (see findings): not faster at any p > 0"),
    "prompt_differs": Column("int", "recorded answers whose prompt is no longer the one that they were given to"),
    "published": Column("float", "the paper's number, as a share 0 to 1"),
    "published_source": Column("text", "where the paper prints it, and how exactly"),
    "category": Column("text", "outcome, as in the paper's Figure 2, with no_code, timeout and unresolved kept apart"),
    "count": Column("int", "number of answers"),
    "share": Column("float", "count over all answers of the row's experiment, model, level and turn"),
    "answers": Column("int", "all answers of the row's experiment, model, level and turn"),
    "turn": Column("int", "0 is the first answer; the paper's N is turn + 1"),
    "sample": Column("int", "index among answers to the same prompt"),
    "samples": Column("int", "answers per problem"),
    "k": Column("int", "number of samples drawn"),
    "metric": Column("text", "pass@k is fast_p@k at p = 0"),
    "definition": Column("text", "name of the problem"),
    "solution": Column("text", "digest of the kernel"),
    "sound": Column("bool", "no defect of the problem is known"),
    "status": Column("text", "verdict"),
    "detail": Column("text", "the verdict's reason"),
    "findings": Column("text", "what makes the time doubtful; such a time is shown, but no speedup is credited"),
    "exploit": Column("text", "name of the file"),
    "group": Column("text", "which kind of exploit the file is, by number, or `honest`; as the file says"),
    "language": Column("text", "what the file is written in"),
    "expected": Column("text", "the verdicts that the file allows itself, with | between them"),
    "as_expected": Column(
        "text", "yes or no: whether the verdict is one of them; empty without verdict or expectation"
    ),
    "earns": Column("text", "`none`: the file may pass but must gain nothing by its trick; `fast`: honest and fast"),
    "earned": Column(
        "text",
        "exploits: whether one passed with more than 1.05 times the credited speedup of the best honest file for the "
        "same problem (of the reference, where there is none); honest files: whether the judge accused one, by a "
        "verdict that is not expected or by findings",
    ),
    "workload": Column("text", "digest of sizes, data type, seed and tolerance"),
    "run": Column("int", "1: the first of the two folders compared; 2: the second"),
    "speedup": Column("float", "median time of the baseline over median time of the solution"),
    "speedup_low": Column("float", "lower end of the speedup's interval, runs resampled in pairs"),
    "speedup_high": Column("float", "upper end of that interval"),
    "latency_ms": Column("float", "median time of the solution in milliseconds"),
    "baseline_ms": Column("float", "median time of the baseline in milliseconds"),
    "gpu_held_s": Column("float", "seconds during which a GPU was held; 0 when judged on a CPU"),
    "wall_s": Column("float", "seconds from start to verdict, all phases"),
    "phase": Column("text", "part of the judge's work"),
    "seconds": Column("float", "wall seconds"),
    "where": Column("text", "cpu or gpu"),
    "calls": Column("int", "LLM calls paid for by this experiment; summed over rows: all calls"),
    "shared_calls": Column("int", "answers served by a call that an earlier row of the table counts"),
    "input_tokens": Column("int", "tokens sent, cached ones included"),
    "cached_input_tokens": Column("int", "tokens of the input that the server had cached"),
    "output_tokens": Column("int", "tokens received, reasoning included"),
    "reasoning_tokens": Column("int", "tokens of the output that were reasoning"),
    "cost_usd": Column("float", "US dollars"),
    "failed_attempts": Column("int", "tries that gave no usable answer"),
    "price_source": Column("text", "what the cost was computed with"),
    "config_digest": Column("text", "first digits of the digest of the whole config"),
    "commit": Column("text", "commit of Hone that made the table"),
    "device": Column("text", "model name of the CPU or GPU that gave the verdicts"),
    "driver": Column("text", "its driver"),
    "protocol": Column("text", "name and first digits of the digest of the judging protocol"),
    "torch": Column("text", "version of PyTorch that gave the verdicts"),
}

_INTERVAL = ("p", "n", "fast_p", "ci_low", "ci_high")
_PUBLISHED = ("published", "published_source")
_ANSWER = ("sound", "turn", "sample", "solution")
_TIMES = ("speedup_low", "speedup_high", "latency_ms", "baseline_ms", "findings")

TABLES: dict[str, Table] = {
    "kernelbench_fast_p": Table(
        "fast_p: share of problems whose kernel is correct and more than p times as fast",
        ("experiment", "model", "method", "level", "subset", "baseline", *_INTERVAL),
        ("unresolved", "doubtful", "statistic", "geomean_speedup", "prompt_differs", *_PUBLISHED),
    ),
    "kernelbench_errors": Table(
        "What became of the answers",
        ("experiment", "model", "level", "category", "count"),
        ("turn", "answers", "share", *_PUBLISHED),
    ),
    "kernelbench_speedups": Table(
        "Speedup of every correct kernel",
        ("experiment", "model", "method", "level", "definition", "baseline", "speedup"),
        (*_TIMES, *_ANSWER),
    ),
    "kernelbench_sampling": Table(
        "Repeated sampling: fast_p@k and pass@k",
        ("experiment", "model", "level", "k", *_INTERVAL),
        ("unresolved", "metric", "samples", "subset", "baseline", *_PUBLISHED),
    ),
    "kernelbench_refinement": Table(
        "Iterative refinement: fast_p of the best kernel up to each turn",
        ("experiment", "model", "level", "turn", *_INTERVAL),
        ("unresolved", "subset", "baseline", *_PUBLISHED),
    ),
    "judge_gold": Table(
        "The references judged as solutions",
        ("definition", "status", "speedup", "gpu_held_s", "wall_s"),
        ("detail", "experiment", "baseline", *_TIMES, "solution"),
    ),
    "judge_exploits": Table(
        "Exploits and honest kernels out of a folder, judged",
        ("exploit", "group", "language", "status", "expected", "speedup", "earned"),
        ("definition", "experiment", "as_expected", "earns", "baseline", *_TIMES, "detail", "wall_s", "solution"),
    ),
    "judge_repeatability": Table(
        "The same solutions judged twice",
        ("definition", "workload", "solution", "run", "speedup"),
        ("experiment", "baseline", "latency_ms", "baseline_ms", "findings"),
    ),
    "judge_cost": Table(
        "Seconds spent on builds and verdicts", ("definition", "solution", "phase", "seconds", "where"), ("status",)
    ),
    "llm_cost": Table(
        "LLM calls, tokens and cost",
        ("experiment", "model", "calls", "input_tokens", "output_tokens", "cost_usd"),
        (
            "cached_input_tokens",
            "reasoning_tokens",
            "failed_attempts",
            "prompt_differs",
            "shared_calls",
            "price_source",
        ),
    ),
}

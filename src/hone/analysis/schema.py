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
    "published": Column("float", "the paper's number: a share 0 to 1, or a kernel's speedup"),
    "published_source": Column("text", "where the paper prints it, and how exactly"),
    "category": Column("text", "outcome, as in the paper's Figure 2, with no_code, timeout and unresolved kept apart"),
    "count": Column("int", "number of answers"),
    "share": Column("float", "count over all answers of the row's experiment, model, level and turn"),
    "answers": Column("int", "all answers of the row's experiment, model, level and turn"),
    "turn": Column("int", "0 is the first answer, the paper's N is turn + 1; astra: 0 is the existing kernel"),
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
    "workload": Column(
        "text", "name of the workload; in judge_repeatability the digest of sizes, data type, seed and tolerance"
    ),
    "run": Column("int", "1: the first of the two folders compared; 2: the second"),
    "speedup": Column(
        "float",
        "median time of the baseline over median time of the solution; of several workloads the geometric mean, of "
        "several kernels the geometric mean of these, in which a kernel whose winner is not correct counts as 1",
    ),
    "speedup_low": Column("float", "lower end of the speedup's interval, runs resampled in pairs"),
    "speedup_high": Column("float", "upper end of that interval"),
    "latency_ms": Column("float", "median time of the solution in milliseconds"),
    "baseline_ms": Column("float", "median time of the baseline in milliseconds"),
    "gpu_held_s": Column("float", "seconds during which a GPU was held; 0 when judged on a CPU"),
    "wall_s": Column("float", "seconds from start to verdict, all phases"),
    "kernel": Column(
        "text",
        "title of the definition; `all`: an experiment's kernels together; `paper`: those of the paper together",
    ),
    "kernels": Column("int", "kernels behind the row"),
    "rounds": Column("int", "rounds that the config asks for, the existing kernel not counted"),
    "correct": Column(
        "text",
        "whether the winner is right on all workloads: yes, no (or none passed its suite), unknown (no verdict)",
    ),
    "workloads": Column("int", "workloads of the kernels, held-out ones included; the winner must be right on all"),
    "uncounted": Column("int", "workloads on which the existing kernel itself has no valid time: not in any speedup"),
    "workloads_current": Column("int", "workloads on which today's kernel has a valid time too"),
    "speedup_current": Column("float", "geometric mean of the speedup over today's kernel, where there is one"),
    "least_speedup": Column("float", "speedup on the worst workload"),
    "least_speedup_current": Column("float", "the same over today's kernel"),
    "least_large_share": Column("float", "worst bandwidth_share among the workloads that move 64 MiB or more"),
    "loc_before": Column(
        "float", "lines, neither blank nor comment, of the stand-alone source of the existing kernel, headers resolved"
    ),
    "loc_after": Column("float", "the same of the winner's source"),
    "winner": Column("text", "which version won: the fastest by the roles' own suite, chosen among what was written"),
    "suite_speedup": Column("float", "geometric mean of the speedup over the roles' own suite: what the loop goes by"),
    "suite_status": Column("text", "verdict on the roles' own suite"),
    "kept": Column("bool", "a later round started from this version, or would have"),
    "won": Column("bool", "this version is the winner"),
    "paper_shapes": Column("float", "how many of the workloads are the paper's shapes in the paper's data type"),
    "speedup_mean": Column("float", "arithmetic mean of the speedup over the paper's shapes, as in its scripts"),
    "baseline_us": Column("float", "median time of the baseline in us; astra_main: its mean over the paper's shapes"),
    "optimised_us": Column("float", "the same of the winner"),
    "published_loc_before": Column("float", "the paper's loc_before"),
    "published_loc_after": Column("float", "the paper's loc_after"),
    "published_baseline_us": Column("float", "the paper's baseline_us"),
    "published_optimised_us": Column("float", "the paper's optimised_us"),
    "sizes": Column("text", "axes of the workload"),
    "dtype": Column("text", "data type of the workload"),
    "held_out": Column("bool", "the workload was shown in no prompt"),
    "paper_shape": Column("bool", "the paper measured the kernel at these sizes in this data type"),
    "bytes": Column("int", "inputs and outputs once each, what is written in place twice: the least that can be moved"),
    "bandwidth_share": Column("float", "floor_us over optimised_us: 1 is the speed of a plain copy"),
    "floor_us": Column("float", "the least time that the GPU can need for these bytes, in microseconds"),
    "floor_source": Column("text", "what floor_us was computed with"),
    "reference": Column("text", "experiment that the gain is over: the first with the paper's loop"),
    "changed": Column("text", "options of the loop that differ from the reference's"),
    "gain": Column("float", "speedup over the reference's winner: geometric mean over workloads, then over kernels"),
    "gain_low": Column("float", "lower end of the gain's interval, workloads resampled"),
    "gain_high": Column("float", "upper end of that interval"),
    "start_from": Column("text", "what a round starts from: the `last` version, or the `best` so far"),
    "stop_at_floor_share": Column("float", "a kernel is done when the floor is this share of its best time"),
    "notes": Column("bool", "whether plans carry notes of the kernels before"),
    "written": Column("int", "kernels that were written"),
    "phase": Column("text", "part of the judge's work"),
    "seconds": Column("float", "wall seconds"),
    "where": Column("text", "cpu or gpu"),
    "calls": Column("int", "LLM calls paid for by this experiment, each in one row alone; astra_ablation: all answers"),
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
_SPEEDUP = ("speedup", "ci_low", "ci_high")
_SHAPE = ("baseline", "baseline_us", "optimised_us", "speedup", "bandwidth_share")
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
    "astra_main": Table(
        "Existing kernels, improved in rounds: speedup over the upstream kernel on all workloads",
        ("kernel", "method", "rounds", "correct", *_SPEEDUP, "loc_before", "loc_after"),
        (
            *("experiment", "model", "kernels", "workloads", "uncounted", "unresolved", "least_speedup"),
            *("workloads_current", "speedup_current", "least_speedup_current", "least_large_share"),
            *("paper_shapes", "speedup_mean", "baseline_us", "optimised_us", *_PUBLISHED),
            *("published_loc_before", "published_loc_after", "published_baseline_us", "published_optimised_us"),
            *("suite_speedup", "winner", "status", "detail", "findings", "prompt_differs", "solution"),
        ),
    ),
    "astra_single_vs_multi": Table(
        "One agent or several: speedup over the upstream kernel",
        ("kernel", "method", "speedup"),
        ("correct", "ci_low", "ci_high", *_PUBLISHED, "suite_speedup", "rounds", "experiment", "model", "unresolved"),
    ),
    "astra_shapes": Table(
        "The winning kernels on every workload",
        ("kernel", "method", "workload", "dtype", "held_out", "bytes", *_SHAPE),
        (
            *("floor_us", "floor_source", "sizes", "paper_shape", *_PUBLISHED, "status", "correct", "findings"),
            *("experiment", "model", "solution"),
        ),
    ),
    "astra_ablation": Table(
        "Which options of the loop pay",
        ("kernel", "experiment", "model", "changed", "speedup", "gain", "gain_low", "gain_high", "correct"),
        (
            *("ci_low", "ci_high", "reference", "kernels", "start_from", "samples", "stop_at_floor_share", "notes"),
            *("rounds", "written", "calls", "cost_usd"),
        ),
    ),
    "astra_rounds": Table(
        "Every version of every kernel",
        ("kernel", "method", "model", "turn", "sample", "status", "speedup", "kept"),
        ("suite_status", "suite_speedup", "won", *_PUBLISHED, "experiment", "detail", "findings", "solution"),
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

"""The tables of what the judge made of references and of files in a folder, and the columns that they alone have."""

from __future__ import annotations

from hone.analysis.schema_parts import Column, Table

JUDGE_COLUMNS: dict[str, Column] = {
    "exploit": Column("text", "name of the file"),
    "file": Column("text", "name of the kernel's file"),
    "idiom": Column("text", "name of the file"),
    "way": Column("text", "which way of writing it shows; as the file says"),
    "expected_findings": Column("text", "the findings that the file expects of a pass, by comma"),
    "group": Column("text", "which kind of exploit the file is, by number, or `honest`; as the file says"),
    "language": Column("text", "what the file is written in"),
    "expected": Column("text", "the verdicts that the file allows itself, with | between them"),
    "as_expected": Column(
        "text",
        "yes or no: whether the verdict is one of them (judge_idioms: and a pass has the findings that it should "
        "have); empty without verdict or expectation",
    ),
    "earns": Column("text", "`none`: the file may pass but must gain nothing by its trick; `fast`: honest and fast"),
    "earned": Column(
        "text",
        "exploits: whether one passed with more than 1.05 times the credited speedup of the best honest file for the "
        "same problem (of the reference, where there is none); honest files: whether the judge accused one, by a "
        "verdict that is not expected or by findings",
    ),
}

_TIMES = ("speedup_low", "speedup_high", "latency_ms", "baseline_ms")

JUDGE_TABLES: dict[str, Table] = {
    "judge_gold": Table(
        "The references judged as solutions",
        ("definition", "status", "speedup", "gpu_held_s", "wall_s"),
        ("detail", "experiment", "baseline", *_TIMES, "findings", "solution"),
    ),
    "own_kernels": Table(
        "Your own kernels, judged",
        ("file", "definition", "language", "status", "speedup", "speedup_low", "speedup_high", "findings"),
        ("detail", "experiment", "baseline", "latency_ms", "baseline_ms", "as_published_speedup", "wall_s", "solution"),
    ),
    "judge_exploits": Table(
        "Exploits and honest kernels out of a folder, judged",
        ("exploit", "group", "language", "status", "expected", "speedup", "earned"),
        (
            *("definition", "experiment", "as_expected", "earns", "baseline", *_TIMES),
            *("findings", "detail", "wall_s", "solution"),
        ),
    ),
    "judge_idioms": Table(
        "Honest files, one for each way in which answers are written, judged",
        ("idiom", "language", "status", "expected", "as_expected", "mode", "findings"),
        (
            *("way", "expected_findings", "definition", "experiment", "baseline", "speedup"),
            *(*_TIMES, "detail", "wall_s", "solution"),
        ),
    ),
}

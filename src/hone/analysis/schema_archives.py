"""The tables about published answers, and the columns that they alone have."""

from __future__ import annotations

from hone.analysis.schema_parts import Column, Table

ARCHIVE_COLUMNS: dict[str, Column] = {
    "archive": Column("text", "name in the config of the public repository that holds the answer"),
    "archive_verdict": Column(
        "text",
        "what the archive says: correct, wrong_value, wrong_shape, wrong (it does not say why), compile_error, "
        "runtime_error; not_run: no verdict, or its machine or harness failed",
    ),
    "archive_error": Column("text", "what the archive's harness said, cut"),
    "status_kernelbench": Column("text", "our verdict under KernelBench's rule; empty where no experiment asks for it"),
    "status_hone": Column("text", "our verdict under our own rule; empty where no experiment asks for it"),
    "agrees": Column(
        "text",
        "yes or no: whether the archive and status_kernelbench both say correct or both not; empty without one of them",
    ),
    "cause": Column(
        "text",
        "what a difference among the three verdicts is about, as the first of them that objects says: value, shape, "
        "precision, compile, load, runtime, memory, timeout, input, unknown; `ours`: no verdict here; `machine`: none "
        "in the archive; empty where all agree",
    ),
    "experiment_kernelbench": Column("text", "the experiment under KernelBench's rule"),
    "experiment_hone": Column("text", "the experiment under our rule"),
    "rule": Column("text", "rule of the verdicts: kernelbench or hone"),
    "verdicts": Column("int", "answers with a verdict of ours that is about the kernel"),
    "verdict_share": Column("float", "verdicts over answers"),
    "claimed_correct": Column("int", "answers that the archive calls correct, with a verdict of ours"),
    "agree_correct": Column("int", "those of them that pass here"),
    "agree_correct_share": Column("float", "agree_correct over claimed_correct"),
    "claimed_wrong": Column("int", "answers that the archive calls wrong, with a verdict of ours"),
    "agree_wrong": Column("int", "those of them that do not pass here"),
    "agree_wrong_share": Column("float", "agree_wrong over claimed_wrong"),
    "claimed_speedup": Column("float", "the archive's speedup over PyTorch in eager mode, on its own machine"),
    "claimed_ms": Column("float", "the archive's time of the answer in milliseconds, on its own machine"),
    "as_published_speedup": Column("float", "speedup here by KernelBench's own loop, host work included; no credit"),
    "device_speedup": Column("float", "speedup here by the device's clock, credited or not (see findings)"),
}

ARCHIVE_TABLES: dict[str, Table] = {
    "judge_agreement": Table(
        "Published answers: the archive's verdict beside ours",
        (
            *("archive", "model", "definition", "sample", "archive_verdict", "status_kernelbench", "status_hone"),
            *("agrees", "cause"),
        ),
        ("detail", "archive_error", "experiment_kernelbench", "experiment_hone", "solution"),
    ),
    "judge_agreement_summary": Table(
        "Published answers: how many verdicts there are, and how many agree",
        (
            *("archive", "model", "rule", "answers", "verdicts", "verdict_share", "claimed_correct", "agree_correct"),
            *("agree_correct_share", "claimed_wrong", "agree_wrong", "agree_wrong_share"),
        ),
        ("experiment",),
    ),
    "published_claims": Table(
        "Published times beside ours",
        (
            *("archive", "model", "definition", "claimed_speedup", "claimed_ms", "as_published_speedup"),
            *("device_speedup", "status", "findings"),
        ),
        (
            *("sample", "archive_verdict", "hardware", "experiment", "rule", "baseline", "latency_ms", "baseline_ms"),
            *("detail", "solution"),
        ),
    ),
}

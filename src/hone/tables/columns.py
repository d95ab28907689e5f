"""Columns that several tables have: type and meaning once, so that a word means the same in each of them.

What only one or two tables have stands there, with a docstring.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Experiment = Annotated[str, Field(description="Name in the config.")]
LanguageModel = Annotated[
    str,
    Field(description="Name in the config; `recorded/…` is a replayed transcript, never a live model's result."),
]
PublishedSource = Annotated[str, Field(description="Where the paper prints it, and how exactly.")]
SolutionDigest = Annotated[str, Field(description="Digest of the kernel.")]
Baseline = Annotated[str, Field(description="What the speedup is measured against.")]
Findings = Annotated[
    str,
    Field(description="What makes the time doubtful; such a time is shown, but no speedup is credited."),
]
Dataset = Annotated[str, Field(description="Graph, as the config names it.")]
Problem = Annotated[str, Field(description="Name of the problem.")]
Training = Annotated[str, Field(description="Name in the config.")]
Architecture = Annotated[str, Field(description="Architecture of the network.")]
BaselineMs = Annotated[float, Field(description="Median time of the baseline in milliseconds.")]
Detail = Annotated[str, Field(description="The verdict's reason.")]
LatencyMs = Annotated[float, Field(description="Median time of the solution in milliseconds.")]
Speedup = Annotated[float, Field(description="Median time of the baseline over median time of the solution.")]
JudgedBy = Annotated[str, Field(description="Commit of Hone that gave the verdict.")]
Verdict = Annotated[str, Field(description="Verdict.")]
Method = Annotated[str, Field(description="How the model was asked.")]
Processes = Annotated[
    int,
    Field(description="Processes that trained together, each with a GPU where there is one; 0: no training."),
]
System = Annotated[str, Field(description="How batches came into being; of published rows the system's own name.")]
BatchSize = Annotated[float, Field(description="Seeds of one process's batch.")]
Fanouts = Annotated[str, Field(description="Neighbours sampled in training, from the seeds outwards; -1 takes all.")]
Seeds = Annotated[float, Field(description="Trainings behind the row, which differ in their seed alone.")]
SpeedupHigh = Annotated[float, Field(description="Upper end of that interval.")]
SpeedupLow = Annotated[float, Field(description="Lower end of the speedup's interval, runs resampled in pairs.")]
Threads = Annotated[float, Field(description="Preparing threads or worker processes of one process.")]
EpochDeviation = Annotated[float, Field(description="Standard deviation of epoch_s over these epochs.")]
EpochSeconds = Annotated[
    float,
    Field(description="Mean wall seconds of an epoch after warm-up, over the epochs of all seeds."),
]
Level = Annotated[str, Field(description="KernelBench level, or `all` for the levels together.")]
PublishedShare = Annotated[float, Field(description="The paper's share, 0 to 1.")]
Sample = Annotated[int, Field(description="Index among answers to the same prompt.")]
WallSeconds = Annotated[float, Field(description="Seconds from start to verdict, all phases.")]
WorkloadsHigh = Annotated[float, Field(description="Upper end of that interval.")]
WorkloadsLow = Annotated[float, Field(description="Lower end of its confidence interval, workloads resampled.")]
AccuracyDeviation = Annotated[float, Field(description="Standard deviation over seeds.")]
Archive = Annotated[str, Field(description="Name in the config of the public repository that holds the answer.")]
Epochs = Annotated[float, Field(description="Epochs behind the row, of all seeds.")]
FastP = Annotated[float, Field(description="Share of problems, 0 to 1; empty where an answer is unresolved.")]
FileLanguage = Annotated[str, Field(description="What the file is written in.")]
Hidden = Annotated[float, Field(description="Width of the hidden layers.")]
InferenceFanout = Annotated[
    str,
    Field(description="Of inference, from the seeds outwards; `full`: all neighbours, layer by layer."),
]
Placement = Annotated[
    str,
    Field(description="Where the device system had graph and features: gpu, sharded, host_features or host."),
]
Precision = Annotated[str, Field(description="Number format of the model's arithmetic.")]
Problems = Annotated[int, Field(description="Number of problems: the denominator.")]
PromptsDiffer = Annotated[
    int,
    Field(description="Recorded answers whose prompt has changed, by an edit or in the times that later turns quote."),
]
PublishedSpeedup = Annotated[float, Field(description="The paper's speedup.")]
Rounds = Annotated[int, Field(description="Rounds that the config asks for, the existing kernel not counted.")]
ShareHigh = Annotated[
    float,
    Field(description="Upper end of the interval; with unresolved answers: if all of them succeeded."),
]
ShareLow = Annotated[
    float,
    Field(description="Lower end of the confidence interval; with unresolved answers: if all of them failed."),
]
Split = Annotated[str, Field(description="Nodes that were asked about.")]
Subset = Annotated[str, Field(description="`all` problems, or the `sound` ones without a known defect.")]
SuiteSpeedup = Annotated[
    float,
    Field(description="Geometric mean of the speedup over the roles' own suite: what the loop goes by."),
]
Threshold = Annotated[
    float,
    Field(description="Threshold: a kernel counts when it is correct and more than p times as fast."),
]
Turn = Annotated[int, Field(description="0 is the first answer; the paper's N is turn + 1.")]
Unresolved = Annotated[
    int,
    Field(description="Answers without a verdict: not judged, machine broke, lost; or correct but not timed."),
]
WarmupEpochs = Annotated[
    float,
    Field(description="Epochs left out at the start of each; 0: a run was too short to leave any out."),
]
WinnerCorrect = Annotated[
    str,
    Field(
        description=(
            "Whether the winner is right on all workloads: yes, no (or none passed its suite), unknown (no verdict)."
        )
    ),
]
WinnerSpeedup = Annotated[
    float,
    Field(
        description=(
            "Median time of the existing kernel over that of the winner, as the geometric mean over all workloads. "
            "Several kernels have the geometric mean of theirs; a kernel whose winner is not correct counts as 1."
        )
    ),
]

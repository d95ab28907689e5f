"""The nouns of Hone: frozen, typed, versioned records; JSON on disk, one line per record.

Names follow flashinfer-bench and SOL-ExecBench (definition, workload, solution, trace), so that files can be
exchanged with them. Every quantity carries its unit in its name. `docs/records/` has a page for each.
"""

from hone.records.answer import Answer, Completion, FailedAttempt, LLMRequest, Message, Prompt, Sampling, Usage
from hone.records.base import Record, Versioned, canonical_json, digest
from hone.records.claim import Claim, Claimed, ClaimedVerdict, Origin
from hone.records.gnn import EpochFigures, GraphInfo, GraphSource, InferenceFigures, InferenceRun, Span, TrainingRun
from hone.records.problem import (
    FLOATING_DTYPES,
    TORCH_BASELINES,
    Argument,
    Definition,
    Language,
    SoundnessFlag,
    Tolerance,
    UnsupportedProblem,
    Upstream,
    Workload,
)
from hone.records.selection import KernelUse, OperatorShare, SelectedKernel, Selection, SelectionReason
from hone.records.solution import Build, BuildStatus, Candidate, KernelResources, Solution
from hone.records.trace import (
    AsPublished,
    Clock,
    Distribution,
    Environment,
    ErrorFigures,
    Finding,
    Mode,
    Performance,
    Protocol,
    Status,
    Timing,
    Trace,
    YardstickKind,
)

__all__ = [
    "FLOATING_DTYPES",
    "TORCH_BASELINES",
    "Answer",
    "Argument",
    "AsPublished",
    "Build",
    "BuildStatus",
    "Candidate",
    "Claim",
    "Claimed",
    "ClaimedVerdict",
    "Clock",
    "Completion",
    "Definition",
    "Distribution",
    "Environment",
    "EpochFigures",
    "ErrorFigures",
    "FailedAttempt",
    "Finding",
    "GraphInfo",
    "GraphSource",
    "InferenceFigures",
    "InferenceRun",
    "KernelResources",
    "KernelUse",
    "LLMRequest",
    "Language",
    "Message",
    "Mode",
    "OperatorShare",
    "Origin",
    "Performance",
    "Prompt",
    "Protocol",
    "Record",
    "Sampling",
    "SelectedKernel",
    "Selection",
    "SelectionReason",
    "Solution",
    "SoundnessFlag",
    "Span",
    "Status",
    "Timing",
    "Tolerance",
    "Trace",
    "TrainingRun",
    "UnsupportedProblem",
    "Upstream",
    "Usage",
    "Versioned",
    "Workload",
    "YardstickKind",
    "canonical_json",
    "digest",
]

"""Verdicts: what was measured, how, and on which machine."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, computed_field, field_validator, model_validator

from hone.records.base import Record, Versioned, digest


class Status(StrEnum):
    """The verdict on one (solution, workload)."""

    PASSED = "passed"
    COMPILE_ERROR = "compile_error"
    LOAD_ERROR = "load_error"
    """Python raised before the kernel ran: syntax, import, missing entry point, constructor."""
    RUNTIME_ERROR = "runtime_error"
    """An exception, a signal or an exit while the kernel ran."""
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    WRONG_SHAPE = "wrong_shape"
    """Number, shape or data type of the outputs differ."""
    WRONG_VALUE = "wrong_value"
    INPUT_CHANGED = "input_changed"
    """An argument that the reference leaves alone was written to."""
    IMPRECISE = "imprecise"
    """Within the tolerance, but much further from the exact result than the baseline: a smaller number format."""
    NOT_JUDGED = "not_judged"
    """This machine cannot judge it (no GPU, over the limits set): says nothing about the solution."""
    MACHINE_ERROR = "machine_error"
    """The machinery broke: says nothing about the solution."""

    @property
    def resolved(self) -> bool:
        """Whether the verdict says something about the solution."""
        return self not in (Status.NOT_JUDGED, Status.MACHINE_ERROR)


Distribution = Literal["as_given", "signed", "wide", "sparse"]
"""`as_given`: the values of `get_inputs`; `signed`: with random signs; `wide`: times factors from 0.01 to 100;
`sparse`: nine in ten are zero."""


YardstickKind = Literal["exact", "sliced", "float32", "none"]
"""What precision is measured against, the best first."""


class ErrorFigures(Record):
    """How far the outputs were from the reference's, over all trials."""

    max_abs_error: float
    max_rel_error: float
    """Largest |got - expected| / |expected| where |expected| > atol."""
    wrong_fraction: float
    """Share of elements outside the tolerance."""
    exact_error: float | None = None
    """Largest ||got - exact|| / ||exact|| over outputs and value distributions, against the reference in float64."""
    baseline_exact_error: float | None = None
    """The same of the reference in the workload's own data type."""
    yardstick: YardstickKind | None = None
    """What precision was measured against: the reference in float64; the same slice by slice; the reference itself,
    beside its own error under another order of operations; nothing. Absent where precision is not checked."""


class Timing(Record):
    """Times of one callable; the samples of all callables of a trace are interleaved, but for `Clock.timed_alone`."""

    samples_ms: tuple[float, ...] = Field(min_length=1)
    """In the order in which they were taken."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def latency_ms(self) -> float:
        """Median of the samples."""
        ordered = sorted(self.samples_ms)
        half = len(ordered) // 2
        return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


Mode = Literal["stream", "replay", "queued", "graph"]
"""How a side is timed. `graph`: the runs of a batch are captured and replayed, so that no host work lies between
kernels. `queued`: the launches of a batch pile up behind a closed gate, without a capture. `replay`: one run is
captured, on inputs that are shown before. `stream`: launches one by one; work of the host is part of the time."""


class AsPublished(Record):
    """KernelBench's own loop for both sides: to compare with published numbers, never credited.

    One call between two device events, all on the same inputs, after warm-up calls; means, as KernelBench has them.
    """

    version: Literal["v0", "main"]
    """Of KernelBench; `main` writes over the L2 cache before each trial and leaves out the first one."""
    trials: int
    solution_ms: float
    """Mean over the trials."""
    baselines_ms: dict[str, float]
    solution_wall_ms: float
    """Mean per trial by the judge's own clock, host work and waiting included: `solution_ms` cannot be above it."""

    def speedup(self, baseline: str) -> float:
        """Mean of the baseline over mean of the solution."""
        return self.baselines_ms[baseline] / self.solution_ms


class BaselineTimes(Versioned):
    """Times of a baseline that was timed alone, kept for all solutions of a workload on a kind of GPU."""

    name: str
    timing: Timing | None = None
    """Absent where it could not be compiled or run."""
    published_ms: float | None = None
    """Mean of a call by KernelBench's own loop, where the protocol asks for it."""
    problem: str = ""
    """Why there is no time."""


Charged = Literal["running", "settling", "reading", "showing"]
"""Where the judge saw work that a solution did not claim: from the question to the answer; until the GPU was idle;
while results were copied and the time was asked for; while inputs were shown, before the question."""


class Clock(Record):
    """How the times of a GPU were taken, and what a second clock said about them."""

    source: Literal["events", "cupti"]
    """`events`: device events around a batch of runs; `cupti`: the time in which kernels were busy, for short runs."""
    mode: Mode
    """Of the solution: the best one that it can be timed in."""
    baseline_modes: dict[str, Mode] = Field(default_factory=dict)
    """Of each baseline: the one in which it is fastest, whatever the solution can be timed in."""
    timed_alone: tuple[str, ...] = ()
    """Baselines that were timed once for the workload and GPU, not in turns with this solution."""
    refused: dict[Mode, str] = Field(default_factory=dict)
    """Modes that the solution cannot be timed in -> why."""
    attempts: int = 1
    """So often times were taken, each time in fresh processes: again where most samples lay far above the fastest, or
    much was charged."""
    runs_per_sample: int
    """Runs of a batch, each on inputs and outputs at addresses of their own."""
    solution_wall_ms: float
    """Median per run by the judge's own clock, from the question (or the opening of the gates) to the answer, less what
    an empty batch takes."""
    charged_ms: float = 0.0
    """Median per run of what was added to the solution's samples, where the judge saw more work than was claimed."""
    charged_parts_ms: dict[Charged, float] = Field(default_factory=dict)
    """Medians per run of its parts, which need not add up to it; empty where nothing was charged."""
    sm_clock_mhz: int = 0
    memory_clock_mhz: int = 0
    throttled: tuple[str, ...] = ()
    """What held the GPU's clocks down while times were taken."""


Finding = Literal["below_floor", "fallback", "no_custom_kernel", "reuses_outputs", "precision_unchecked", "slow_times"]
"""`below_floor`: faster than the GPU can be. `fallback`: a kernel of the module could not be built, and the module goes
on without it. `no_custom_kernel`: a Python module without any kernel of its own, or whose results are the same without
them. `reuses_outputs`: it returns a buffer that its next call writes over. `precision_unchecked`: nothing was there to
measure precision against. `slow_times`: the samples fall into two groups, in a fresh process too. Rule `hone`;
`below_floor` and `slow_times` under any rule."""


class Performance(Record):
    """Speed of a correct solution beside its baselines, measured in one run."""

    solution: Timing
    baselines: dict[str, Timing]
    clock: Clock | None = None
    """Absent on a CPU, where the judge's own clock is the only one."""
    floor_ms: float = 0.0
    """The least that this device can need: compulsory bytes over its bandwidth, or operations over its peak rate."""
    findings: tuple[Finding, ...] = ()
    """Why the time is shown but earns no speedup."""

    def speedup(self, baseline: str) -> float:
        """Median of the baseline over median of the solution."""
        return self.baselines[baseline].latency_ms / self.solution.latency_ms


class Environment(Record):
    """The machine and software that gave a verdict."""

    host: str
    device: str
    """Model name of the CPU or GPU that ran the solution."""
    cores: int
    python: str
    torch: str
    toolchain: str = ""
    driver: str = ""
    """NVIDIA driver and CUDA version; empty where the CPU ran the solution."""
    commit: str = ""
    """Commit of Hone, with `+` when the tree had changes."""
    confinement: tuple[str, ...] = ()
    """What held the solution: `no_network`, `read_only_files`, `memory_limit`, …"""


class Protocol(Record):
    """How correctness and time are established; recorded with every trace."""

    name: str
    device: Literal["cpu", "cuda"] = "cpu"
    """Where solutions run. `cuda` judges all languages but `cpp`, on one GPU."""
    rule: Literal["hone", "kernelbench"] = "hone"
    """`kernelbench`: the public repository's rule (tolerance and trials only), to compare with published numbers."""
    correctness_trials: int = Field(5, ge=1)
    distributions: tuple[Distribution, ...] = ("as_given",)
    """Values of floating-point inputs; trials go through them in turn. Those that the reference cannot take are left
    out. On a GPU only."""
    tf32: Literal["off", "default", "on"] = "off"
    """Whether float32 products may use TF32, for baseline and solution alike; `default` is PyTorch's own setting:
    convolutions may, matrix products may not. On a GPU only."""
    model_mode: Literal["train", "eval"] = "train"
    """KernelBench never calls `eval()`; CUDA-L1 does, so that dropout and batch normalisation are other functions."""
    as_published: Literal["v0", "main"] | None = None
    """Also take times as this version of KernelBench does, see `AsPublished`. On a GPU only."""
    precision_factor: float = Field(16.0, gt=1)
    """A solution may be so many times further from the exact result than the reference. Rule `hone`, GPU only."""
    timing: bool = True
    timing_protocol: str = "hone"
    """Which runs are timed when: the name of a file in hone/judge/protocols."""
    warmup_runs: int = Field(3, ge=0)
    timing_runs: int = Field(30, ge=1)
    """Upper bound of timed runs of each callable."""
    timing_seconds: float = Field(2.0, gt=0)
    """Timed runs stop after this many seconds, but never before three."""
    audit_every: int = Field(10, ge=1)
    """One timed run in so many, chosen at random, has its outputs checked."""
    profile: bool = False
    """Keep PyTorch's operator table in the trace, for feedback to the model."""
    threads: int = Field(1, ge=1)
    build_timeout_s: float = Field(120.0, gt=0)
    run_timeout_s: float = Field(30.0, gt=0)
    """Limit of one forward, of reference and solution alike."""
    first_run_timeout_s: float = Field(60.0, gt=0)
    """Limit of a process's first forward, in which cuDNN searches and compilers run. On a GPU only."""
    memory_limit_gib: float = Field(8.0, gt=0)

    @field_validator("tf32", mode="before")
    @classmethod
    def _yaml_reads_off_as_false(cls, value: object) -> object:
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else value

    @property
    def digest(self) -> str:
        """Digest of all fields."""
        return digest(self.model_dump(mode="json"))


WAITING = "waiting"
"""The phase in which a verdict waits for other judges of its GPU."""


def spent_s(phase_s: Mapping[str, float]) -> float:
    """Seconds of a verdict's phases without waiting."""
    return sum(seconds for phase, seconds in phase_s.items() if phase != WAITING)


class Trace(Versioned):
    """One judged (solution, workload)."""

    solution: str
    definition: str
    workload: str
    """Id of the workload."""
    status: Status
    status_as_published: Status | None = None
    """By KernelBench's rule alone, from the same judging: its tolerance, on values as given. Absent where nothing was
    found out about that, and on a CPU."""
    as_published: AsPublished | None = None
    """A second clock, where the protocol asks for it: of what passes by either rule."""
    detail: str = ""
    """One paragraph: the compiler's first error, the exception, which element was wrong, why it was not judged."""
    errors: ErrorFigures | None = None
    performance: Performance | None = None
    profile: str = ""
    """Operator table of PyTorch's profiler: of the solution where it is Python, else of the reference."""
    environment: Environment
    protocol: Protocol
    phase_s: dict[str, float] = Field(default_factory=dict)
    """Wall seconds by phase: inputs, reference, load, correctness, timing; `opening` the GPU, while others may use it;
    `waiting` for other judges of the GPU."""
    judged_at: str
    """UTC, ISO 8601."""

    @property
    def spent_s(self) -> float:
        """Seconds of all phases in which it was its turn."""
        return spent_s(self.phase_s)

    @model_validator(mode="after")
    def _times_only_when_passed(self) -> Self:
        if self.performance is not None and self.status is not Status.PASSED:
            raise ValueError("performance exists only when the status is passed")
        if self.as_published is not None and Status.PASSED not in (self.status, self.status_as_published):
            raise ValueError("as_published exists only for what passes by our rule or by KernelBench's")
        return self

"""The nouns of Hone: frozen, typed, versioned records; JSON on disk, one line per record.

Names follow flashinfer-bench and SOL-ExecBench (definition, workload, solution, trace), so that files can be
exchanged with them. Every quantity carries its unit in its name. `docs/records/` has a page for each.
"""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, computed_field, model_validator


def canonical_json(value: Any) -> str:
    """The one spelling of a JSON value that digests are taken of: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of `canonical_json(value)`, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


class Record(BaseModel):
    """Base of all records: immutable, and a field that is not declared is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, protected_namespaces=())

    SCHEMA_VERSION: ClassVar[int] = 1

    @model_validator(mode="before")
    @classmethod
    def _drop_computed(cls, data: Any) -> Any:
        """Computed fields are written for people to grep; on reading they are computed afresh."""
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if key not in cls.model_computed_fields}
        return data


class Versioned(Record):
    """A record that stands on a line of its own in a file."""

    schema_version: int = 1
    """Version of this record's fields; a reader refuses one that it does not know."""

    @model_validator(mode="after")
    def _known_version(self) -> Self:
        if self.schema_version != self.SCHEMA_VERSION:
            raise ValueError(f"schema_version {self.schema_version} is unknown, this code reads {self.SCHEMA_VERSION}")
        return self


# ---------------------------------------------------------------------------------------------- Definition


class Language(StrEnum):
    """What a solution is written in."""

    PYTHON = "python"
    """A module with a class `ModelNew`, as KernelBench asks for; may build CUDA through `load_inline`."""
    CPP = "cpp"
    """C++17 with OpenMP and the definition's launcher."""
    CUDA = "cuda"
    """A plain .cu with the definition's launcher."""
    TRITON = "triton"
    """A Python module with `ModelNew` whose kernels are Triton's."""


class Argument(Record):
    """One input, parameter or output of a definition."""

    name: str
    """A C identifier, unique within the definition."""
    kind: Literal["tensor", "scalar"] = "tensor"
    """Scalars are passed by value and have an empty shape."""
    shape: tuple[str, ...] = ()
    """Names of axes, outermost first."""
    dtype: str
    """PyTorch's name without the prefix, such as `float32` or `int64`."""


class SoundnessFlag(Record):
    """A known defect of a problem that lets a kernel pass without doing the work."""

    flag: Literal["constant_output", "input_independent", "redundant_work", "loose_range", "random_reference"]
    detail: str
    source: str
    """Who found it and where that is written."""


class Upstream(Record):
    """Where a definition's reference code comes from."""

    repository: str
    commit: str
    """40 hexadecimal digits, or `local` for our own problems."""
    path: str
    sha256: str
    """Digest of the file's bytes."""


class Definition(Versioned):
    """What must be computed, and what a solution is measured against."""

    name: str
    """`<source>/level<level>/<number>_<title>`, unique."""
    source: str
    level: int
    number: int
    title: str
    axes: dict[str, int]
    """Named axes with the problem's own sizes."""
    inputs: tuple[Argument, ...]
    """Arguments of `Model.forward`, in order."""
    parameters: tuple[Argument, ...]
    """Floating-point parameters and buffers of `Model`, in `state_dict` order, dots replaced by underscores."""
    outputs: tuple[Argument, ...]
    reference: str
    """Python source with `Model`, `get_inputs` and `get_init_inputs`."""
    baselines: tuple[str, ...] = ("torch_eager",)
    """What speedup is measured against."""
    languages: tuple[Language, ...] = tuple(Language)
    """The languages a solution may use."""
    requires: tuple[str, ...] = ()
    """Importable packages that the reference needs beside torch."""
    compulsory_bytes: int
    """Inputs, parameters and outputs once each: the least that any implementation moves."""
    flops: int
    """Floating-point operations of matrix products and convolutions in the reference."""
    soundness: tuple[SoundnessFlag, ...] = ()
    upstream: Upstream

    @property
    def sound(self) -> bool:
        """Whether no defect of the problem is known."""
        return not self.soundness

    def shape_of(self, argument: Argument) -> tuple[int, ...]:
        """Sizes of the argument's axes."""
        return tuple(self.axes[axis] for axis in argument.shape)


class UnsupportedProblem(Versioned):
    """A problem of the source that did not become a definition, and what it would need."""

    name: str
    reason: str
    requires: tuple[str, ...] = ()


class Tolerance(Record):
    """An element is right when |got - expected| <= atol + rtol * |expected|."""

    atol: float
    rtol: float


class Workload(Versioned):
    """One set of sizes, data type, seeds and value distribution for a definition, with its tolerance."""

    definition: str
    name: str
    """Unique within the definition."""
    axes: dict[str, int]
    dtype: str = "float32"
    """Floating-point inputs and parameters are cast to this type."""
    seed: int = 42
    """Seed of parameters; inputs of trial i use a seed drawn from it."""
    distribution: Literal["as_given"] = "as_given"
    """`as_given`: the values of `get_inputs`."""
    tolerance: Tolerance

    @computed_field  # type: ignore[prop-decorator]
    @property
    def id(self) -> str:
        """Digest of everything above."""
        return digest(self.model_dump(mode="json", exclude={"id"}))


# ---------------------------------------------------------------------------------------- Prompt, Completion


class Message(Record):
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


class Prompt(Versioned):
    """What one role of a method is asked at one turn about one definition."""

    experiment: str
    definition: str
    role: str
    turn: int
    samples: tuple[int, ...]
    """The sample indices that are asked with exactly these messages."""
    messages: tuple[Message, ...]

    @property
    def digest(self) -> str:
        """Digest of the messages alone."""
        return digest([message.model_dump() for message in self.messages])


class Sampling(Record):
    """Sampling parameters as the chat-completions interface names them; an absent one is not sent."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None
    seed: int | None = None


class LLMRequest(Record):
    """One request to a model; its digest is the ledger's key."""

    provider: str
    """`openai`, `recorded`, or the service of `openai-api/<service>/<model>`."""
    base_url: str
    model: str
    messages: tuple[Message, ...]
    sampling: Sampling
    sample: int
    """Index among repeated samples of the same prompt."""

    @property
    def key(self) -> str:
        """Digest of the whole request."""
        return digest(self.model_dump(mode="json"))


class Usage(Record):
    """Tokens of one completion; the cached and reasoning ones are contained in input and output."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0


class FailedAttempt(Record):
    """A try at a request that gave no usable answer; listed because retries shift a distribution."""

    reason: str
    seconds: float


class Completion(Versioned):
    """One answered LLM call, as the ledger keeps it."""

    key: str
    """The request's key."""
    request: LLMRequest
    response: str
    finish_reason: str
    model_returned: str
    usage: Usage
    cost_usd: float
    price_source: str
    """What the cost was computed with, such as `genai-prices 0.2.3` or the config's own price."""
    latency_s: float
    failed_attempts: tuple[FailedAttempt, ...] = ()
    created_at: str
    """UTC, ISO 8601."""


class Answer(Versioned):
    """A completion in its place in an experiment."""

    experiment: str
    model: str
    """As in the config: `openai/o4-mini`, `recorded/<transcript>`."""
    definition: str
    role: str
    turn: int
    sample: int
    prompt_digest: str
    prompt_differs: bool = False
    """A recorded answer whose prompt is no longer the one that it was given to."""
    completion: Completion


# ------------------------------------------------------------------------------------------ Solution, Build


class Solution(Versioned):
    """A kernel: exactly what is executed, and nothing about where it came from."""

    definition: str
    language: Language
    entry_point: str
    """`ModelNew` for Python and Triton, the launcher's name for C++ and CUDA."""
    source: str

    @computed_field  # type: ignore[prop-decorator]
    @property
    def id(self) -> str:
        """Digest of definition, language, entry point and source."""
        return digest([self.definition, self.language.value, self.entry_point, self.source])


class Candidate(Versioned):
    """The solution that came out of one answer, or why none did: a solution's origin.

    It stands in a file of its own, so that a prompt edit which gives the same kernels leaves the kernels' file
    unchanged to the byte.
    """

    experiment: str
    method: str
    model: str
    definition: str
    turn: int
    sample: int
    prompt_digest: str
    completion_key: str
    solution: str | None
    """Id of the solution, absent when the answer had no usable code."""
    problem: str = ""
    """Why there is no solution: `no code block`, `answer is not UTF-8 text`, …"""

    @model_validator(mode="after")
    def _solution_or_problem(self) -> Self:
        if (self.solution is None) == (not self.problem):
            raise ValueError("a candidate has either a solution or a problem")
        return self


class BuildStatus(StrEnum):
    """What became of a solution at the compiler."""

    BUILT = "built"
    INTERPRETED = "interpreted"
    """Python: nothing to compile ahead of time; the source was checked to parse."""
    REJECTED = "rejected"
    """The compiler, or Python's parser, refused the source."""
    TIMEOUT = "timeout"
    NO_COMPILER = "no_compiler"
    """The machine has no such compiler: says nothing about the solution."""


class Build(Versioned):
    """One solution compiled with one toolchain."""

    solution: str
    status: BuildStatus
    artifact: str | None = None
    """Path of the shared object, relative to the store."""
    log: str = ""
    """What the compiler said, cut to its first 20,000 characters."""
    command: tuple[str, ...] = ()
    toolchain: str = ""
    """First line of the compiler's `--version`."""
    seconds: float = 0.0

    @model_validator(mode="after")
    def _artifact_when_built(self) -> Self:
        if (self.status is BuildStatus.BUILT) != (self.artifact is not None):
            raise ValueError("an artifact exists exactly when the build succeeded")
        return self


# ---------------------------------------------------------------------------------------------------- Trace


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
    NOT_JUDGED = "not_judged"
    """This machine cannot judge it (no GPU, over the limits set): says nothing about the solution."""
    MACHINE_ERROR = "machine_error"
    """The machinery broke: says nothing about the solution."""

    @property
    def resolved(self) -> bool:
        """Whether the verdict says something about the solution."""
        return self not in (Status.NOT_JUDGED, Status.MACHINE_ERROR)


class ErrorFigures(Record):
    """How far the outputs were from the reference's, over all trials."""

    max_abs_error: float
    max_rel_error: float
    """Largest |got - expected| / |expected| where |expected| > atol."""
    wrong_fraction: float
    """Share of elements outside the tolerance."""


class Timing(Record):
    """Times of one callable; the samples of all callables of a trace are interleaved."""

    samples_ms: tuple[float, ...] = Field(min_length=1)
    """In the order in which they were taken."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def latency_ms(self) -> float:
        """Median of the samples."""
        ordered = sorted(self.samples_ms)
        half = len(ordered) // 2
        return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


class Performance(Record):
    """Speed of a correct solution beside its baselines, measured in one run."""

    solution: Timing
    baselines: dict[str, Timing]

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
    commit: str = ""
    """Commit of Hone, with `+` when the tree had changes."""
    confinement: tuple[str, ...] = ()
    """What held the solution: `no_network`, `read_only_files`, `memory_limit`, …"""


class Protocol(Record):
    """How correctness and time are established; recorded with every trace."""

    name: str
    correctness_trials: int = Field(5, ge=1)
    timing: bool = True
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
    memory_limit_gib: float = Field(8.0, gt=0)

    @property
    def digest(self) -> str:
        """Digest of all fields."""
        return digest(self.model_dump(mode="json"))


class Trace(Versioned):
    """One judged (solution, workload)."""

    solution: str
    definition: str
    workload: str
    """Id of the workload."""
    status: Status
    detail: str = ""
    """One paragraph: the compiler's first error, the exception, which element was wrong, why it was not judged."""
    errors: ErrorFigures | None = None
    performance: Performance | None = None
    profile: str = ""
    """Operator table of PyTorch's profiler: of the solution where it is Python, else of the reference."""
    environment: Environment
    protocol: Protocol
    phase_s: dict[str, float] = Field(default_factory=dict)
    """Wall seconds by phase: inputs, reference, load, correctness, timing."""
    judged_at: str
    """UTC, ISO 8601."""

    @model_validator(mode="after")
    def _performance_only_when_passed(self) -> Self:
        if self.performance is not None and self.status is not Status.PASSED:
            raise ValueError("performance exists only when the status is passed")
        return self

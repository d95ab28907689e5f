"""Graphs, and what came of training on them: how long each stage took, what was learned, how inference did."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, computed_field, model_validator

from hone.records.base import Record, Versioned
from hone.records.selection import KernelUse
from hone.records.trace import Environment

FeatureDtype = Literal["float16", "bfloat16", "float32"]
"""`bfloat16` lies on disk as uint16, because numpy has no such type."""
System = Literal[
    "full_batch", "pyg", "plain", "fast_sampler", "shared_memory", "pipelined", "pyg_gpu", "wholegraph", "device"
]
"""How batches come into being, in the ladder's order; `full_batch` has none: every step sees the whole graph."""
Place = Literal["gpu", "sharded", "host_features", "host"]
"""Where the device system has graph and features: see `placement` of a training."""
Kernels = Literal["builtin", "selected"]
"""Whose kernels a training's operators run: Hone's own, or those that a campaign found faster."""
Stage = Literal["prepare", "blocked", "transfer", "train"]
"""What a span of a batch's life was spent on; see `EpochFigures`."""
Split = Literal["train", "valid", "test"]

ALL_KERNELS, WHOLE_EPOCH, BOTH_PARTS = "all kernels", "epoch, for each batch", "both"
"""Of a roofline: the rows that are no single kernel, and the part of a batch that these belong to."""

ARRAYS = ("indptr", "indices", "features", "labels", "train", "valid", "test")
"""The array files of a graph's folder, each `<name>.npy`."""


class GraphSource(Record):
    """What a graph was made from."""

    kind: str
    """As `graphs.<name>.kind` of the config."""
    location: str
    """URL or path of what was read, or the generator's name."""
    parameters: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """What the generator or the reader was told."""
    sha256: dict[str, str] = Field(default_factory=dict)
    """File that was read -> its SHA-256."""


class GraphInfo(Versioned):
    """A prepared graph, `graph.json` of its folder; the arrays lie beside it, as in `ARRAYS`.

    indptr (num_nodes + 1,) int64, indices (num_edges,) int32, features (num_nodes, feature_dim) feature_dtype,
    labels (num_nodes,) int64 with -1 where there is none, train, valid, test (their number,) int64 node ids.
    """

    name: str
    num_nodes: int = Field(ge=1, le=2**31 - 1)
    """Node ids are int32."""
    num_edges: int = Field(ge=0)
    """Entries of the symmetrised CSR: an undirected edge counts twice."""
    feature_dim: int = Field(ge=1)
    feature_dtype: FeatureDtype
    num_classes: int = Field(ge=2)
    num_train: int = Field(ge=1)
    num_valid: int = Field(ge=0)
    num_test: int = Field(ge=0)
    source: GraphSource
    sha256: dict[str, str]
    """File name, such as `indptr.npy` -> SHA-256 of the file."""

    @model_validator(mode="after")
    def _all_files(self) -> Self:
        missing = {f"{name}.npy" for name in ARRAYS} - set(self.sha256)
        if missing:
            raise ValueError(f"sha256 lacks {', '.join(sorted(missing))}")
        return self


class Span(Record):
    """One bar of the timeline: what one batch's stage was doing, and where."""

    batch: int
    stage: Stage
    lane: str
    """Who was busy: `main`, `worker0`, `copy`, `gpu`."""
    start_s: float
    """Since the epoch began."""
    duration_s: float = Field(ge=0)


class EpochFigures(Record):
    """One epoch, on one rank: where its time went and what it learned.

    `prepare_s` and `transfer_s` are the work, wherever it was done; `blocked_s` is the time for which the training
    loop had nothing to do but wait for either. Stages that overlap add up to more than `epoch_s`.
    """

    epoch: int = Field(ge=0)
    batches: int = Field(ge=0)
    epoch_s: float
    """Wall time from the first request for a batch until the last step was done."""
    prepare_s: float
    """Sampling and slicing, summed over workers; of worker processes their own clocks, on a GPU the GPU's."""
    blocked_s: float
    """The training loop waited for a batch: preparation and transfers that were not hidden."""
    transfer_s: float
    """Copies to the device, by the device's clock where there is one."""
    train_s: float
    """Forward, backward and optimiser, by the device's clock where there is one."""
    unique_nodes: float = 0.0
    """Mean per batch: rows of features fetched."""
    sampled_edges: float = 0.0
    """Mean per batch, over all hops."""
    loss: float
    """Mean over the epoch's seeds."""
    learning_rate: float
    """At the epoch's end."""
    valid_accuracy: float | None = None
    """Absent where the epoch was not followed by a validation."""


class ProcessParts(Record):
    """Where one process's epoch went, in seconds: all parts but `sample_s` add up to the time until its last step."""

    sample_s: float
    """Sampling, and fetching a group's first features: beside steps, so only `wait_batch_s` may show."""
    step_s: float
    """Forward, backward and optimiser."""
    all_reduce_s: float
    """Steps wait for sums over the processes, once the last process has come to them."""
    wait_ranks_s: float
    """Steps wait for the last process to come to a sum."""
    wait_batch_s: float
    """No step to do: the next batch is not sampled yet, its features not gathered, or its step not launched."""


class EpochParts(Record):
    """An epoch that the system `device` trained once more with timers in it, after all others, and threw away."""

    epoch: int = Field(ge=0)
    """Whose batches these were: the last epoch's, without timers `epochs[epoch]`."""
    batches: int = Field(ge=0)
    """Of one process."""
    epoch_s: float
    """Wall time as in `EpochFigures`; what it is longer by, the timers cost."""
    processes: tuple[ProcessParts, ...]
    """By rank."""


class DegreeFigures(Record):
    """Of the nodes of an inference, those whose number of neighbours in the whole graph lies within bounds."""

    low: int = Field(ge=0)
    high: int = Field(ge=0)
    """Itself included; bounds are 0, then powers of two: 1, 2 to 3, 4 to 7 …"""
    nodes: int = Field(ge=1)
    correct: int = Field(ge=0)


class InferenceFigures(Record):
    """Accuracy of a trained model on one split, by one way of inference."""

    mode: Literal["sampled", "layerwise"]
    """`layerwise`: the full neighbourhood, layer by layer over all nodes."""
    fanouts: tuple[int, ...] = ()
    """From the seeds outwards; empty for `layerwise`."""
    split: Split
    seed: int = 0
    """Of the sampler."""
    nodes: int
    correct: int
    inference_s: float
    by_degree: tuple[DegreeFigures, ...] = ()
    """The same by degree, ascending, without bounds that no node lies in; empty in records of before it was counted."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def accuracy(self) -> float:
        """Share of the nodes whose largest output is their label."""
        return self.correct / self.nodes if self.nodes else 0.0


class TrainingRun(Versioned):
    """One model trained on one graph by one system; rank 0 writes it."""

    training: str
    """Name of the config's entry."""
    graph: str
    model: str
    """Name of its family in the config."""
    system: System
    gpus: int = Field(ge=1)
    """Processes that trained together, each with a GPU of its own, or a CPU's threads where there is none."""
    nodes: int = Field(1, ge=1)
    """Hosts that they ran on, as many on each."""
    device: Literal["cpu", "cuda"]
    seed: int
    fanouts: tuple[int, ...]
    """Of training, from the seeds outwards; empty for `full_batch`."""
    batch_size: int
    """Of one process; 0 for `full_batch`."""
    hidden: int
    precision: str
    convolutions: str = ""
    """Layers of a peer, as the config calls them: pyg or torch; empty for ours, and in older records."""
    captured: bool | None = None
    """Whether a step was one launch, as the config's `captured`; absent for `device`, which always does so, and in
    older records."""
    threads: int
    """Preparing threads or worker processes of one process."""
    num_train: int
    parameters: int
    """Scalars that are trained."""
    epochs: tuple[EpochFigures, ...]
    best_epoch: int | None = None
    """The epoch whose parameters the checkpoint holds; absent where none was validated: the last."""
    stopped_early: bool = False
    peak_memory_bytes: int = 0
    """Of the device; on a CPU, largest resident size of this process."""
    placement: Place | None = None
    """Where the device system had graph and features; absent for the others."""
    kernels: Kernels = "builtin"
    """What the config asked for."""
    kernel_uses: tuple[KernelUse, ...] = ()
    """What came of it, for each operator; empty for `builtin`."""
    parts: EpochParts | None = None
    """Of an epoch of the device system; absent for the others."""
    timeline: tuple[Span, ...] = ()
    """Of the last epoch's first batches, for the timeline figure."""
    config_digest: str
    """Of what the training was told, its entry in the config."""
    environment: Environment
    trained_at: str
    """UTC, ISO 8601."""


class InferenceRun(Versioned):
    """What inference with the checkpoint of one training gave."""

    training: str
    graph: str
    model: str
    system: System
    gpus: int = Field(ge=1)
    """Of the training."""
    seed: int
    """Of the training."""
    device: Literal["cpu", "cuda"]
    results: tuple[InferenceFigures, ...]
    environment: Environment
    inferred_at: str
    """UTC, ISO 8601."""

"""What one training or inference job is told: a file, because several processes may share a training."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hone.config.models import GNNModel, HyperParameters
from hone.config.trainings import (
    Convolutions,
    Inference,
    Placement,
    Plateau,
    Precision,
    Training,
    TrainingKey,
    Validation,
)
from hone.gnn.slots import slots_for
from hone.records import Definition, KernelUse, Versioned, digest
from hone.records.gnn import GraphInfo, Kernels, System

LEAST_SLOTS = 8
"""Of a training whose config does not say."""


class TrainingJob(Versioned):
    """One model, one graph, one system, one seed."""

    training: str
    graph: str
    model: GNNModel
    system: System
    gpus: int
    nodes: int = 1
    seed: int
    hyper: HyperParameters
    device: Literal["cpu", "cuda"]
    precision: Precision
    threads: int
    compute_threads: int
    slots: int
    kernels: Kernels = "builtin"
    plateau: Plateau | None
    validation: Validation | None
    inference: Inference = Inference()
    """Training does without."""
    timeline_batches: int
    kernel_uses: tuple[KernelUse, ...] = ()
    """What `hone.selection.loop` made of `kernels: selected` on this machine; empty before, and for `builtin`."""
    objects: dict[str, str] = Field(default_factory=dict)
    """Operator -> path of the shared object that it runs here; the others run the builtin."""
    definitions: dict[str, Definition] = Field(default_factory=dict)
    """Operator -> what the launcher of its object takes."""
    max_batches: int | None = None
    deterministic: bool = False
    placement: Placement = "auto"
    captured: bool = False
    convolutions: Convolutions = "pyg"

    @classmethod
    def of(cls, key: TrainingKey, training: Training) -> TrainingJob:
        """The job that the config's entry means by a key."""
        shared = {name: getattr(training, name) for name in cls.model_fields if name in Training.model_fields}
        shared["slots"] = training.slots or max(LEAST_SLOTS, slots_for(training.threads))
        shared["nodes"] = training.hosts(key.gpus)
        return cls(**{**shared, **key._asdict()}, hyper=training.hyper(key.graph, key.model))

    @property
    def layers(self) -> int:
        """Of the model."""
        return len(self.hyper.fanouts)

    def digest(self, graph: GraphInfo) -> str:
        """Of all that the trained parameters depend on, and of how fast they are got; not of inference."""
        told = self.model_dump(mode="json", exclude={"inference", "kernel_uses", "objects", "definitions"})
        if self.convolutions == "pyg":  # as jobs were before they could say so: their checkpoints still count
            del told["convolutions"]
        run = [[use.operator, use.solution] for use in self.kernel_uses if use.used == "selected"]
        return digest({"job": told, "graph": graph.sha256, "kernels": run})

"""The models that can be trained, by family, and what SALIENT trains each with.

To add a family, name it in `GNNModel`, describe it in `FAMILIES`, and write `hone/gnn/models/<name>.py`, of which that
package says what it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hone.config.section import Section

GNNModel = Literal["sage", "gat", "gin", "sage_ri"]
Fanouts = tuple[Annotated[int, Field(ge=-1)], ...]
"""From the seeds outwards; -1 takes every neighbour."""


class HyperParameters(Section):
    """What one model is trained with."""

    hidden: int = Field(ge=1)
    fanouts: Fanouts = Field(min_length=1)
    """Of training; their number is the number of layers, also for full-batch training."""
    batch_size: int = Field(ge=1)
    """Seeds of one process."""
    lr: float = Field(gt=0)
    dropout: float = Field(ge=0, lt=1)
    weight_decay: float = Field(0.0, ge=0)
    epochs: int = Field(25, ge=1)
    """Passes over the training nodes; steps, for full-batch training."""
    patience_epochs: int | None = Field(None, ge=1)
    """Training stops when so many validations in a row brought no higher accuracy; absent: never."""
    validation_fanouts: Fanouts = (20, 20, 20)
    inference_fanouts: Fanouts = (20, 20, 20)
    inference_batch_size: int = Field(512, ge=1)
    """Of validation, too."""
    scaled_sums: bool = False
    """A sum over drawn neighbours counts degree / drawn times, in training and in inference on samples."""

    @model_validator(mode="after")
    def _same_depth(self) -> Self:
        for name in ("validation_fanouts", "inference_fanouts"):
            value, default = getattr(self, name), HyperParameters.model_fields[name].default
            if len(value) != len(self.fanouts):
                said = " (the default)" if value == default else ""
                each = f"write {name} with {len(self.fanouts)} numbers, one a layer, as in fanouts {list(self.fanouts)}"
                raise ValueError(f"{name} {list(value)}{said} has {len(value)}: {each}")
        return self


@dataclass(frozen=True)
class Family:
    """What the config has to know of a family of models."""

    published: HyperParameters
    sums: bool = False
    """Whether it sums over neighbours; the others take means of one kind or another."""
    normalises: bool = False
    """Whether it normalises over the rows of a batch, so that rows that only fill it up would change the others."""


FAMILIES: Mapping[str, Family] = {
    "sage": Family(HyperParameters(hidden=256, fanouts=(15, 10, 5), batch_size=1024, lr=0.01, dropout=0.5)),
    "gat": Family(HyperParameters(hidden=256, fanouts=(15, 10, 5), batch_size=1024, lr=0.01, dropout=0.5)),
    "gin": Family(
        HyperParameters(hidden=256, fanouts=(20, 20, 20), batch_size=512, lr=0.01, dropout=0.5),
        sums=True, normalises=True,
    ),
    "sage_ri": Family(
        HyperParameters(
            hidden=1024, fanouts=(12, 12, 12), batch_size=1024, lr=0.002, dropout=0.1,
            inference_fanouts=(100, 100, 100), inference_batch_size=32,
        ),
        normalises=True,
    ),
}  # fmt: skip
"""Published: SALIENT's, from experiments/all_dist_benchmarks.sh of its artifact and driver/models.py: 25 epochs."""

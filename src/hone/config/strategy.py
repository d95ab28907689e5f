"""How an experiment searches: one line of versions, a beam of them, or a kernel's parameters; and what it may cost.

Strategies compare at an equal budget. An *answer* is one answer of a model, of whatever role. An *evaluation* is one
verdict: a kernel that compiles, judged on one workload.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from hone.config.section import Section


class Budget(Section):
    """What a strategy may spend on one kernel; a round that no longer fits is cut, or not asked."""

    evaluations: int | None = Field(None, ge=1)
    """Verdicts on the kernels that the search tries; absent: as many as the rounds take."""
    answers: int | None = Field(None, ge=1)
    """Answers of models, those of all roles; absent: as many as the rounds take."""


class Linear(Section):
    """Each round goes on from one version, as in the paper."""

    kind: Literal["linear"] = "linear"
    budget: Budget = Budget()


class Beam(Section):
    """Each round goes on from the fastest versions so far that passed."""

    kind: Literal["beam"]
    width: int = Field(ge=2)
    """Branches of a round: one from each of the `width` fastest kernels, several from the fastest while
    there are fewer. The roles are asked for each branch, and `samples` are the candidates of each."""
    budget: Budget = Budget()


class Tuned(Section):
    """No model is asked: an optimiser searches the parameters that a folder's kernels declare (`method: files`)."""

    kind: Literal["tuned"]
    budget: Budget = Budget(evaluations=64)
    """Of each search."""
    workloads: int | None = Field(None, ge=1)
    """A search times so many of the visible workloads, from the one that moves the fewest bytes to the one that moves
    the most; absent: all. The winner is judged on every workload."""
    repeats: int = Field(3, ge=1)
    """Searches of each file: a search is random, so one says little."""
    seed: int = Field(0, ge=0)
    """Of the first search; each further one has the next number."""
    finalists: int = Field(3, ge=1)
    """Kernels that are judged by the protocol itself, which decides among them."""
    short_runs: int = Field(5, ge=3)
    """Timed runs of a first, short timing. The faster half is timed again with twice as many, until the finalists are
    left."""

    @model_validator(mode="after")
    def _budget_of_evaluations(self) -> Self:
        if self.budget.evaluations is None:
            raise ValueError("tuned needs budget: {evaluations: <number>}")
        if self.budget.answers is not None:
            raise ValueError("tuned asks no model: leave budget.answers out")
        return self


Strategy = Annotated[Linear | Beam | Tuned, Field(discriminator="kind")]

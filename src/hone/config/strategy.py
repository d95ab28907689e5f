"""How an experiment searches, one line of versions or a beam of them, and what that may cost.

Strategies compare at an equal budget. An *answer* is one answer of a model, of whatever role. An *evaluation* is one
verdict: a kernel that compiles, judged on one workload.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

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


Strategy = Annotated[Linear | Beam, Field(discriminator="kind")]

"""What a public archive says of an answer that it holds: its own verdict and times, never mixed with ours."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from hone.records.answer import Sampling
from hone.records.base import Record, Versioned


class ClaimedVerdict(StrEnum):
    """The archive's verdict on one answer."""

    CORRECT = "correct"
    WRONG_VALUE = "wrong_value"
    WRONG_SHAPE = "wrong_shape"
    WRONG = "wrong"
    """Not correct, and the archive does not say why."""
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    NOT_RUN = "not_run"
    """The archive has no verdict, or its machine or harness failed: says nothing about the answer."""

    @property
    def resolved(self) -> bool:
        """Whether it says something about the answer."""
        return self is not ClaimedVerdict.NOT_RUN


class Origin(Record):
    """Where in an archive an answer stands, who wrote it and how the model was asked."""

    archive: str
    """Name of the entry of `archives` in the config."""
    commit: str
    """Of the archive: 40 hexadecimal digits."""
    run: str
    """Folder or file of the archive that holds the answers of one run; empty where there is one alone."""
    path: str
    """File within the archive; of a file with many answers with `#` and the answer's index, from 0."""
    model: str
    """The model's own name."""
    sampling: Sampling = Sampling()
    """What the archive says of it; absent parameters are unknown."""
    prompt: str = ""
    """The archive's name of its prompt, such as `one_shot`; empty where it does not say."""
    precision: str = ""
    """Number format that was asked for, such as `fp32`; empty where the archive does not say."""


class Claimed(Record):
    """Verdict and times as the archive has them; absent ones are unknown."""

    verdict: ClaimedVerdict = ClaimedVerdict.NOT_RUN
    compiled: bool | None = None
    correct: bool | None = None
    runtime_ms: float | None = Field(None, gt=0)
    speedup: float | None = Field(None, gt=0)
    """Over PyTorch in eager mode."""
    reference_ms: float | None = Field(None, gt=0)
    """Of PyTorch in eager mode."""
    hardware: str = ""
    error: str = Field("", max_length=500)
    """What the archive's harness said, cut."""


class Claim(Versioned, Claimed, Origin):
    """What an archive says of one candidate of an experiment; joined by archive, model, definition and sample."""

    definition: str
    sample: int
    """Index among the experiment's answers of this model to this problem, as in the candidate."""
    solution: str
    """Id of the solution."""

"""Experiments: a method on problems, with its models, turns, samples and rounds."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Set
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from hone.config.section import Section
from hone.config.strategy import Beam, Linear, Strategy, Tuned
from hone.records import Language, Protocol, Sampling
from hone.teams import TEAMS

Method = Literal["zero_shot", "one_shot", "few_shot", "refine", "gold", "files", "archive", "astra", "astra_single"]
REFERENCE_MODEL = "reference/model"
"""What stands for a model where solutions are references or a folder's files."""
UNPROMPTED: frozenset[str] = frozenset({"gold", "files", "archive"})
"""Methods that ask no model: the reference itself, solutions that lie in a folder, and published answers."""
ASTRA: Set[str] = TEAMS.keys()
"""Methods that improve existing kernels in rounds, measured on a suite of their own: several roles, or one agent."""
UPSTREAM = "upstream"
"""Of a definition's existing kernels, the one that `astra` starts from and that its speedup is measured against."""
Feedback = Literal["execution", "profile"]
NEAR_FLOOR_SHARE = 0.95
"""With `astra.roofline`, a kernel of which the least time is so much of its time has nothing left to gain."""

Numbers = Collection[tuple[int, int]]
"""(level, number) pairs of a batch."""

IDENTIFIER = r"^[a-z][a-z0-9_]*$"


class Rounds(Section):
    """How the rounds of `astra` and `astra_single` go on from each other."""

    start_from: Literal["last", "best"] = "last"
    """`last`: each round starts from the kernel of the round before, as in the paper; `best`: from the fastest one so
    far that passed its whole suite, so that a regression is reverted."""
    stop_at_floor_share: float | None = Field(None, gt=0, le=1)
    """A kernel's rounds end once the least time that the GPU can need is this share of its best version's time, as a
    geometric mean over its suite. Absent: every round is asked."""
    roofline: bool = Field(False, exclude_if=lambda value: not value)
    """Prompts name for each workload the gain that is left and the least time, with all bytes at the speed of a copy.
    The rounds of a kernel within 5 % of it end, unless `stop_at_floor_share` says otherwise."""
    notes: bool = False
    """`astra` only: a role writes down what a kernel's rounds taught, for the plans of the kernels after it. Each job
    then waits for the jobs before it. `batch_size: 1` takes one kernel at a time."""
    evaluate: Literal["all", "winner"] = Field("all", exclude_if=lambda value: value == "all")
    """Which versions are judged on all workloads for the tables, held-out ones included. `all`: each of them. `winner`:
    once all rounds are there, the existing kernel and the winner by the suite. Prompts are the same."""

    @property
    def enough_share(self) -> float | None:
        """The share of the floor that ends a kernel's rounds; None: nothing does."""
        return self.stop_at_floor_share or (NEAR_FLOOR_SHARE if self.roofline else None)


class Experiment(Section):
    """One method on one set of problems with one or several models."""

    method: Method
    """How solutions come about: out of one prompt, in turns or rounds, the reference itself, files of a folder, or
    answers that somebody has published."""
    source: str
    """Name of an entry of `sources`."""
    levels: tuple[int, ...] = Field(min_length=1)
    """Those of the source's levels whose problems take part."""
    models: tuple[str, ...] = Field((REFERENCE_MODEL,), min_length=1)
    """`openai/<model>`, `openai-api/<service>/<model>`, `recorded/<transcript>`; not used by `gold` and `files`. Of
    `archive` always `archive/<name>`: the answers bring their models' names."""
    language: Language = Language.PYTHON
    """What the model is asked to write."""
    samples: int = Field(1, ge=1)
    """Answers to the same prompt; for `astra`, candidates of a round, the best of which goes on."""
    turns: int = Field(1, ge=1)
    """Answers in a row, each to the feedback on the one before: more than one only for `refine`, and for `astra`, whose
    turn 0 is the existing kernel, so that five rounds are `turns: 6`."""
    feedback: tuple[Feedback, ...] = ()
    """Beside the last kernel (G): its verdict and time (E), the profiler's table (P)."""
    hardware: str | None = None
    """A GPU of resources/hardware/gpus.yaml whose facts the prompt states."""
    files: str | None = None
    """Folder of solutions, for `files` alone: .cu, .cpp, .triton.py, .py, each with `definition: <name>` on top."""
    archive: str | None = Field(None, exclude_if=lambda value: value is None)
    """Name of an entry of `archives`, for `archive` alone."""
    astra: Rounds = Rounds()
    """Options of the rounds, for `astra` and `astra_single` alone."""
    strategy: Strategy = Field(Linear(), exclude_if=lambda value: value == Linear())
    """How rounds branch, and the budget of the search: `{kind: linear}`, `{kind: beam, width: 3}`; of
    `files`, `{kind: tuned}` searches the parameters that they declare."""
    sampling: Sampling = Sampling()
    problems: tuple[str, ...] = ()
    """Only these, as `level1/19`; empty: all problems of the levels."""
    limit: int | None = Field(None, ge=1)
    """Only the first so many problem numbers of each level."""
    batch_size: int | None = Field(None, ge=1)
    """Problem numbers to a job of this experiment; absent: those of the config."""
    judge: Protocol | None = None
    """A protocol of its own, in the place of the config's."""
    published_as: str | None = None
    """Name of the paper's experiment in resources/published/, where it printed numbers for this one."""

    @model_validator(mode="before")
    @classmethod
    def _answers_name_their_models(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or values.get("method") != "archive" or not values.get("archive"):
            return values
        return {"models": (f"archive/{values['archive']}",), **values}

    @model_validator(mode="after")
    def _archive_fits_method(self) -> Self:
        if self.method != "archive":
            if self.archive is not None:
                raise ValueError(f"archive needs method: archive, not {self.method}")
            return self
        if not self.archive:
            raise ValueError("method: archive needs archive: <name of an entry of archives>")
        if self.models != (f"archive/{self.archive}",):
            raise ValueError("archive has no models: select runs or models in the entry of archives")
        if self.samples > 1:
            raise ValueError("archive has no samples: an archive has as many answers as it has")
        return self

    @model_validator(mode="after")
    def _folder_fits_method(self) -> Self:
        if self.method == "files" and not self.files:
            raise ValueError("method: files needs files: <folder with the solutions>")
        if self.method != "files" and self.files is not None:
            raise ValueError(f"files needs method: files, not {self.method}")
        if self.method == "files" and self.samples > 1:
            raise ValueError("files has no samples: each file is one solution")
        return self

    @model_validator(mode="after")
    def _turns_fit_method(self) -> Self:
        if self.turns > 1 and self.method != "refine" and self.method not in ASTRA:
            raise ValueError(f"turns: {self.turns} needs method: refine, not {self.method}")
        if self.samples > 1 and self.method == "gold":
            raise ValueError("gold has one sample: the reference itself")
        if self.feedback and self.method != "refine":
            raise ValueError(f"feedback needs method: refine, not {self.method}")
        if "profile" in self.feedback and "execution" not in self.feedback:
            raise ValueError("feedback: profile comes on top of execution; write [execution, profile]")
        return self

    @model_validator(mode="after")
    def _rounds_fit_method(self) -> Self:
        if self.method not in ASTRA:
            if self.astra != Rounds():
                raise ValueError(f"astra: needs method: {' or '.join(TEAMS)}, not {self.method}")
            return self
        if self.turns < 2:
            raise ValueError(f"{self.method} needs turns: 2 or more; turn 0 is the existing kernel")
        if self.language not in (Language.CUDA, Language.CPP):
            raise ValueError(f"{self.method} needs language: cuda or cpp, as the kernels are, not {self.language}")
        if self.astra.notes and TEAMS[self.method].notes is None:
            able = " or ".join(name for name, team in TEAMS.items() if team.notes)
            raise ValueError(f"astra.notes needs method: {able}, not {self.method}")
        return self

    @model_validator(mode="after")
    def _strategy_fits_method(self) -> Self:
        if isinstance(self.strategy, Tuned):
            if self.method != "files":
                raise ValueError(f"strategy: tuned needs method: files, not {self.method}")
            return self
        if self.method not in ASTRA and self.strategy != Linear():
            raise ValueError(f"strategy: {self.strategy.kind} needs method: {' or '.join(TEAMS)}, not {self.method}")
        if isinstance(self.strategy, Beam):
            if not TEAMS[self.method].roles:
                raise ValueError(
                    f"strategy: beam has no conversation to go on with: write method: astra, not {self.method}"
                )
            if self.astra.start_from != Rounds().start_from:
                raise ValueError("strategy: beam starts from the fastest versions: leave astra.start_from out")
        return self

    @property
    def width(self) -> int:
        """Branches of a round."""
        return self.strategy.width if isinstance(self.strategy, Beam) else 1

    @property
    def candidates(self) -> int:
        """Candidates of a round, or of a turn, to one problem: at most, where there is a budget."""
        return self.width * self.samples

    @field_validator("problems")
    @classmethod
    def _problem_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not re.fullmatch(r"level\d+/\d+", name):
                raise ValueError(f"'{name}' is not of the form level1/19")
        return value

    def selects(self, level: int, number: int) -> bool:
        """Whether the problem takes part."""
        if level not in self.levels or (self.limit is not None and number > self.limit):
            return False
        return not self.problems or f"level{level}/{number}" in self.problems

"""The `archives` of the config: public repositories that hold answers of models. A kind is a layout of files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from hone.config.section import Section


class ArchiveSection(Section):
    """What all kinds share."""

    url: str
    """Anything that `git clone` takes: an https address or the path of a bare repository."""
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    problems_url: str = "https://github.com/ScalingIntelligence/KernelBench"
    """Repository of the problems; used with `problems_commit` alone."""
    problems_commit: str | None = Field(None, pattern=r"^[0-9a-f]{40}$")
    """Commit of KernelBench whose problems were answered; absent: the texts that the archive itself stores."""
    hardware: str = ""
    """GPU of the archive's times, where the archive does not say."""
    licence: str | None = Field(None, exclude_if=lambda value: value is None)
    """Licence of the answers, such as `MIT`; absent: none is known, so pages link to the texts and hide them."""


class ScoredLinesArchive(ArchiveSection):
    """Files of JSON lines, one a problem, with its text, the answer and scores (CUDA-L1)."""

    kind: Literal["scored_lines"]
    model: str = Field(min_length=1)
    """Who answered: the files do not say."""
    folder: str = "optimized_cuda_code"
    runs: tuple[str, ...] = Field(min_length=1)
    """Names of files without `.json`, such as `h100`."""


class LeaderboardArchive(ArchiveSection):
    """One JSON list of answers of several models, and a file for each problem's text (KernelBench's leaderboard)."""

    kind: Literal["leaderboard"]
    file: str = "docs/assets/raw_data.json"
    problems_folder: str = "docs/assets/problems"
    """With files `l<level>_p<number>.py`."""
    models: tuple[str, ...] = ()
    """Only these, as the file names them; empty: all."""


class RunsArchive(ArchiveSection):
    """A folder of runs: of KernelBench's own scripts, or of the scripts around them that public forks have."""

    kind: Literal["kernelbench_runs", "detailed_runs", "per_problem_runs"]
    """`kernelbench_runs`: `level_<l>_problem_<n>_sample_<s>_kernel.py` beside `generation_config.yaml` and
    `eval_results.json`. `detailed_runs`: `problem_<n>_kernel.py` beside `detailed_results.json`. `per_problem_runs`:
    `generated_kernels/level_<l>/problem_<n>.py` with `per_problem/level_<l>/problem_<n>.json`."""
    folder: str = "runs"
    runs: tuple[str, ...] = Field(min_length=1)
    """Names of folders of runs."""
    model: str | None = None
    """Who answered, where the runs do not say or say it badly, such as the path of a model."""
    times: dict[int, str] = Field(default_factory=dict)
    """Level -> run that timed these answers again, in an `eval_results.json` of its own."""
    logs: tuple[str, ...] = ()
    """Files with what KernelBench's harness printed while it evaluated: the reference's times, and so speedups, which
    its `eval_results.json` leaves out."""

    @field_validator("runs")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if twice := sorted({name for name in value if value.count(name) > 1}):
            raise ValueError(f"'{twice[0]}' stands twice")
        return value


Archive = Annotated[ScoredLinesArchive | LeaderboardArchive | RunsArchive, Field(discriminator="kind")]

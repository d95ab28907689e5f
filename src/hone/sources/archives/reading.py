"""Reading an archive's commit: files, folders, links, JSON and YAML, each problem in one clear line."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hone.config.archives import ArchiveSection
from hone.core.errors import SourceError
from hone.records import Origin, Sampling
from hone.sources import git

Texts = Mapping[tuple[int, int], bytes]
"""(level, number) -> text of the problem."""
PROBLEM = re.compile(r"KernelBench/level(\d+)/(\d+)_[^/]+\.py")


@dataclass(frozen=True)
class Repository:
    """An archive at its commit, in a bare clone."""

    name: str
    """Of the entry of `archives`."""
    archive: ArchiveSection
    bare: Path
    timeout_s: float

    def origin(self, run: str, path: str, model: str = "", settings: Mapping[str, Any] | None = None) -> Origin:
        """Of an answer; `settings` are those that the run was made with."""
        known = settings or {}
        return Origin(
            archive=self.name, commit=self.archive.commit, run=run, path=path, model=model,
            sampling=sampling_of(known), prompt=str(known.get("prompt_option") or ""),
            precision=str(known.get("precision") or ""),
        )  # fmt: skip

    def folder(self, path: str) -> dict[str, bytes]:
        """Path below the folder -> content."""
        found = git.read_folder(self.bare, self.archive.commit, path, self.timeout_s)
        return {place.removeprefix(f"{path}/"): content for place, content in found.items()}

    def links(self, path: str) -> list[str]:
        """Paths below the folder of symbolic links."""
        found = git.links_in(self.bare, self.archive.commit, path, self.timeout_s)
        return [place.removeprefix(f"{path}/") for place in found]

    def file(self, path: str, field: str) -> bytes:
        """Content of a file that the config's field names; raises SourceError."""
        content = git.read_file(self.bare, self.archive.commit, path, self.timeout_s)
        if content is None:
            raise SourceError(f"has no file {path}", where=self.archive.url, remedy=f"correct {field} of the archive")
        return content

    def require_folder(self, parent: str, name: str, field: str) -> None:
        """Raise SourceError, with what is there, unless the commit has the folder."""
        known = git.folders_in(self.bare, self.archive.commit, parent, self.timeout_s)
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1) or known[:20]
            problem = f"has no folder {parent}/{name}; there: {', '.join(near) or 'nothing'}"
            raise SourceError(problem, where=self.archive.url, remedy=f"correct {field} of the archive")

    def problem_texts(self) -> Texts:
        """Those that the archive stores itself, as KernelBench does, or those of the commit that the config names."""
        if self.archive.problems_commit is None:
            return texts_at(self.bare, self.archive.commit, self.timeout_s)
        url, commit = self.archive.problems_url, self.archive.problems_commit
        with git.snapshot(url, commit, self.timeout_s) as bare:
            return texts_at(bare, commit, self.timeout_s)

    def required_texts(self) -> Texts:
        """As `problem_texts`; raises SourceError where there is none."""
        texts = self.problem_texts()
        if not texts:
            where = self.archive.problems_url if self.archive.problems_commit else self.archive.url
            remedy = "write problems_commit: <commit of KernelBench that was asked> in the entry of archives"
            raise SourceError("has no problems in KernelBench/level<n>", where=where, remedy=remedy)
        return texts


def texts_at(bare: Path, commit: str, timeout_s: float) -> Texts:
    """Problems of a repository with KernelBench's folders."""
    found = git.read_folder(bare, commit, "KernelBench", timeout_s).items()
    named = ((PROBLEM.fullmatch(path), text) for path, text in found)
    return {(int(match[1]), int(match[2])): text for match, text in named if match}


def json_value(content: bytes) -> Any:
    """The value; None for what is not JSON or not text."""
    try:
        return json.loads(content)
    except ValueError:  # of decoding, too
        return None


def yaml_mapping(content: bytes) -> Mapping[str, Any] | None:
    """The mapping; None for anything else."""
    try:
        value = yaml.safe_load(content)
    except (yaml.YAMLError, UnicodeDecodeError):
        return None
    return value if isinstance(value, Mapping) else None


def sampling_of(settings: Mapping[str, Any]) -> Sampling:
    """What a run's settings say of sampling; what the record cannot hold counts as unknown."""
    sampling = Sampling()
    for name in ("temperature", "top_p", "max_tokens", "seed"):
        value = settings.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            sampling = _with(sampling, name, value)
    if settings.get("is_reasoning_model") is True:
        sampling = _with(sampling, "reasoning_effort", settings.get("reasoning_effort"))
    return sampling


def _with(sampling: Sampling, name: str, value: object) -> Sampling:
    try:
        return Sampling.model_validate({**sampling.model_dump(), name: value})
    except ValueError:
        return sampling

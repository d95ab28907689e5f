"""A run as the site sees it: its records, each with the file and line that it stands on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from hone.analysis.frames import Place
from hone.analysis.trajectories import Trajectory, trajectories
from hone.config.settings import Settings
from hone.records import Answer, Build, Candidate, Claim, Definition, Solution, Trace, Workload, digest
from hone.sources.workloads import group
from hone.tables.run import Run

ID_DIGITS = 12
Places = Mapping[str, Sequence[str]]
"""Field of RunRecords -> `<file>:<line>` of each record, in the same order."""


@dataclass(frozen=True)
class Located:
    """A record and where it stands."""

    record: Any
    where: str
    """`<file>:<line>`, from the folder that the pipeline runs in."""

    def shown(self, **left_out: Any) -> dict[str, Any]:
        """As data of a page."""
        return {"where": self.where, "record": self.record.model_dump(mode="json", **left_out)}


@dataclass(frozen=True)
class SiteRun:
    """A run with the places of its records, and look-ups that several pages need."""

    run: Run
    places: Places

    @property
    def settings(self) -> Settings:
        """The run's config."""
        return self.run.context.settings

    @cached_property
    def trajectories(self) -> list[Trajectory]:
        """Of all experiments with rounds."""
        return trajectories(self.settings, self.run.records)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row for each answer of the experiments without rounds."""
        return self.run.frame

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        """Name -> definition."""
        return {item.name: item for item in self.run.records.definitions}

    @cached_property
    def workloads(self) -> dict[str, Workload]:
        """Id -> workload, those that roles chose included."""
        suites = (item for suite in self.run.records.suites.values() for item in suite)
        return {item.id: item for item in (*suites, *self.run.records.workloads)}

    @cached_property
    def workloads_of(self) -> Mapping[str, Sequence[Workload]]:
        """Definition -> its own workloads."""
        return group(self.run.records.workloads)

    @cached_property
    def solutions(self) -> dict[str, Solution]:
        """Id -> solution."""
        return {item.id: item for item in self.run.records.solutions}

    @cached_property
    def candidates(self) -> dict[Place, Located]:
        """Place -> candidate."""
        return {_place(item.record): item for item in self._located("candidates", Candidate)}

    @cached_property
    def builds(self) -> dict[str, Located]:
        """Solution -> its build."""
        return {item.record.solution: item for item in self._located("builds", Build)}

    @cached_property
    def answers(self) -> dict[tuple[str, str, str, int], list[Located]]:
        """Experiment, model, definition, turn -> what was answered there, by all roles."""
        found: dict[tuple[str, str, str, int], list[Located]] = {}
        for item in self._located("answers", Answer):
            found.setdefault(_place(item.record)[:4], []).append(item)
        return found

    @cached_property
    def claims(self) -> dict[tuple[str, str, str, int], Located]:
        """Archive, model, definition, sample -> what the archive says."""
        return {
            (item.record.archive, item.record.model, item.record.definition, item.record.sample): item
            for item in self._located("claims", Claim)
        }

    @cached_property
    def traces(self) -> dict[tuple[str, str], list[tuple[str, Located]]]:
        """(Solution, digest of the protocol) -> its verdicts, each with what it is for: a field of RunRecords.

        Of several verdicts on one workload the latest counts, as in the tables; one that says something goes first.
        """
        digests: dict[Any, str] = {}
        found: dict[tuple[str, str], dict[tuple[str, str], Located]] = {}
        for kind in ("evaluations", "suite_traces", "traces"):
            for item in sorted(self._located(kind, Trace), key=_standing):
                protocol = item.record.protocol
                if protocol not in digests:
                    digests[protocol] = protocol.digest
                group = found.setdefault((item.record.solution, digests[protocol]), {})
                group[kind, item.record.workload] = item
        return {key: [(kind, item) for (kind, _), item in group.items()] for key, group in found.items()}

    def _located(self, name: str, kind: type[Any]) -> list[Located]:
        records: Sequence[Any] = getattr(self.run.records, name)
        assert all(isinstance(item, kind) for item in records[:1])
        return [Located(*pair) for pair in zip(records, self.places.get(name, [""] * len(records)), strict=True)]


def _standing(item: Located) -> tuple[bool, str]:
    return item.record.status.resolved, item.record.judged_at


def places_of(files: Mapping[str, Sequence[Path]]) -> dict[str, list[str]]:
    """`<file>:<line>` of each record of JSON-lines files, in the order in which `analysis.run.read_run` has them."""
    return {name: [place for path in paths for place in _lines(path)] for name, paths in files.items()}


def _lines(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return [f"{path}:{number}" for number, line in enumerate(file, start=1) if line.strip()]


def _place(item: Any) -> Place:
    return Place(item.experiment, item.model, item.definition, item.turn, item.sample)


def page_id(*parts: object) -> str:
    """What a page is named by in addresses: the same for the same parts in every run."""
    return digest([str(part) for part in parts])[:ID_DIGITS]

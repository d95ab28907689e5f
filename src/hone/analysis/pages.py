"""Trajectory pages: the versions of one kernel in order, with what changed, why, and what it gave.

Pages quote the sources of existing kernels and belong into results/ alone.
"""

from __future__ import annotations

import difflib
import itertools
import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hone.analysis.metrics import geometric_mean
from hone.analysis.render import number, pipe_table
from hone.analysis.run import RunRecords
from hone.analysis.source_lines import lines_of_code
from hone.analysis.trajectories import Trajectory, Verdicts, Version, trajectories
from hone.config.experiments import UPSTREAM, Experiment
from hone.config.settings import Settings
from hone.core.files import write_text
from hone.methods.astra.evidence import resources
from hone.methods.astra.strategy import branch_of
from hone.records import Answer
from hone.teams import TEAMS

DIFF_LINES = 250
"""Lines of a diff that a page shows; the source beside it is whole."""
REASON_CHARACTERS = 4000
WIDTH = 110
CODE_BLOCK = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*\s*$|\Z)", re.DOTALL | re.MULTILINE)


def write_pages(settings: Settings, experiment: str, records: RunRecords, folder: Path) -> list[Path]:
    """A page for each kernel of an experiment, `<kernel>.md`, and `index.md` that lists them; returns the paths."""
    found = [item for item in trajectories(settings, records) if item.experiment == experiment]
    asked = settings.experiments[experiment]
    by_kernel = {
        kernel: list(items)
        for kernel, items in itertools.groupby(sorted(found, key=lambda item: item.kernel), lambda item: item.kernel)
    }
    paths = []
    for kernel, items in by_kernel.items():
        lines = [f"# {kernel}: the versions of experiment {experiment}", ""]
        for item in items:
            lines += _Page(item, asked, records.answers).lines()
        paths.append(folder / f"{kernel}.md")
        write_text(paths[-1], "\n".join(lines) + "\n")
    index = folder / "index.md"
    write_text(index, _index(experiment, found))
    return [*paths, index]


def _index(experiment: str, found: Sequence[Trajectory]) -> str:
    rows = [
        [
            f"[{item.kernel}]({item.kernel}.md)",
            item.model,
            str(sum(version.solution is not None for version in item.versions[1:])),
            _speedup(item.winner.suite_speedup) if item.winner else "",
            _outcome(item.winner.evaluation) if item.winner else "no version passed its suite",
        ]
        for item in found
    ]
    head = ("kernel", "model", "versions written", "winner: speedup on its suite", "winner: on all workloads")
    body = pipe_table(head, rows, ("left", "left", "right", "right", "left")) if rows else "No kernels."
    return f"# Trajectories of experiment {experiment}\n\n{body}\n"


@dataclass(frozen=True)
class _Page:
    """One trajectory as Markdown."""

    trajectory: Trajectory
    experiment: Experiment
    answers: Sequence[Answer]

    def lines(self) -> list[str]:
        """The section of one model: a table of all versions, then each of them."""
        item = self.trajectory
        suite = len(item.history.suite) if item.history else 0
        lines = [
            f"## {item.method} with {item.model}",
            "",
            f"`{item.problem}`: {item.rounds} rounds, each from {self._starts()}. The suite that "
            f"the rounds were measured on has {suite} workloads, the evaluation {len(item.workloads)}. Speedups are "
            "geometric means over the upstream kernel; the winner is the fastest version by the suite. Version 0 is "
            "that kernel over itself: what separates it from 1 is noise.",
            "",
            self._overview(),
            "",
        ]
        for index, version in enumerate(item.versions):
            lines += self._version(index, version)
        writer = TEAMS[item.method].notes
        note = self._said(writer.name) if writer else []
        if note:
            lines += ["### The note for the kernels after it", "", fenced(wrapped(note[0]), "text"), ""]
        return lines

    def _starts(self) -> str:
        if self.experiment.width > 1:
            return f"the {self.experiment.width} fastest versions"
        return f"the {self.experiment.astra.start_from} version"

    def _said(self, role: str, turn: int | None = None, sample: int = 0) -> list[str]:
        """A role's answers about this kernel, in one turn or in all, without code blocks; empty ones are left out."""
        item = self.trajectory
        wanted = (item.experiment, item.model, item.problem, role, sample)
        found = [
            CODE_BLOCK.sub("", answer.completion.response).strip()
            for answer in self.answers
            if (answer.experiment, answer.model, answer.definition, answer.role, answer.sample) == wanted
            and turn in (None, answer.turn)
        ]
        return [text for text in found if text]

    def _overview(self) -> str:
        head = (
            *("version", "started from", "suite", "speedup on it", "all workloads", "speedup on them"),
            *("most registers", "lines of code", ""),
        )
        rows = []
        for index, version in enumerate(self.trajectory.versions):
            solution = version.solution
            rows.append(
                [
                    f"{index}. {_name(version)}",
                    self._parent_name(version),
                    version.suite_status,
                    _speedup(version.suite_speedup),
                    version.status,
                    _speedup(geometric_mean(version.evaluation.credited(UPSTREAM))),
                    _registers(version),
                    str(lines_of_code(solution.source, solution.language)) if solution else "",
                    "winner" if version is self.trajectory.winner else "",
                ]
            )
        align = ("left", "left", "left", "right", "left", "right", "right", "right", "left")
        return pipe_table(head, rows, align)

    def _version(self, index: int, version: Version) -> list[str]:
        lines = [f"### {index}. {_name(version)}", ""]
        if version.turn > 0:
            lines += self._why(version)
        lines += ["What it gave:", "", *_gave(version), ""]
        if version.entry is not None and version.entry.build is not None and version.entry.build.resources:
            lines += [resources(version.entry.build), ""]
        lines += self._changed(version)
        if version.solution is not None:
            source, language = version.solution.source, version.solution.language
            count = lines_of_code(source, language)
            lines += [f"<details><summary>The whole source, {count} lines of code</summary>", ""]
            lines += [fenced(source, "cpp"), "", "</details>", ""]
        return lines

    def _why(self, version: Version) -> list[str]:
        """The words of whoever decided on the change; the single agent's answer without its code."""
        team = TEAMS[self.trajectory.method]
        role = team.reason
        sample = version.sample if role == team.coder else branch_of(version.sample, self.experiment)
        said = self._said(role, version.turn, sample=sample)
        if not said:
            return ["Why: nobody said so.", ""]
        return [f"Why, in the words of the role `{role}`:", "", fenced(wrapped(said[0]), "text"), ""]

    def _changed(self, version: Version) -> list[str]:
        parent = self.trajectory.parent(version.turn, version.sample, self.experiment)
        if parent is None or parent.solution is None or version.solution is None:
            return []
        number_of = self.trajectory.versions.index
        names = (f"version {number_of(parent)}", f"version {number_of(version)}")
        before, after = (item.source.splitlines() for item in (parent.solution, version.solution))
        found = list(difflib.unified_diff(before, after, *names, lineterm=""))
        if not found:
            return ["What changed: nothing.", ""]
        added = sum(line.startswith("+") for line in found[2:])
        removed = sum(line.startswith("-") for line in found[2:])
        shown = found[:DIFF_LINES]
        rest = [f"[{len(found) - DIFF_LINES} more lines of the diff]"] if len(found) > DIFF_LINES else []
        told = f"What changed since version {number_of(parent)}: lines added {added}, removed {removed}."
        return [told, "", fenced("\n".join([*shown, *rest]), "diff"), ""]

    def _parent_name(self, version: Version) -> str:
        parent = (
            self.trajectory.parent(version.turn, version.sample, self.experiment) if version.entry is not None else None
        )
        return f"version {self.trajectory.versions.index(parent)}" if parent is not None else ""


def _name(version: Version) -> str:
    if version.turn == 0:
        return "the upstream kernel"
    return f"round {version.turn}" + (f", candidate {version.sample + 1}" if version.sample else "")


def _speedup(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.3f}"


def _registers(version: Version) -> str:
    build = version.entry.build if version.entry is not None else None
    return str(max(item.registers for item in build.resources)) if build is not None and build.resources else ""


def _gave(version: Version) -> Iterable[str]:
    """Verdicts and speedups, on the suite and on all workloads."""
    if version.solution is None:
        yield f"- no kernel, {version.missing}: {version.problem}"
        return
    yield f"- on the suite: {_outcome(version.suite)}"
    wider = _outcome(version.evaluation) if version.evaluated else "not evaluated, as the winner alone is"
    yield f"- on all workloads: {wider}"


def _outcome(verdicts: Verdicts) -> str:
    """`passed, speedup 1.5 (1.2 to 1.9 by workload)`, or what failed first."""
    passed = sum(trace is not None and trace.status == "passed" for _, trace in verdicts.pairs)
    share = f"{verdicts.status}, right on {passed} of {len(verdicts.pairs)}"
    speedups = verdicts.speedups(UPSTREAM)
    if speedups:
        spread = f"{number(min(speedups))} to {number(max(speedups))}"
        share += f", speedup {number(geometric_mean(speedups))} ({spread} by workload)"
    if verdicts.findings:
        share += f"; doubtful, earns nothing: {verdicts.findings}"
    deciding = verdicts.deciding
    if deciding is not None and deciding.detail and not verdicts.passed:
        share += "; " + "`" + " ".join(deciding.detail.split()).replace("`", "'")[:300] + "`"
    return share


def wrapped(text: str) -> str:
    """Each line folded to a page's width; cut where it is very long."""
    cut = text if len(text) <= REASON_CHARACTERS else text[:REASON_CHARACTERS].rstrip() + " […]"
    return "\n".join(textwrap.fill(line, WIDTH, replace_whitespace=False) for line in cut.splitlines())


def fenced(text: str, language: str) -> str:
    """A code block whose fence the text cannot close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"

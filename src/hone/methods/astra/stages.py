"""The stages of `astra` and `astra_single` as functions of files.

Turn 0 is the existing kernel, and the suite that every version is measured on. Each round then goes
attempts, solutions, builds and traces of all turns before -> roles' prompts -> answers -> attempts and solutions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from hone.compile.kernels import kernel_solution
from hone.config.experiments import UPSTREAM, Experiment, Method, Numbers
from hone.core.errors import MachineError, RecordError
from hone.core.files import read_all, read_records, write_records
from hone.machine.hardware import GPUS
from hone.methods import extract as extraction
from hone.methods.astra.history import Attempt, History, attempts_of, histories
from hone.methods.astra.roles import RoleAnswer, RoleRenderer, require_kernel
from hone.methods.astra.strategy import Branch, round_of
from hone.methods.astra.suite import make_suite
from hone.methods.render import selected
from hone.methods.templates import PROMPTS
from hone.records import (
    Answer,
    Build,
    Candidate,
    Definition,
    Language,
    Message,
    Prompt,
    Solution,
    Trace,
    Workload,
)
from hone.sources.workloads import group
from hone.teams import TEAMS

STAGES = ("attempts", "solutions", "builds", "traces")


@dataclass(frozen=True)
class EarlierTurns:
    """Files of the turns before a round, the first turn first, and of the suite that they were measured on."""

    suites: Path
    attempts: Sequence[Path]
    solutions: Sequence[Path]
    builds: Sequence[Path]
    traces: Sequence[Path]

    @classmethod
    def of(cls, files: Any) -> Self:
        """From a rule's named input files."""
        stages = {stage: [Path(path) for path in getattr(files, stage)] for stage in STAGES}
        return cls(suites=Path(files.suites), **stages)


ToldFiles = Mapping[str, Sequence[Path]]
"""Files of what other roles answered, by the name that a role's prompt has for it."""


def told_files(method: Method, role: str, files: Any) -> ToldFiles:
    """What a role is told, from a rule's named input files."""
    asked = TEAMS[method].asked[role]
    return {name: _paths(getattr(files, name, ())) for name in (*asked.told, *asked.told_before, *asked.told_of_others)}


def _paths(given: str | Iterable[str]) -> list[Path]:
    """A rule's input is a text where it is one file, else a list."""
    return [Path(given)] if isinstance(given, str) else [Path(path) for path in given]


def upstream(
    name: str, model: str, experiment: Experiment, batch: Numbers, definitions: Iterable[Path], *,
    attempts: Path, candidates: Path, solutions: Path,
) -> None:  # fmt: skip
    """Turn 0: each definition's existing kernel as its first version; raises ConfigError where there is none."""
    chosen = selected(read_all(definitions, Definition), experiment, batch)
    for definition in chosen:
        require_kernel(definition, experiment, name)
    kernels = sorted((kernel_solution(item, UPSTREAM) for item in chosen), key=lambda kernel: kernel.id)
    rows = [
        Candidate(
            experiment=name, method=experiment.method, model=model, definition=kernel.definition, turn=0, sample=0,
            prompt_digest="", completion_key="", solution=kernel.id, label=UPSTREAM,
        )
        for kernel in kernels
    ]  # fmt: skip
    _write_turn(rows, kernels, attempts, candidates, solutions)


def ask_testing(
    name: str, experiment: Experiment, batch: Numbers, definitions: Iterable[Path], workloads: Iterable[Path],
    output: Path,
) -> None:  # fmt: skip
    """Prompts for the suites of a batch; `workloads` are the visible ones, RecordError where a kernel has none."""
    renderer = RoleRenderer(name, experiment, PROMPTS, GPUS)
    given = group(read_all(workloads, Workload))
    chosen = selected(read_all(definitions, Definition), experiment, batch)
    for item in chosen:
        if item.name not in given:
            remedy = "leave one of its workloads without held_out"
            raise RecordError("there is no workload that a prompt may show", where=item.name, remedy=remedy)
    write_records(output, [renderer.testing(item, given[item.name]) for item in chosen])


def suite(
    answers: Path, definitions: Iterable[Path], workloads: Iterable[Path], *, suites: Path, origins: Path
) -> None:
    """The suites of a batch as workloads, and where each came from; `workloads` are the visible ones."""
    known = {item.name: item for item in read_all(definitions, Definition)}
    given = group(read_all(workloads, Workload))
    made = [
        make_suite(known[answer.definition], given[answer.definition], answer.completion.response)
        for answer in read_records(answers, Answer)
    ]
    write_records(suites, [workload for _, chosen in made for workload in chosen])
    write_records(origins, [origin for origin, _ in made])


def ask_role(
    role: str, name: str, experiment: Experiment, turn: int, before: EarlierTurns, others: ToldFiles,
    definitions: Iterable[Path], workloads: Iterable[Path], output: Path,
) -> None:  # fmt: skip
    """One role's prompts of a turn, for the kernels that go on; `workloads` are the visible ones.

    Raises MachineError when no kernel of the last turn has a verdict.
    """
    renderer = RoleRenderer(name, experiment, PROMPTS, GPUS)
    given = group(read_all(workloads, Workload))
    known = _histories(before, definitions)
    team = TEAMS[experiment.method]
    asked = team.asked[role]
    if asked is team.notes:
        going = [(item, Branch(0, item.start(experiment.astra), (0,))) for item in known.values()]
    else:
        going = _going(known, experiment, turn, before)
    said = {name: RoleAnswer.of(read_all(files, Answer)) for name, files in others.items()}
    now = {name: {(answer.definition, answer.sample): answer.text for answer in said[name]} for name in asked.told}
    of_others = {name: said[name] for name in asked.told_of_others}
    prompts = []
    for history, branch in going:
        kernel = history.definition.name
        place = kernel, branch.number
        texts = {name: found[place] for name, found in now.items() if place in found}
        if len(texts) < len(now):
            continue  # the roles before were not asked about it
        earlier = {name: [each for each in said[name] if each.definition == kernel] for name in asked.told_before}
        prompts.append(renderer.role(role, history, branch, given[kernel], turn, **texts, **earlier, **of_others))
    write_records(output, prompts)


def converse(
    name: str, experiment: Experiment, turn: int, before: EarlierTurns, *, prompts: Path, answers: Path,
    definitions: Iterable[Path], workloads: Iterable[Path], output: Path,
) -> None:  # fmt: skip
    """The single agent's prompts of a turn: `prompts` and `answers` are those of the turn before.

    Of several candidates the one that goes on stays in the conversation. Raises as `ask_role` does.
    """
    renderer = RoleRenderer(name, experiment, PROMPTS, GPUS)
    given = group(read_all(workloads, Workload))
    asked = {item.definition: item.messages for item in read_records(prompts, Prompt)}
    said = {(item.definition, item.sample): item.completion.response for item in read_records(answers, Answer)}
    found = []
    for history, branch in _going(_histories(before, definitions), experiment, turn, before):
        kernel, sample = history.definition.name, history.chosen(turn - 1).attempt.sample
        talk = [*asked[kernel], Message(role="assistant", content=said[kernel, sample])]
        found.append(renderer.converse(history, branch, given[kernel], turn, talk))
    write_records(output, found)


def extract(
    answers: Path, method: Method, language: Language, definitions: Iterable[Path], *,
    attempts: Path, candidates: Path, solutions: Path,
) -> None:  # fmt: skip
    """Candidates, attempts and distinct solutions of a round's answers."""
    typed = {item.name for item in read_all(definitions, Definition) if item.dtypes}
    rows, kernels = extraction.candidates(read_records(answers, Answer), method, language, typed)
    _write_turn(rows, kernels, attempts, candidates, solutions)


def _write_turn(
    rows: Sequence[Candidate], kernels: Sequence[Solution], attempts: Path, candidates: Path, solutions: Path
) -> None:

    write_records(attempts, attempts_of(rows))
    write_records(candidates, rows)
    write_records(solutions, kernels)


def _histories(before: EarlierTurns, definitions: Iterable[Path]) -> dict[str, History]:

    return histories(
        read_all(definitions, Definition),
        group(read_records(before.suites, Workload)),
        read_all(before.attempts, Attempt),
        read_all(before.solutions, Solution),
        read_all(before.builds, Build),
        read_all(before.traces, Trace),
    )


def _going(
    known: dict[str, History], experiment: Experiment, turn: int, before: EarlierTurns
) -> list[tuple[History, Branch]]:
    """The kernels that have a round `turn`, once for each of its branches.

    One that stopped before, or whose versions have no verdict, has none.
    """
    rounds = [(item, round_of(item, experiment)) for item in known.values() if item.last_turn == turn - 1]
    asked = [item for item, branches in rounds if branches]
    going = [
        (item, branch)
        for item, branches in rounds
        for branch in branches
        if any(map(item.resolved, item.of_turn(turn - 1)))
    ]
    if asked and not going:
        detail = next((trace.detail for version in asked[0].versions[-1:] for trace in version.traces.values()), "")
        problem = f"no kernel of turn {turn - 1} has a verdict, so nothing can be fed back: {detail}"
        remedy = "judge where it is possible, then run again"
        raise MachineError(problem, where=str(before.traces[-1]), remedy=remedy)
    return going

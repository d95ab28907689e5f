"""The stages of methods that write kernels from scratch as functions of files; those in rounds: `astra.stages`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hone.config.experiments import Experiment, Numbers
from hone.core.errors import MachineError
from hone.core.files import read_all, read_records, write_records
from hone.machine.hardware import GPUS
from hone.methods import extract as extraction
from hone.methods import files as folder
from hone.methods.archive import published
from hone.methods.feedback import previous_answer
from hone.methods.render import Renderer, selected
from hone.methods.templates import PROMPTS
from hone.records import Answer, Build, Candidate, Definition, Solution, Status, Trace, Workload
from hone.sources.archives.answer import ArchivedAnswer
from hone.sources.gold import gold_solution
from hone.sources.workloads import group, visible


def render(
    name: str, experiment: Experiment, batch: Numbers, definitions: Iterable[Path], workloads: Iterable[Path],
    output: Path,
) -> None:  # fmt: skip
    """First prompts of a batch."""
    renderer = Renderer(name, experiment, group(read_all(workloads, Workload)), PROMPTS, GPUS)
    chosen = selected(read_all(definitions, Definition), experiment, batch)
    write_records(output, [renderer.first(definition) for definition in chosen])


def render_next(
    name: str,
    experiment: Experiment,
    batch: Numbers,
    definitions: Iterable[Path],
    workloads: Iterable[Path],
    *,
    turn: int,
    candidates: Path,
    solutions: Path,
    builds: Path,
    traces: Path,
    earlier: Iterable[Path],
    output: Path,
) -> None:
    """Prompts of a later turn of a batch: one for each sample, with what became of its last answer.

    `earlier` are the candidates of the turns before the last: a prompt that one of them answered is asked anew.
    A sample whose last kernel could not be judged has no prompt; MachineError when none could be judged.
    """
    shown = group(read_all(workloads, Workload))
    renderer = Renderer(name, experiment, shown, PROMPTS, GPUS)
    known = {item.name: item for item in selected(read_all(definitions, Definition), experiment, batch)}
    by_id = {item.id: item for item in read_records(solutions, Solution)}
    built = {item.solution: item for item in read_records(builds, Build)}
    judged = _telling(read_records(traces, Trace), shown)
    rows = read_records(candidates, Candidate)
    asked = Counter((row.definition, row.sample, row.prompt_digest) for row in [*read_all(earlier, Candidate), *rows])
    answerable = [row for row in rows if row.solution is None or judged[row.solution].status.resolved]
    if rows and not answerable:
        reason = judged[rows[0].solution or ""].detail
        problem = f"no kernel of turn {turn - 1} has a verdict, so nothing can be fed back: {reason}"
        raise MachineError(problem, where=str(traces), remedy="judge where it is possible, then run again")
    prompts = []
    # The others stay unresolved in the tables: a turn without feedback is not worth paying for.
    for row in answerable:
        key = row.solution or ""
        previous = previous_answer(row, by_id.get(key), built.get(key), judged.get(key), experiment.feedback)
        prompt = renderer.next(known[row.definition], turn, row.sample, previous)
        prompts.append(prompt.model_copy(update={"repeat": asked[row.definition, row.sample, prompt.digest]}))
    write_records(output, prompts)


def _telling(traces: Iterable[Trace], workloads: Mapping[str, Sequence[Workload]]) -> dict[str, Trace]:
    """Solution -> its trace on the first workload that may be shown, or on the first of them that it fails on."""
    ids = {workload.id for items in workloads.values() for workload in visible(items)}
    found: dict[str, Trace] = {}
    for trace in traces:
        known = found.get(trace.solution)
        if trace.workload in ids and (known is None or known.status is Status.PASSED is not trace.status):
            found[trace.solution] = trace
    return found


def extract(answers: Path, experiment: Mapping[str, Any], *, candidates: Path, solutions: Path) -> None:
    """Candidates and distinct solutions of a batch; `experiment` gives method and language."""
    chosen = Experiment.model_validate({"source": "any", "levels": (1,), **experiment})
    rows, kernels = extraction.candidates(read_records(answers, Answer), chosen.method, chosen.language)
    write_records(candidates, rows)
    write_records(solutions, kernels)


def gold(
    name: str, model: str, experiment: Experiment, batch: Numbers, definitions: Iterable[Path], *,
    candidates: Path, solutions: Path,
) -> None:  # fmt: skip
    """Each definition's own reference as its candidate: checks the judge and the problems, not a model."""
    chosen = selected(read_all(definitions, Definition), experiment, batch)
    kernels = sorted(map(gold_solution, chosen), key=lambda kernel: kernel.id)
    rows = [
        Candidate(
            experiment=name, method="gold", model=model, definition=kernel.definition, turn=0, sample=0,
            prompt_digest="", completion_key="", solution=kernel.id,
        )
        for kernel in kernels
    ]  # fmt: skip
    write_records(candidates, rows)
    write_records(solutions, kernels)


def files(
    name: str, model: str, experiment: Experiment, batch: Numbers, definitions: Iterable[Path], *,
    candidates: Path, solutions: Path,
) -> None:  # fmt: skip
    """The solutions that lie in the experiment's folder, instead of a model's."""
    rows, kernels = folder.candidates(name, model, experiment, batch, read_all(definitions, Definition))
    write_records(candidates, rows)
    write_records(solutions, kernels)


def archived(
    name: str, experiment: Experiment, batch: Numbers, definitions: Iterable[Path], answers: Path, *,
    candidates: Path, solutions: Path, claims: Path, skipped: Path,
) -> None:  # fmt: skip
    """Published answers to a batch's problems, with what their archive says of them."""
    known = read_all(definitions, Definition)
    made = published(name, experiment, batch, known, read_records(answers, ArchivedAnswer))
    write_records(candidates, made.candidates)
    write_records(solutions, made.solutions)
    write_records(claims, made.claims)
    write_records(skipped, made.skipped)

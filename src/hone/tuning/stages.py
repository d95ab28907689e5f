"""The strategy `tuned` as a function of files: a folder's kernels with parameters in, the fastest of each out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from hone.config.experiments import Experiment
from hone.config.strategy import Tuned
from hone.core.errors import ConfigError
from hone.core.files import read_all, write_records
from hone.machine.hardware import GPU
from hone.methods.files import chosen_files
from hone.records import Candidate, Definition, Protocol, SearchStep, Solution, Workload
from hone.sources.solution_files import SourceFile, tunable_of
from hone.sources.workloads import group, spread, visible
from hone.tuning.search import Plan, search, together
from hone.tuning.trials import Bench, Template, Trials, measured


def tune(
    name: str, model: str, experiment: Experiment, batch: Collection[tuple[int, int]], definitions: Iterable[Path],
    workloads: Iterable[Path], *, protocol: Protocol, baselines: Sequence[str], store: Path, gpu: GPU | None,
    candidates: Path, solutions: Path, searches: Path,
) -> None:  # fmt: skip
    """Search each file of a batch `repeats` times, with a seed of its own; a candidate for each search.

    Raises ConfigError for a file without parameters, or a budget that does not reach, and MachineError where the
    machine cannot compile or judge.
    """
    known = {item.name: item for item in read_all(definitions, Definition)}
    given = group(read_all(workloads, Workload))
    rows: list[Candidate] = []
    winners: dict[str, Solution] = {}
    steps: list[SearchStep] = []
    for file in _templates(experiment, batch):
        definition = known.get(file.solution.definition)
        if definition is None:
            raise ConfigError(f"no definition '{file.solution.definition}'", where=str(file.path))
        strategy = _strategy(experiment)
        timed = spread(definition, visible(given[definition.name]), strategy.workloads)
        bench = Bench(definition, timed, protocol, baselines, store, gpu, strategy.short_runs)
        for repeat, (best, found) in enumerate(_searches(name, file, bench, strategy)):
            steps += found
            if best is not None:
                winners[best.id] = best
            rows.append(
                Candidate(
                    experiment=name, method="files", model=model, definition=definition.name, turn=0,
                    sample=sum(row.definition == definition.name for row in rows), prompt_digest="",
                    completion_key="", solution=best.id if best else None,
                    problem="" if best else f"no choice of its parameters passed; the first values: {found[0].problem}",
                    label=f"{file.path.name}, search {repeat + 1}",
                )
            )  # fmt: skip
    write_records(candidates, rows)
    write_records(solutions, [winners[key] for key in sorted(winners)])
    write_records(searches, steps)


def _templates(experiment: Experiment, batch: Collection[tuple[int, int]]) -> Iterator[SourceFile]:
    return (file for file in chosen_files(experiment) if (file.level, file.number) in batch)


def _strategy(experiment: Experiment) -> Tuned:
    assert isinstance(experiment.strategy, Tuned), "the rule is for these alone"
    return experiment.strategy


def _searches(
    name: str, file: SourceFile, bench: Bench, strategy: Tuned
) -> Iterator[tuple[Solution | None, list[SearchStep]]]:
    """The winner of each search of a file and its steps; they are all made at the same time."""
    template = Template(file.path.name, file.solution, tunable_of(file.path))
    budget = strategy.budget.evaluations or 0
    plan = Plan.within(budget // len(bench.workloads), strategy.finalists)
    if plan is None:
        problem = f"{budget} evaluations are not enough to try one kernel on {len(bench.workloads)} workloads"
        raise ConfigError(problem, where=f"experiments.{name}.strategy.budget", remedy="raise evaluations")
    trials = {it: Trials(name, template, bench, it, strategy.seed + it) for it in range(strategy.repeats)}
    searches = (search(template.space, plan, each.seed) for each in trials.values())
    for each, found in zip(trials.values(), together(searches, partial(measured, trials)), strict=True):
        yield (template.at(found.winner.values) if found.winner else None), each.steps

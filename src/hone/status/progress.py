"""How much of a campaign is done and how much is pending, by section and kind of work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hone.config.experiments import ASTRA
from hone.config.settings import Settings
from hone.config.strategy import Tuned
from hone.config.trainings import TrainingKey
from hone.file_map import FileMap, Kinds, Questions, Shard
from hone.llm.ledger import Ledger
from hone.llm.names import Target, parse_model
from hone.records import Prompt
from hone.sources.solution_files import source_files
from hone.status.reading import (
    ArchivedView,
    InferenceView,
    ProblemView,
    Reader,
    SolutionView,
    TraceView,
    TrainingView,
    WorkloadView,
)

Section = Literal["KernelBench", "Astra", "SALIENT"]
Kind = Literal["calls", "builds", "verdicts", "graphs", "trainings", "inferences"]


@dataclass
class Work:
    """One kind of work in one section of the campaign."""

    section: Section
    kind: Kind
    model: str = ""
    """Whom calls are made to."""
    done: int = 0
    unresolved: int = 0
    """Of those done: verdicts that say nothing about a solution."""
    pending: Counter[str | TrainingKey] = field(default_factory=Counter)
    """What measured rates go by: the experiment of calls, builds and verdicts, the graph, the key of a training."""
    at_most: bool = False
    """What is pending depends on results that are not there yet, or may be in ledger or store already."""
    unsized: int = 0
    """Further pending solutions, the number of whose workloads is not known yet."""


def progress(files: FileMap, reader: Reader) -> list[Work]:
    """The campaign of a config, section by section; what it does not have is left out.

    Raises RecordError for a damaged file of results, ProviderError for a model without an address.
    """
    ledger = Ledger(Path(files.settings.paths.ledger))
    found: list[Work] = []
    for section, names in experiments_of(files.settings).items():
        found += _calls(files, section, names, reader, ledger)
        found += _kernels(files, section, names, reader)
    return [*found, *_trainings(files, reader)]


def experiments_of(settings: Settings) -> dict[Section, list[str]]:
    """Section -> its experiments: those that write kernels from scratch, and those that improve existing ones."""
    kinds = Kinds.of(settings)
    return {"KernelBench": kinds.not_rounds, "Astra": kinds.rounds}


def _calls(files: FileMap, section: Section, names: Iterable[str], reader: Reader, ledger: Ledger) -> Iterable[Work]:
    settings = files.settings
    by_model: dict[str, Work] = {}
    waiting: set[str] = set()  # one request may serve several experiments
    for name in names:
        problems = {batch: len(_problems(files, name, batch, reader)) for batch in settings.batches(name)}
        for asked in files.experiments.questions(name):
            model = asked.shard.model
            work = by_model.setdefault(model, Work(section, "calls", model))
            answers = reader.count(asked.answers)
            if answers is not None:
                work.done += answers
            elif (prompts := reader.rows(asked.prompts, Prompt)) is not None:
                target = parse_model(model, settings.llm)
                _count_asked(work, settings, asked, prompts, target, ledger, waiting)
            else:
                work.pending[name] += problems[asked.shard.batch] * asked.samples
                work.at_most = True
    return by_model.values()


def _count_asked(
    work: Work, settings: Settings, asked: Questions, prompts: Iterable[Prompt], target: Target, ledger: Ledger,
    waiting: set[str],
) -> None:  # fmt: skip
    """Prompts without a file of answers: an answer that the ledger has is paid for."""
    sampling = settings.experiments[asked.shard.experiment].sampling
    for prompt in prompts:
        for sample in prompt.samples:
            if target.provider == "recorded":
                work.pending[asked.shard.experiment] += 1
                continue
            request = target.request(prompt, sample, sampling)
            if ledger.has(request):
                work.done += 1
            elif request.key not in waiting:
                waiting.add(request.key)
                work.pending[asked.shard.experiment] += 1


def _kernels(files: FileMap, section: Section, names: Iterable[str], reader: Reader) -> list[Work]:
    builds, verdicts = Work(section, "builds"), Work(section, "verdicts")
    for name in names:
        sizes = _workloads(files, name, reader)
        for shard in files.experiments.shards(name):
            expected = _expected_solutions(files, shard, reader)
            _count_builds(builds, shard, sum(expected.values()), reader)
            if section == "Astra":
                suite = reader.rows(shard.suites, WorkloadView)
                chosen = None if suite is None else Counter(row.definition for row in suite)
                _count_verdicts(verdicts, name, shard.records("traces"), expected, chosen, reader)
                if name in files.kinds.evaluated:
                    _count_verdicts(verdicts, name, shard.records("evaluations"), expected, sizes, reader)
                elif shard.turn == 0:  # once a batch
                    reported = _expected_winners(shard, expected, reader)
                    _count_verdicts(verdicts, name, shard.evaluated_winners, reported, sizes, reader)
            else:
                _count_verdicts(verdicts, name, shard.records("traces"), expected, sizes, reader)
    return [work for work in (builds, verdicts) if work.done or work.pending or work.unsized]


def _count_builds(work: Work, shard: Shard, expected: int, reader: Reader) -> None:
    built = reader.count(shard.records("builds"))
    if built is not None:
        work.done += built
        return
    work.pending[shard.experiment] += expected
    work.at_most = True


def _count_verdicts(
    work: Work, experiment: str, file: str, expected: Counter[str], sizes: Counter[str] | None, reader: Reader
) -> None:
    """`expected`: definition -> solutions; `sizes`: definition -> workloads if not one, None where not known yet."""
    rows = reader.rows(file, TraceView)
    if rows is not None:
        work.done += len(rows)
        work.unresolved += sum(not row.status.resolved for row in rows)
        return
    work.at_most = True
    if sizes is None:
        work.unsized += sum(expected.values())
    else:
        work.pending[experiment] += sum(number * sizes.get(name, 1) for name, number in expected.items())


def _expected_solutions(files: FileMap, shard: Shard, reader: Reader) -> Counter[str]:
    """Definition -> its solutions in a job: those that are there, or as many as there can be."""
    rows = reader.rows(shard.records("solutions"), SolutionView)
    if rows is not None:
        return Counter(row.definition for row in rows)
    settings, item = files.settings, files.settings.experiments[shard.experiment]
    if item.files is not None:  # which job a file belongs to is known once they are read
        first = shard.batch == settings.batches(shard.experiment)[0]
        searches = item.strategy.repeats if isinstance(item.strategy, Tuned) else 1
        return Counter({"": searches * len(source_files(Path(item.files)))} if first else {})
    if item.archive is not None:  # before the archive is read, one answer to each problem is a guess
        published = reader.rows(files.paths.archive(item.archive), ArchivedView)
        if published is not None:
            return _published(settings, shard, published)
    existing = item.method in ASTRA and shard.turn == 0
    samples = 1 if existing else item.candidates
    return Counter(dict.fromkeys(_problems(files, shard.experiment, shard.batch, reader), samples))


def _published(settings: Settings, shard: Shard, answers: Iterable[ArchivedView]) -> Counter[str]:
    """Problem -> an archive's answers to it in a job; some may turn out to be to another text."""
    item = settings.experiments[shard.experiment]
    numbers = {pair for pair in settings.batch(shard.experiment, shard.batch) if item.selects(*pair)}
    return Counter(f"level{row.level}/{row.number}" for row in answers if (row.level, row.number) in numbers)


def _expected_winners(first: Shard, existing: Counter[str], reader: Reader) -> Counter[str]:
    """As `_expected_solutions`, of those that are evaluated; before they are chosen each kernel is to have a winner."""
    rows = reader.rows(first.winners, SolutionView)
    return existing + existing if rows is None else Counter(row.definition for row in rows)


def _problems(files: FileMap, experiment: str, batch: str, reader: Reader) -> list[str]:
    """Names of the definitions of a job; before they are made, of all problems that the config speaks of."""
    settings, item = files.settings, files.settings.experiments[experiment]
    numbers = [pair for pair in settings.batch(experiment, batch) if item.selects(*pair)]
    names: list[str] = []
    for level in sorted({level for level, _ in numbers}):
        known = reader.rows(files.paths.level("definitions", item.source, level), ProblemView)
        if known is None:
            names += [f"level{level}/{number}" for at, number in numbers if at == level]
        else:
            names += [row.name for row in known if (row.level, row.number) in numbers]
    return names


def _workloads(files: FileMap, experiment: str, reader: Reader) -> Counter[str] | None:
    """Definition -> its workloads: a problem of a benchmark has one, an existing kernel what its file says."""
    settings = files.settings
    if settings.sources[settings.experiments[experiment].source].kind != "kernels":
        return Counter()
    found = [reader.rows(path, WorkloadView) for path in files.experiments.level_files("workloads", experiment)]
    if None in found:
        return None
    return Counter(row.definition for rows in found for row in rows or ())


def _trainings(files: FileMap, reader: Reader) -> Iterator[Work]:
    graphs, trainings, inferences = (Work("SALIENT", kind) for kind in ("graphs", "trainings", "inferences"))
    settings, paths = files.settings, files.paths
    for graph in files.trainings.graphs:
        _count_file(graphs, graph, Path(paths.graph(graph)).exists())
    for key in files.trainings.keys:
        _count_file(trainings, key, reader.one(paths.training("training", key), TrainingView) is not None)
        if settings.trainings[key.training].inference.splits:
            _count_file(inferences, key, reader.one(paths.training("inference", key), InferenceView) is not None)
        stops = settings.trainings[key.training].hyper(key.graph, key.model).patience_epochs
        trainings.at_most |= stops is not None and key in trainings.pending
    yield from (work for work in (graphs, trainings, inferences) if work.done or work.pending)


def _count_file(work: Work, key: str | TrainingKey, done: bool) -> None:
    if done:
        work.done += 1
    else:
        work.pending[key] += 1

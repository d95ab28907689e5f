"""The stages as functions of files: what a workflow script and a `hone` command call, one call each.

Every function reads record files, calls one sub-package, and writes its output whole or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hone.code import commit
from hone.config import LLM, Experiment, Paths, Settings
from hone.config_archives import Archive
from hone.config_sources import Source
from hone.errors import MachineError, located
from hone.files import read_records, write_records
from hone.records import (
    TORCH_BASELINES,
    Answer,
    Build,
    BuildStatus,
    Candidate,
    Definition,
    Prompt,
    Protocol,
    Record,
    Sampling,
    Solution,
    Status,
    Tolerance,
    Trace,
    UnsupportedProblem,
    Workload,
)

R = TypeVar("R", bound=Record)
Numbers = Collection[tuple[int, int]]
"""(level, number) pairs of a batch."""
PROMPTS = Path("config/prompts")
GPUS = Path("resources/hardware/gpus.yaml")


def read_all(paths: Iterable[str | Path], kind: type[R]) -> list[R]:
    """Records of several files, in the order given."""
    return [record for path in paths for record in read_records(Path(path), kind)]


def workloads_by_definition(paths: Iterable[str | Path]) -> dict[str, list[Workload]]:
    """Definition -> its workloads, in the order of the files."""
    from hone.sources.workloads import group

    return group(read_all(paths, Workload))


def fetch_problems(name: str, source: Source, output: Path) -> None:
    """A source's problem files, or entries of existing kernels, verified against the config; raises SourceError."""
    from hone.sources.fetch import fetch
    from hone.sources.kernels.fetch import fetch as fetch_kernels

    with located(f"sources.{name}"):
        if source.kind == "kernels":
            write_records(output, fetch_kernels(name, source))
        else:
            write_records(output, fetch(name, source))


def fetch_archive(name: str, archive: Archive, *, answers: Path, skipped: Path) -> None:
    """An archive's answers as they were published, and those that are left out; raises SourceError."""
    from hone.sources.archives.fetch import fetch

    with located(f"archives.{name}"):
        found, left_out = fetch(name, archive)
    write_records(answers, found)
    write_records(skipped, left_out)


def define_level(
    problems: Path,
    level: int,
    tolerance: Tolerance,
    *,
    kind: str,
    baselines: Sequence[str],
    soundness: Path,
    versions: Path,
    definitions: Path,
    workloads: Path,
    unsupported: Path,
) -> None:
    """Definitions of one level and their workloads, and the problems that cannot become one.

    A problem has one workload, an existing kernel (`kind: kernels`) those of its entry.
    """
    from hone.sources import soundness as flags
    from hone.sources.inspect import define
    from hone.sources.kernels.define import define as define_kernels
    from hone.sources.kernels.fetch import KernelFile
    from hone.sources.problem import ProblemFile
    from hone.sources.workloads import workload_of

    missing: list[UnsupportedProblem] = []
    if kind == "kernels":
        found, sized = define_kernels(read_records(problems, KernelFile), tolerance, baselines=baselines)
    else:
        files = [file for file in read_records(problems, ProblemFile) if file.level == level]
        known = flags.read(soundness, versions).at(max(tolerance.atol, tolerance.rtol))
        found, missing = define(files, known, baselines=[name for name in baselines if name in TORCH_BASELINES])
        sized = [workload_of(definition, tolerance) for definition in found]
    write_records(definitions, found)
    write_records(workloads, sized)
    write_records(unsupported, missing)


def select(
    batch: Numbers, definitions: Iterable[Path], workloads: Iterable[Path], *, chosen: Path, chosen_workloads: Path
) -> None:
    """The definitions of a batch and their workloads, out of whole levels."""
    found = [item for item in read_all(definitions, Definition) if (item.level, item.number) in batch]
    names = {item.name for item in found}
    write_records(chosen, found)
    write_records(chosen_workloads, [item for item in read_all(workloads, Workload) if item.definition in names])


def render(
    name: str, experiment: Experiment, batch: Numbers, definitions: Iterable[Path], workloads: Iterable[Path],
    output: Path,
) -> None:  # fmt: skip
    """First prompts of a batch."""
    from hone.methods.render import Renderer, selected

    renderer = Renderer(name, experiment, workloads_by_definition(workloads), PROMPTS, GPUS)
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
    output: Path,
) -> None:
    """Prompts of a later turn of a batch: one for each sample, with what became of its last answer.

    A sample whose last kernel could not be judged has no prompt; MachineError when none could be judged.
    """
    from hone.methods.feedback import previous_answer
    from hone.methods.render import Renderer, selected

    shown = workloads_by_definition(workloads)
    renderer = Renderer(name, experiment, shown, PROMPTS, GPUS)
    known = {item.name: item for item in selected(read_all(definitions, Definition), experiment, batch)}
    by_id = {item.id: item for item in read_records(solutions, Solution)}
    built = {item.solution: item for item in read_records(builds, Build)}
    judged = _telling(read_records(traces, Trace), shown)
    rows = read_records(candidates, Candidate)
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
        prompts.append(renderer.next(known[row.definition], turn, row.sample, previous))
    write_records(output, prompts)


def _telling(traces: Iterable[Trace], workloads: Mapping[str, Sequence[Workload]]) -> dict[str, Trace]:
    """Solution -> its trace on the first workload that may be shown, or on the first of them that it fails on."""
    from hone.sources.workloads import visible

    ids = {workload.id for items in workloads.values() for workload in visible(items)}
    found: dict[str, Trace] = {}
    for trace in traces:
        known = found.get(trace.solution)
        if trace.workload in ids and (known is None or known.status is Status.PASSED is not trace.status):
            found[trace.solution] = trace
    return found


def generate(
    prompts: Path, model: str, sampling: Sampling, *, llm: LLM, paths: Paths, batch_file: Path, output: Path
) -> None:
    """Answers to a batch's prompts, from the ledger or from the model."""
    from hone.llm.answer import answer_prompts

    asked = read_records(prompts, Prompt)
    answers = answer_prompts(
        asked, model=model, sampling=sampling, llm=llm, paths=paths, batch_file=batch_file, progress=True
    )
    write_records(output, answers)


def extract(answers: Path, experiment: Mapping[str, Any], *, candidates: Path, solutions: Path) -> None:
    """Candidates and distinct solutions of a batch; `experiment` gives method and language."""
    from hone.methods import extract as extraction

    chosen = Experiment.model_validate({"source": "any", "levels": (1,), **experiment})
    rows, kernels = extraction.candidates(read_records(answers, Answer), chosen.method, chosen.language)
    write_records(candidates, rows)
    write_records(solutions, kernels)


def gold(
    name: str, model: str, experiment: Experiment, batch: Numbers, definitions: Iterable[Path], *,
    candidates: Path, solutions: Path,
) -> None:  # fmt: skip
    """Each definition's own reference as its candidate: checks the judge and the problems, not a model."""
    from hone.judge.gold import gold_solution
    from hone.methods.render import selected

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
    from hone.methods import files as folder

    rows, kernels = folder.candidates(name, model, experiment, batch, read_all(definitions, Definition))
    write_records(candidates, rows)
    write_records(solutions, kernels)


def archived(
    name: str, experiment: Experiment, batch: Numbers, definitions: Iterable[Path], answers: Path, *,
    candidates: Path, solutions: Path, claims: Path, skipped: Path,
) -> None:  # fmt: skip
    """Published answers to a batch's problems, with what their archive says of them."""
    from hone.methods.archive import published
    from hone.sources.archives.answer import ArchivedAnswer

    known = read_all(definitions, Definition)
    made = published(name, experiment, batch, known, read_records(answers, ArchivedAnswer))
    write_records(candidates, made.candidates)
    write_records(solutions, made.solutions)
    write_records(claims, made.claims)
    write_records(skipped, made.skipped)


def build(
    solutions: Path, definitions: Iterable[Path], *, store: Path, timeout_s: float, workers: int, device: str,
    output: Path,
) -> None:  # fmt: skip
    """Shared objects, or what the compiler said, of a batch's solutions and of the existing kernels beside them.

    MachineError when there is no compiler.
    """
    from hone.build import build_all
    from hone.build.kernels import with_kernels

    known = {item.name: item for item in read_all(definitions, Definition)}
    kernels = with_kernels(read_records(solutions, Solution), known, device)
    builds = build_all(
        kernels, known, store=store, timeout_s=timeout_s, workers=workers, extensions=device == "cuda", progress=True
    )
    missing = [item for item in builds if item.status is BuildStatus.NO_COMPILER]
    if missing:
        problem = f"{len(missing)} solutions wait for a compiler: {missing[0].log.splitlines()[0]}"
        raise MachineError(problem, where=str(solutions), remedy="install it, then run the same command again")
    write_records(output, builds)


def judge(
    solutions: Path,
    builds: Path,
    definitions: Iterable[Path],
    workloads: Iterable[Path],
    *,
    protocol: Protocol,
    baselines: Sequence[str],
    store: Path,
    output: Path,
) -> None:
    """Verdicts and times of a batch's solutions, one trace for each solution and workload of its definition."""
    from hone.judge.judging import judge_all

    kernels = read_records(solutions, Solution)
    needed = {kernel.definition for kernel in kernels}
    known = {item.name: item for item in read_all(definitions, Definition) if item.name in needed}
    given = workloads_by_definition(workloads)
    compiled = {item.solution: item for item in read_records(builds, Build)}
    traces = judge_all(kernels, compiled, known, given, protocol, baselines=baselines, store=store, progress=True)
    write_records(output, traces)


def tables(settings: Settings, files: Mapping[str, Iterable[Path]], *, published: Path, folder: Path) -> None:
    """All tables, as CSV and Markdown; `files` go by the fields of `hone.analysis.run.RunRecords`."""
    from hone.analysis.provenance import Provenance
    from hone.analysis.run import read_run
    from hone.analysis.stage import make_tables

    make_tables(settings, read_run(files), Provenance.of(settings, commit()), folder, published_dir=published)


def pages(settings: Settings, experiment: str, files: Mapping[str, Iterable[Path]], folder: Path) -> None:
    """A page for each kernel of an Astra experiment; `files` as for `tables`, of this experiment alone."""
    from hone.analysis.pages import write_pages
    from hone.analysis.run import read_run

    write_pages(settings, experiment, read_run(files), folder)


def figures(tables_folder: Path, folder: Path) -> None:
    """All figures, from the tables alone."""
    from hone.analysis.stage import make_figures

    make_figures(tables_folder, folder)


def summary(results: Path, output: Path, trajectories: Sequence[Path] = ()) -> None:
    """One page with every table and figure, and a link to each index of trajectory pages."""
    from hone.analysis.stage import write_summary

    write_summary(results / "tables", results / "figures", output, trajectories)

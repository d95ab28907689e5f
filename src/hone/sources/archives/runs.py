"""Archives that are folders of runs: a file an answer, and what became of the answers in files beside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hone.config.archives import RunsArchive
from hone.core.errors import SourceError
from hone.records import Claimed
from hone.sources.archives.answer import Found, Gathered, SkipReason
from hone.sources.archives.logs import Place, Printed, printed_times, with_reference
from hone.sources.archives.reading import Repository, Texts, json_value, yaml_mapping
from hone.sources.archives.verdicts import as_mapping, claimed_of

KERNEL = re.compile(r"level_(\d+)_problem_(\d+)_sample_(\d+)_kernel\.py")
DETAILED_KERNEL = re.compile(r"problem_(\d+)_kernel\.py")
GENERATED_KERNEL = re.compile(r"generated_kernels/level_(\d+)/problem_(\d+)\.py")
PER_PROBLEM = re.compile(r"per_problem/level_(\d+)/problem_(\d+)\.json")

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """One run as a layout gives it."""

    settings: Result
    """What the answers were asked with."""
    model: str
    kernels: Mapping[Place, str]
    """Place of an answer -> its file."""
    results: Mapping[Place, Result]
    """Place of an answer -> what the harness said, as KernelBench words it; answers that never ran have none."""
    reasons: Mapping[Place, str]
    """Of answers without a kernel or a result: what the archive says."""
    broken: tuple[str, ...] = ()
    """Files that should hold settings or results and cannot be read."""


def read_runs(repository: Repository, archive: RunsArchive) -> Gathered:
    """All answers of the runs that the config names; raises SourceError for one that is not there."""
    gathered, texts, times = Gathered(), repository.required_texts(), _times(repository, archive)
    printed = _printed(repository, archive)
    for name in archive.runs:
        repository.require_folder(archive.folder, name, "runs")
        _read_run(repository, archive, name, texts, times, printed, gathered)
    return gathered


def _read_run(
    repository: Repository, archive: RunsArchive, name: str, texts: Texts, times: Mapping[Place, Claimed],
    printed: Printed, gathered: Gathered,
) -> None:  # fmt: skip
    folder = f"{archive.folder}/{name}"
    files, links = repository.folder(folder), repository.links(folder)
    run = LAYOUTS[archive.kind]({**dict.fromkeys(links, b""), **files}, f"{archive.url}: {folder}")
    origin = repository.origin(name, folder, archive.model or run.model, run.settings)
    for path in run.broken:
        at = origin.model_copy(update={"path": f"{folder}/{path}"})
        gathered.skip(at, SkipReason.BROKEN_RESULTS, "cannot be read")
    for place in sorted({*run.kernels, *run.reasons}):
        file = run.kernels.get(place)
        at = origin.model_copy(update={"path": f"{folder}/{file}" if file else folder})
        if file in links:
            gathered.skip(at, SkipReason.LINK, place=place[:2])
            continue
        claimed = _claimed(run, place, archive.hardware, times)
        claimed = with_reference(claimed, (name, archive.times.get(place[0], name)), place, printed)
        source = files[file] if file else None
        found = Found(at, *place, source, texts.get(place[:2]), claimed, run.reasons.get(place, ""))
        gathered.found.append(found)


def _claimed(run: Run, place: Place, hardware: str, times: Mapping[Place, Claimed]) -> Claimed:
    """Of one answer; its time out of a later run, where that has one and both say that the answer is correct."""
    claimed = claimed_of(run.results.get(place), hardware)
    if not claimed.error and (reason := run.reasons.get(place)):
        claimed = claimed.model_copy(update={"error": reason[:500]})
    timed = times.get(place)
    if timed is None or not (claimed.correct and timed.correct):
        return claimed
    found = {name: getattr(timed, name) for name in ("runtime_ms", "reference_ms", "speedup")}
    return claimed.model_copy(update={name: value for name, value in found.items() if value is not None})


def _times(repository: Repository, archive: RunsArchive) -> dict[Place, Claimed]:
    """What later runs of the same answers say; raises SourceError for a run that is not there."""
    found: dict[Place, Claimed] = {}
    for level, name in archive.times.items():
        content = repository.file(f"{archive.folder}/{name}/eval_results.json", "times")
        rows = _evaluated(json_value(content), level)
        found |= {place: claimed_of(result) for place, result in rows.items()}
    return found


def _printed(repository: Repository, archive: RunsArchive) -> Printed:
    """What the archive's logs say; raises SourceError for a log that is not there."""
    found: dict[tuple[str, Place], tuple[float, float]] = {}
    for path in archive.logs:
        found |= printed_times(repository.file(path, "logs"))
    return found


def _kernelbench_run(files: Mapping[str, bytes], where: str) -> Run:
    """As KernelBench's scripts write it; the level of `eval_results.json` is that of the settings."""
    broken = []
    settings = yaml_mapping(files.get("generation_config.yaml", b"{}"))
    broken += [] if settings is not None else ["generation_config.yaml"]
    settings = settings or {}
    kernels = {(int(m[1]), int(m[2]), int(m[3])): path for path in files if (m := KERNEL.fullmatch(path))}
    content = json_value(files.get("eval_results.json", b"{}"))
    broken += [] if isinstance(content, dict) else ["eval_results.json"]
    levels = {level for level, _, _ in kernels}
    level = settings.get("level", next(iter(levels)) if len(levels) == 1 else None)
    results = _evaluated(content, level) if isinstance(level, int) else {}
    reasons = {place: claimed_of(result).error for place, result in results.items() if place not in kernels}
    return Run(settings, str(settings.get("model_name") or ""), kernels, results, reasons, tuple(broken))


def _evaluated(content: Any, level: int) -> dict[Place, Result]:
    """Results by place: `eval_results.json` has a result, or a list of samples, for each problem's number."""
    found: dict[Place, Result] = {}
    for number, samples in as_mapping(content).items():
        for index, result in enumerate(samples if isinstance(samples, list) else [samples]):
            if isinstance(result, Mapping) and str(number).isdecimal():
                sample = result.get("sample_id", index)
                found[level, int(number), sample if isinstance(sample, int) else index] = result
    return found


def _detailed_run(files: Mapping[str, bytes], where: str) -> Run:
    """As the scripts with one `detailed_results.json` a level write it."""
    content = as_mapping(json_value(files.get("detailed_results.json", b"")))
    about, settings = as_mapping(content.get("run_info")), as_mapping(content.get("config"))
    level = about.get("level")
    if not isinstance(level, int):
        remedy = "leave the run out: nothing else in it says which level's problems were asked"
        raise SourceError("has no run_info.level", where=f"{where}/detailed_results.json", remedy=remedy)
    kernels = {(level, int(m[1]), 0): path for path in files if (m := DETAILED_KERNEL.fullmatch(path))}
    listed = content.get("results")
    rows = {(level, number, 0): row for number, row in _numbered(listed if isinstance(listed, list) else [])}
    results = {place: row["eval_result"] for place, row in rows.items() if isinstance(row.get("eval_result"), Mapping)}
    reasons = {place: str(row.get("error") or "") for place, row in rows.items() if place not in results}
    return Run(settings, str(about.get("model") or settings.get("model_name") or ""), kernels, results, reasons)


def _numbered(rows: list[Any]) -> Iterator[tuple[int, Result]]:
    """(number, row) of those that name their problem."""
    for row in rows:
        if isinstance(row, Mapping) and isinstance(row.get("problem_id"), int):
            yield row["problem_id"], row


def _per_problem_run(files: Mapping[str, bytes], where: str) -> Run:
    """As the scripts with a file of results for each problem write it; `evaluated` ones alone have a verdict."""
    settings = json_value(files.get("config_snapshot.json", b"{}"))
    broken = [] if isinstance(settings, dict) else ["config_snapshot.json"]
    settings = as_mapping(settings)
    kernels = {(int(m[1]), int(m[2]), 0): path for path in files if (m := GENERATED_KERNEL.fullmatch(path))}
    results: dict[Place, Result] = {}
    reasons: dict[Place, str] = {}
    for path, content in files.items():
        if (match := PER_PROBLEM.fullmatch(path)) is None:
            continue
        place, row = (int(match[1]), int(match[2]), 0), json_value(content)
        if not isinstance(row, dict):
            broken.append(path)
        elif row.get("status") == "evaluated" and isinstance(row.get("eval_result"), dict):
            results[place] = row["eval_result"]
        else:
            reasons[place] = f"{row.get('status')}: {row.get('error') or row.get('static_errors') or ''}"
    model = str(settings.get("codex_model") or settings.get("model_name") or "")
    return Run(settings, model, kernels, results, reasons, tuple(broken))


LAYOUTS: dict[str, Callable[[Mapping[str, bytes], str], Run]] = {
    "kernelbench_runs": _kernelbench_run,
    "detailed_runs": _detailed_run,
    "per_problem_runs": _per_problem_run,
}
"""Kind of archive -> how a run of it is read: its files below its folder, and their place for messages."""

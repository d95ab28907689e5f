"""Archives that are tables: files with a row an answer, which holds its source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from hone.config.archives import LeaderboardArchive, ScoredLinesArchive
from hone.core.errors import SourceError
from hone.records import Claimed, ClaimedVerdict
from hone.sources.archives.answer import Found, Gathered, SkipReason
from hone.sources.archives.reading import Repository, Texts, json_value
from hone.sources.archives.verdicts import positive

ROW_NEEDS = ("level_id", "task_id", "ref_code", "custom_code")
ENTRY_NEEDS = ("level", "problem_id", "model", "code")


def read_scored_lines(repository: Repository, archive: ScoredLinesArchive) -> Gathered:
    """Answers of the runs' files. A row has its problem's text; a score is a speedup over PyTorch, of correct ones."""
    gathered = Gathered()
    texts = repository.problem_texts() if archive.problems_commit else None
    for run in archive.runs:
        path = f"{archive.folder}/{run}.json"
        lines = repository.file(path, "runs").split(b"\n")
        for index, line in enumerate(lines):
            if line.strip():
                _read_row(repository, archive, run, f"{path}#{index}", json_value(line), texts, gathered)
    return gathered


def _read_row(
    repository: Repository, archive: ScoredLinesArchive, run: str, path: str, row: Any, texts: Texts | None,
    gathered: Gathered,
) -> None:  # fmt: skip
    origin = repository.origin(run, path, archive.model)
    if (complaint := _lacking(row, ROW_NEEDS, ("level_id", "task_id"))) is not None:
        gathered.skip(origin, SkipReason.BROKEN_ROW, complaint)
        return
    place = (row["level_id"], row["task_id"])
    stored = row["ref_code"].encode() if isinstance(row["ref_code"], str) else None
    score = positive(row.get("score_default"))
    gathered.found.append(
        Found(
            origin, *place, sample=0, source=_source(row["custom_code"]), problem=texts.get(place) if texts else stored,
            claimed=_correct(archive.hardware or run, speedup=score) if score else Claimed(hardware=archive.hardware),
            detail="a row without source" + (f", with a score of {score:g}" if score else ""),
        )
    )  # fmt: skip


def read_leaderboard(repository: Repository, archive: LeaderboardArchive) -> Gathered:
    """Answers of the list: all are correct by selection. Its problem numbers count from 0."""
    entries = json_value(repository.file(archive.file, "file"))
    if not isinstance(entries, list):
        raise SourceError("is not a JSON list", where=f"{archive.url}: {archive.file}", remedy="correct commit or file")
    gathered, samples, texts = Gathered(), Counter[tuple[Any, ...]](), _leaderboard_texts(repository, archive)
    for index, entry in enumerate(entries):
        path = f"{archive.file}#{index}"
        if (complaint := _lacking(entry, ENTRY_NEEDS, ("level", "problem_id"))) is not None:
            gathered.skip(repository.origin("", path), SkipReason.BROKEN_ROW, complaint)
            continue
        if archive.models and entry["model"] not in archive.models:
            continue
        key = (entry["model"], entry["level"], entry["problem_id"] + 1)
        gathered.found.append(_entry(repository, archive, path, entry, samples[key], texts))
        samples[key] += 1
    _require_models(archive, gathered)
    return gathered


def _leaderboard_texts(repository: Repository, archive: LeaderboardArchive) -> Texts:
    if archive.problems_commit:
        return repository.required_texts()
    stored = repository.folder(archive.problems_folder)
    names = {name.removesuffix(".py").removeprefix("l").partition("_p")[::2]: text for name, text in stored.items()}
    return {(int(level), int(n)): text for (level, n), text in names.items() if level.isdecimal() and n.isdecimal()}


def _entry(
    repository: Repository, archive: LeaderboardArchive, path: str, entry: Mapping[str, Any], sample: int, texts: Texts
) -> Found:
    place = (entry["level"], entry["problem_id"] + 1)
    claimed = _correct(
        archive.hardware,
        runtime_ms=positive(entry.get("kernel_eval_time")),
        speedup=positive(entry.get("torch_speedup")),
        reference_ms=positive(entry.get("baseline_torch_time")),
    )
    origin = repository.origin("", path, str(entry["model"]))
    return Found(origin, *place, sample, _source(entry["code"]), texts.get(place), claimed)


def _require_models(archive: LeaderboardArchive, gathered: Gathered) -> None:
    found = {item.origin.model for item in gathered.found}
    if missing := sorted(set(archive.models) - found):
        problem = f"has no answer of '{missing[0]}'"
        raise SourceError(problem, where=f"{archive.url}: {archive.file}", remedy="correct models of the archive")


def _correct(hardware: str, **quantities: float | None) -> Claimed:
    return Claimed(verdict=ClaimedVerdict.CORRECT, compiled=True, correct=True, hardware=hardware, **quantities)


def _source(value: object) -> bytes | None:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None


def _lacking(row: Any, needed: tuple[str, ...], numbers: tuple[str, ...]) -> str | None:
    """What a row is not or lacks; None for a whole one. `numbers`: the fields that are to be integers."""
    if not isinstance(row, dict):
        return "not a JSON object"
    if missing := [name for name in needed if name not in row]:
        return f"without {', '.join(missing)}"
    wrong = [name for name in numbers if not isinstance(row[name], int) or isinstance(row[name], bool)]
    return f"{', '.join(wrong)}: not a whole number" if wrong else None

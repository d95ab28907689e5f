"""From records to one tidy frame: a row for every answer that the config asks for, whatever became of it.

The rows are laid out from the config (problems x samples x turns) and then filled, so that an answer which was
lost shows up as unresolved and never as a smaller denominator.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from hone.analysis.metrics import geometric_mean, paired_ratio_interval
from hone.analysis.provenance import joined, of_trace, on_gpu
from hone.config.experiments import ASTRA, Experiment
from hone.config.settings import Settings
from hone.config.sources import KernelBenchSource
from hone.core.errors import RecordError
from hone.records import Answer, Candidate, Definition, Protocol, Status, Trace, UnsupportedProblem
from hone.selection.rank import latest

NO_CODE = "no_code"
UNANSWERED = "unanswered"
"""Status of a prompt that the server refused: it stays in every denominator, as a failure."""
MISSING = "missing"
"""Status of an answer or verdict that should be there and is not."""

CATEGORY: dict[str, str] = {
    Status.PASSED: "correct",
    Status.COMPILE_ERROR: "compiler",
    Status.LOAD_ERROR: "python",
    Status.OUT_OF_MEMORY: "memory",
    Status.RUNTIME_ERROR: "runtime",
    Status.WRONG_SHAPE: "shape",
    Status.WRONG_VALUE: "value",
    Status.INPUT_CHANGED: "value",
    Status.IMPRECISE: "value",
    NO_CODE: "no_code",
    UNANSWERED: "unanswered",
    Status.TIMEOUT: "timeout",
    Status.NOT_JUDGED: "unresolved",
    Status.MACHINE_ERROR: "unresolved",
    MISSING: "unresolved",
}
"""Status -> outcome as in the paper's Figure 2 (first seven), and what the paper does not tell apart (last four)."""

CATEGORIES = tuple(dict.fromkeys(CATEGORY.values()))

FRAME_COLUMNS = (
    *("experiment", "method", "model", "level", "number", "definition", "sound", "turn", "sample"),
    *("label", "solution", "status", "status_as_published", "category", "resolved", "correct", "detail", "findings"),
    "mode",
    *("latency_ms", "charged_ms", "wall_s", "gpu_held_s", "judged_by"),
    *("device", "driver", "protocol", "torch"),
    *("prompt_differs", "cost_usd", "input_tokens", "output_tokens"),
)
"""Columns of every frame; SPEED_COLUMNS, each with `_<baseline>`, follow for every baseline of the config."""

SPEED_COLUMNS = ("speedup", "speedup_low", "speedup_high", "baseline_ms", "credited", "as_published")
"""`speedup` is what was measured, `as_published` the same by KernelBench's own loop, where the protocol asks for it.
`credited` is what counts for fast_p at p > 0: 0, so never faster, where a finding makes the time doubtful
(records.Performance.findings), although the solution is correct; else the speedup."""


class Place(NamedTuple):
    """Where an answer stands: one row of the frame."""

    experiment: str
    model: str
    definition: str
    turn: int
    sample: int


@dataclass(frozen=True)
class Problem:
    """A problem of a source, with or without a definition."""

    name: str
    level: int
    number: int
    sound: bool = True


def problems_of(
    settings: Settings, source: str, definitions: Iterable[Definition], unsupported: Iterable[UnsupportedProblem]
) -> list[Problem]:
    """All problems of a source by level and number, with those that did not become a definition.

    Numbers of a KernelBench source that neither list names are filled in: the config says how many there are.
    """
    found = {
        (item.level, item.number): Problem(item.name, item.level, item.number, item.sound)
        for item in definitions
        if item.source == source
    }
    for name in (item.name for item in unsupported if item.name.startswith(f"{source}/level")):
        level, number = _level_and_number(name)
        found.setdefault((level, number), Problem(name, level, number))
    described = settings.sources[source]
    if found and isinstance(described, KernelBenchSource):
        for level, count in described.levels.items():
            for number in range(1, count + 1):
                found.setdefault((level, number), Problem(f"{source}/level{level}/{number}", level, number))
    return [found[key] for key in sorted(found)]


def _level_and_number(name: str) -> tuple[int, int]:
    """Of `<source>/level<level>/<number>_<title>`; raises RecordError."""
    try:
        _, level, rest = name.split("/", 2)
        return int(level.removeprefix("level")), int(rest.split("_", 1)[0])
    except ValueError:
        raise RecordError("not of the form <source>/level<level>/<number>_<title>", where=name) from None


def build_frame(
    settings: Settings,
    definitions: Sequence[Definition],
    candidates: Sequence[Candidate],
    traces: Sequence[Trace],
    answers: Sequence[Answer],
    unsupported: Sequence[UnsupportedProblem] = (),
) -> pd.DataFrame:
    """The full grid of all experiments, one row an answer, sorted by experiment, model, problem, sample, turn.

    A `files` or `archive` experiment has a row for each of its candidates: how many there are, the config does not say.
    Astra's rounds are left out: they have tables of their own (astra.py).
    Raises RecordError for two candidates of one place, or for one that the config does not ask for.
    """
    by_place = _index(item for item in candidates if item.method not in ASTRA)
    paid = _answers_by_place(answers)
    verdicts = {key: verdict_of(group, settings) for key, group in _by_solution(traces).items()}
    protocols = {name: settings.protocol(name).digest for name in settings.experiments}
    rows = []
    for place, fixed in _grid(settings, definitions, unsupported, list(by_place)):
        candidate = by_place.pop(place, None)
        verdict = verdicts.get((protocols[place.experiment], candidate.solution or "")) if candidate else None
        rows.append({**place._asdict(), **fixed, **_outcome(candidate, verdict), **_paid(paid.get(place, []))})
    if by_place:
        stray = next(iter(by_place))
        raise RecordError(
            f"{len(by_place)} candidates that the config does not ask for, the first: {tuple(stray)}",
            where="candidates",
            remedy="run the pipeline again, so that candidates and config belong together",
        )
    columns = [*FRAME_COLUMNS, *(f"{name}_{b}" for b in settings.baselines for name in SPEED_COLUMNS)]
    return pd.DataFrame(rows, columns=columns)


def _grid(
    settings: Settings,
    definitions: Sequence[Definition],
    unsupported: Sequence[UnsupportedProblem],
    places: Sequence[Place],
) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Every answer that the config asks for, with what is known of its place; `places` are those of all candidates."""
    for name, experiment in settings.experiments.items():
        if experiment.method in ASTRA:
            continue
        chosen = [
            problem
            for problem in problems_of(settings, experiment.source, definitions, unsupported)
            if experiment.selects(problem.level, problem.number)
        ]
        for model in experiment.models:
            for problem in chosen:
                fixed = {
                    "method": experiment.method,
                    "level": problem.level,
                    "number": problem.number,
                    "sound": problem.sound,
                }
                for place in _places(name, experiment, model, problem, places):
                    yield place, fixed


def _places(
    name: str, experiment: Experiment, model: str, problem: Problem, places: Sequence[Place]
) -> Iterator[Place]:
    """An experiment's answers to one problem, by sample and turn."""
    if experiment.method == "files":
        yield from sorted(place for place in places if place[:3] == (name, model, problem.name))
        return
    if experiment.method == "archive":
        yield from sorted(place for place in places if (place.experiment, place.definition) == (name, problem.name))
        return
    for sample in range(experiment.samples):
        for turn in range(experiment.turns):
            yield Place(name, model, problem.name, turn, sample)


def _index(candidates: Iterable[Candidate]) -> dict[Place, Candidate]:
    found: dict[Place, Candidate] = {}
    for item in candidates:
        place = Place(item.experiment, item.model, item.definition, item.turn, item.sample)
        if place in found:
            raise RecordError(f"two candidates for {tuple(place)}", where="candidates")
        found[place] = item
    return found


def _answers_by_place(answers: Iterable[Answer]) -> dict[Place, list[Answer]]:
    found: dict[Place, list[Answer]] = defaultdict(list)
    for item in answers:
        found[Place(item.experiment, item.model, item.definition, item.turn, item.sample)].append(item)
    return found


def _by_solution(traces: Iterable[Trace]) -> dict[tuple[str, str], list[Trace]]:
    """(digest of the protocol, solution) -> its traces, one a workload: two experiments may judge one solution."""
    by_protocol: dict[Protocol, list[Trace]] = defaultdict(list)
    for trace in traces:
        by_protocol[trace.protocol].append(trace)
    found: dict[tuple[str, str], list[Trace]] = defaultdict(list)
    for protocol, group in by_protocol.items():
        digest = protocol.digest
        for (solution, _), trace in sorted(latest(group).items()):
            found[digest, solution].append(trace)
    return found


def verdict_of(traces: Sequence[Trace], settings: Settings) -> dict[str, Any]:
    """Columns of one solution from its traces, one a workload.

    It passed when all workloads passed; a failed one decides before an unresolved one. Over several workloads times
    and speedups are geometric means; an interval exists for a single one. A solution with findings counts as correct,
    but no speedup is credited: its `credited` is 0.
    """
    deciding = min(traces, key=lambda trace: (trace.status is Status.PASSED, not trace.status.resolved))
    columns: dict[str, Any] = {
        "status": str(deciding.status),
        "status_as_published": str(_deciding_as_published(traces) or ""),
        "detail": deciding.detail,
        "findings": joined(found for trace in traces if trace.performance for found in trace.performance.findings),
        "mode": joined(_mode(trace) for trace in traces),
        "judged_by": joined(trace.environment.commit for trace in traces),
        "wall_s": sum(sum(trace.phase_s.values()) for trace in traces),
        "gpu_held_s": sum(trace.spent_s for trace in traces) if on_gpu(deciding) else 0.0,
        **of_trace(deciding),
    }
    if deciding.status is Status.PASSED:
        columns |= _times(traces, settings)
    return columns | _published_speedups(traces, settings)


def _published_speedups(traces: Sequence[Trace], settings: Settings) -> dict[str, float]:
    """By KernelBench's clock: known, too, of what passes by KernelBench's rule alone."""
    published = [trace.as_published for trace in traces if trace.as_published is not None]
    if len(published) < len(traces):
        return {}
    return {
        f"as_published_{name}": geometric_mean([item.speedup(name) for item in published])
        for name in settings.baselines
        if all(name in item.baselines_ms for item in published)
    }


def _deciding_as_published(traces: Sequence[Trace]) -> Status | None:
    """By KernelBench's rule: the first workload that is not passed; None where one of them says nothing about that."""
    said = [trace.status_as_published for trace in traces]
    return min(said, key=lambda status: status is Status.PASSED) if all(said) else None


def _mode(trace: Trace) -> str:
    """How a GPU's solution was timed; empty where it was not, or on a CPU."""
    clock = trace.performance.clock if trace.performance else None
    return clock.mode if clock else ""


def _times(traces: Sequence[Trace], settings: Settings) -> dict[str, float]:
    """Latency and speedups of a solution that passed; absent ones stay NaN. Findings credit a speedup of 0."""
    timed = [trace.performance for trace in traces if trace.performance is not None]
    if len(timed) < len(traces):
        return {}
    columns = {"latency_ms": geometric_mean([item.solution.latency_ms for item in timed])}
    if len(timed) == 1 and timed[0].clock is not None:
        columns["charged_ms"] = timed[0].clock.charged_ms
    doubtful = any(item.findings for item in timed)
    for name in settings.baselines:
        if not all(name in item.baselines for item in timed):
            continue
        columns[f"speedup_{name}"] = geometric_mean([item.speedup(name) for item in timed])
        columns[f"credited_{name}"] = 0.0 if doubtful else columns[f"speedup_{name}"]
        columns[f"baseline_ms_{name}"] = geometric_mean([item.baselines[name].latency_ms for item in timed])
        if len(timed) == 1:
            interval = paired_ratio_interval(
                timed[0].baselines[name].samples_ms, timed[0].solution.samples_ms, settings.analysis.confidence
            )
            columns[f"speedup_low_{name}"], columns[f"speedup_high_{name}"] = interval
    return columns


def _outcome(candidate: Candidate | None, verdict: dict[str, Any] | None) -> dict[str, Any]:
    """Status columns of one row."""
    empty = (
        *("label", "solution", "status_as_published", "detail", "findings", "mode", "judged_by"),
        *("device", "driver", "protocol", "torch"),
    )  # fmt: skip
    found: dict[str, Any] = dict.fromkeys(empty, "") | ({"label": candidate.label} if candidate else {})
    if candidate is None:
        found |= {"status": MISSING, "detail": "no candidate"}
    elif candidate.solution is None:
        status = UNANSWERED if candidate.unanswered else NO_CODE
        found |= {"status": status, "detail": candidate.problem}
    elif verdict is None:
        found |= {"status": MISSING, "detail": "no verdict", "solution": candidate.solution}
    else:
        found |= verdict | {"solution": candidate.solution}
    category = CATEGORY[found["status"]]
    return found | {"category": category, "resolved": category != "unresolved", "correct": category == "correct"}


def _paid(answers: Sequence[Answer]) -> dict[str, Any]:
    """Cost columns of one row; NaN where the answer is not there, or nobody counted its tokens."""
    if not answers:
        return {"prompt_differs": False, "cost_usd": math.nan, "input_tokens": 0, "output_tokens": 0}
    costs = [item.completion.known_cost_usd for item in answers]
    usages = [item.completion.usage for item in answers]
    return {
        "prompt_differs": any(item.prompt_differs for item in answers),
        "cost_usd": sum(math.nan if cost is None else cost for cost in costs),
        "input_tokens": sum(math.nan if usage is None else usage.input_tokens for usage in usages),
        "output_tokens": sum(math.nan if usage is None else usage.output_tokens for usage in usages),
    }

"""A run as Inspect's logs, written through its own API: one for each experiment and model.

A sample is one problem, an epoch one of its repeated answers; turns and roles are its messages. The records themselves
stand in the sample's metadata under `hone`, so that `read_back` gives them again. An answer without a verdict is an
errored sample: shown, and never scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hone.config.experiments import ASTRA
from hone.config.settings import model_slug
from hone.core.errors import ConfigError
from hone.records import Answer, Candidate, Record, Trace
from hone.site.answer import said
from hone.site.entries import Entry, entries
from hone.site.run import SiteRun

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import ChatMessage, ModelUsage

SCORER = "hone"
KINDS: dict[str, type[Record]] = {"candidates": Candidate, "traces": Trace, "answers": Answer}


def export_logs(site: SiteRun, folder: Path, task: str) -> list[Path]:
    """Write `<experiment>_<model>.eval` for each experiment and model; returns the files.

    `task`: name of the run, which heads the task's. Raises ConfigError where Inspect is not installed.
    """
    write = _api().write_eval_log
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries(site):
        groups.setdefault((entry.place.experiment, entry.place.model), []).append(entry)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for (experiment, model), group in groups.items():
        path = folder / f"{experiment}_{model_slug(model)}.eval"
        write(log_of(site, f"{task}/{experiment}", model, group), str(path))
        paths.append(path)
    return paths


def read_back(path: Path) -> dict[str, list[Any]]:
    """The records of a log that `export_logs` wrote: candidates, traces and answers, each one once."""
    found: dict[str, dict[str, Any]] = {name: {} for name in KINDS}
    for sample in _api().read_eval_log(str(path)).samples or []:
        for name, kind in KINDS.items():
            for data in sample.metadata["hone"][name]:
                record = kind.model_validate(data)
                found[name][record.model_dump_json()] = record
    return {name: list(records.values()) for name, records in found.items()}


def _api() -> Any:
    try:
        import inspect_ai.log
    except ImportError:
        raise ConfigError("Inspect is not installed", where="inspect-ai", remedy="pip install -e '.[export]'") from None
    return inspect_ai.log


def log_of(site: SiteRun, task: str, model: str, group: Sequence[Entry]) -> EvalLog:
    """One log; `group` are all answers of one experiment and model."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalRevision, EvalSpec, EvalStats

    samples = [_sample(site, model, chain) for chain in _chains(group)]
    times = sorted(sample.completed_at for sample in samples if sample.completed_at)
    experiment = site.settings.experiments[group[0].place.experiment]
    provenance = site.run.context.provenance
    spec = EvalSpec(
        created=times[0] if times else "1970-01-01T00:00:00+00:00",
        task=task,
        model=model,
        dataset=EvalDataset(
            name=experiment.source, samples=len({sample.id for sample in samples}),
            sample_ids=list(dict.fromkeys(str(sample.id) for sample in samples)),
        ),
        config=EvalConfig(epochs=max(sample.epoch for sample in samples)),
        revision=EvalRevision(
            type="git", origin="", commit=provenance.commit.rstrip("+"), dirty=provenance.commit.endswith("+")
        ) if provenance.commit else None,
        metadata={
            "method": experiment.method, "config_digest": provenance.config_digest,
            "protocol": site.settings.protocol(group[0].place.experiment).model_dump(mode="json"),
        },
    )  # fmt: skip
    stats = EvalStats(
        started_at=times[0] if times else "", completed_at=times[-1] if times else "", model_usage=_sum(samples)
    )
    return EvalLog(status="success", eval=spec, results=_results(samples), stats=stats, samples=samples)


def _chains(group: Sequence[Entry]) -> Iterator[list[Entry]]:
    """The answers to one problem that belong together: turn after turn of one sample; of rounds all of them."""
    chains: dict[tuple[str, int], list[Entry]] = {}
    for entry in group:
        sample = 0 if entry.cells["method"] in ASTRA else entry.place.sample
        chains.setdefault((entry.place.definition, sample), []).append(entry)
    yield from chains.values()


def _sample(site: SiteRun, model: str, chain: Sequence[Entry]) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ModelOutput

    first, judged = chain[0], _judged(chain)
    answers = _answers(site, chain)
    solution = site.solutions.get(str(judged.cells.get("solution", "")))
    definition = site.definitions.get(first.place.definition)
    resolved = judged.cells["category"] != "unresolved"
    usage = _usage(answers)
    return EvalSample(
        id=first.place.definition,
        epoch=1 if first.cells["method"] in ASTRA else first.place.sample + 1,
        input=definition.reference if definition else first.place.definition,
        target="passed",
        messages=list(_messages(answers, model)),
        output=ModelOutput.from_content(model, answers[-1].completion.response if answers else _source(solution)),
        scores={SCORER: _score(site, judged, solution)} if resolved else None,
        error=None if resolved else EvalError(message=_why(judged), traceback="", traceback_ansi=""),
        metadata={"hone": _records(site, chain, answers), "level": first.cells["level"]},
        model_usage={model: usage} if usage else {},
        started_at=answers[0].completion.created_at if answers else None,
        completed_at=answers[-1].completion.created_at if answers else None,
    )


def _source(solution: Any) -> str:
    return solution.source if solution is not None else ""


def _judged(chain: Sequence[Entry]) -> Entry:
    """The answer that counts: of rounds the winner, else the fastest that is right, else the last."""
    winners = [entry for entry in chain if entry.winner]
    correct = [entry for entry in chain if entry.cells["category"] == "correct"]
    if winners:
        return winners[0]
    return min(correct, key=lambda entry: entry.cells.get("latency_ms") or float("inf"), default=chain[-1])


def _answers(site: SiteRun, chain: Sequence[Entry]) -> list[Answer]:
    """What was answered in a chain, in order; of rounds by all roles, the note after the last round included."""
    first = chain[0]
    found = [item.record for key, items in site.answers.items() if key[:3] == first.place[:3] for item in items]
    rounds = first.cells["method"] in ASTRA
    chosen = [answer for answer in found if rounds or answer.sample == first.place.sample]
    return sorted(chosen, key=lambda answer: answer.turn)


def _messages(answers: Sequence[Answer], model: str) -> Iterator[ChatMessage]:
    """Each prompt, as far as the messages before it do not hold it already, and its reply."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    seen: list[tuple[str, str]] = []
    for answer in answers:
        asked = [(message.role, message.content) for message in answer.completion.request.messages]
        known = next((at for at in range(len(asked), 0, -1) if seen[-at:] == asked[:at]), 0)
        metadata = {"role": answer.role, "turn": answer.turn, "sample": answer.sample}
        for role, text in asked[known:]:
            yield kinds[role](content=text, metadata=metadata)
        yield ChatMessageAssistant(
            content=answer.completion.response, model=answer.completion.model_returned or model, metadata=metadata
        )
        seen = [*seen, *asked[known:], ("assistant", answer.completion.response)]


def _score(site: SiteRun, entry: Entry, solution: Any) -> Any:
    from inspect_ai.scorer import Score

    speeds = {
        f"{name}_{baseline}": entry.cells.get(f"{name}_{baseline}", math.nan)
        for baseline in site.settings.baselines
        for name in ("speedup", "speedup_low", "speedup_high", "credited")
    }
    return Score(
        value="C" if entry.cells["category"] == "correct" else "I",
        answer=_source(solution),
        explanation=_why(entry),
        metadata={
            "status": entry.cells["status"],
            "findings": entry.cells.get("findings") or "",
            "turn": entry.place.turn,
            "sample": entry.place.sample,
            **{name: value for name, value in speeds.items() if not math.isnan(value)},
        },
    )


def _why(entry: Entry) -> str:
    status = str(entry.cells["status"])
    return "\n".join(filter(None, [f"{status}: {said(status)}", str(entry.cells.get("detail") or "")]))


def _records(site: SiteRun, chain: Sequence[Entry], answers: Sequence[Answer]) -> dict[str, Any]:
    """The records behind a sample."""
    protocol = site.settings.protocol(chain[0].place.experiment).digest
    candidates = [site.candidates[entry.place].record for entry in chain if entry.place in site.candidates]
    solutions = dict.fromkeys(item.solution for item in candidates if item.solution)
    traces = {
        found.record.model_dump_json(): found.record
        for solution in solutions
        for _, found in site.traces.get((solution, protocol), ())
    }
    return {
        "candidates": [item.model_dump(mode="json") for item in candidates],
        "traces": [item.model_dump(mode="json") for item in traces.values()],
        "answers": [item.model_dump(mode="json") for item in answers],
    }


def _usage(answers: Sequence[Answer]) -> ModelUsage | None:
    """Of a sample; None where the tokens of one of its answers are not known, since a part is no sum."""
    from inspect_ai.model import ModelUsage

    used = [answer.completion.usage for answer in answers if answer.completion.usage is not None]
    if not answers or len(used) < len(answers):
        return None
    return ModelUsage(
        input_tokens=sum(item.input_tokens - item.cached_input_tokens for item in used),
        input_tokens_cache_read=sum(item.cached_input_tokens for item in used),
        output_tokens=sum(item.output_tokens for item in used),
        reasoning_tokens=sum(item.reasoning_tokens for item in used),
        total_tokens=sum(item.input_tokens + item.output_tokens for item in used),
        total_cost=sum(answer.completion.cost_usd for answer in answers),
    )


def _sum(samples: Sequence[Any]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for sample in samples:
        for model, usage in sample.model_usage.items():
            total[model] = total[model] + usage if model in total else usage
    return total


def _results(samples: Sequence[Any]) -> Any:
    """The share of scored samples that are right, as Inspect counts it: repeated answers are samples, too."""
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    right = [sample.scores[SCORER].value == "C" for sample in samples if sample.scores]
    metrics = {"accuracy": EvalMetric(name="accuracy", value=sum(right) / len(right))} if right else {}
    score = EvalScore(
        name=SCORER, scorer=SCORER, metrics=metrics,
        scored_samples=len(right), unscored_samples=len(samples) - len(right),
    )  # fmt: skip
    return EvalResults(total_samples=len(samples), completed_samples=len(right), scores=[score])

"""The stage prompts -> answers: from the ledger, from a server, from a transcript, or by way of a batch file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hone.config.llm import LLM
from hone.config.settings import Paths
from hone.core.errors import PendingAnswersError, ProviderError
from hone.llm.batch import export_requests
from hone.llm.cost import find_tariff
from hone.llm.ledger import Ledger
from hone.llm.live import ask_all
from hone.llm.names import Target, api_key, parse_model
from hone.llm.recorded import place_in_words, read_transcript, replay
from hone.llm.retry import Waits
from hone.records import Answer, Completion, LLMRequest, Prompt, Sampling

NAMED = 5
"""So many missing answers are named in a message, the others counted."""


@dataclass(frozen=True)
class Place:
    """One sample of one prompt, and the request that answers it; several places may share a request."""

    prompt: Prompt
    sample: int
    request: LLMRequest

    def __str__(self) -> str:
        return place_in_words(self.prompt.definition, self.prompt.role, self.prompt.turn, self.sample)


def answer_prompts(
    prompts: Sequence[Prompt],
    *,
    model: str,
    sampling: Sampling,
    llm: LLM,
    paths: Paths,
    batch_file: Path | None = None,
    progress: bool = False,
    waits: Waits | None = None,
) -> list[Answer]:
    """One Answer for each (prompt, sample), sorted by definition and sample.

    `batch_file` is where mode `export` writes what is missing; `waits` is for tests. Raises ProviderError (no key, no
    price, no such model or transcript row, refused request, missing answers in mode `replay`), SpendingLimitError,
    PendingAnswersError (mode `export`), RecordError (damaged ledger entry or transcript) and MachineError. All but
    refusals by the server are raised before anything is sent.
    """
    target = parse_model(model, llm)
    ordered = sorted(
        ((prompt, sample) for prompt in prompts for sample in prompt.samples),
        key=lambda item: (item[0].definition, item[1], item[0].role, item[0].turn),
    )
    if target.provider == "recorded":
        transcript = read_transcript(target.model, Path(paths.recorded))
        return [replay(prompt, sample, transcript, target, sampling) for prompt, sample in ordered]
    places = [Place(prompt, sample, target.request(prompt, sample, sampling)) for prompt, sample in ordered]
    ledger = Ledger(Path(paths.ledger))
    found = _look_up(places, ledger, llm.mode)
    missing = [place for place in places if place.request.key not in found]
    if missing:
        found.update(_obtain(missing, target, llm, ledger, batch_file, progress, waits))
    return [_answer(place, target, found[place.request.key]) for place in places]


def _look_up(places: Sequence[Place], ledger: Ledger, mode: str) -> dict[str, Completion]:
    """What the ledger has; raises RecordError for a damaged entry, before anything is sent."""
    found, repeated = {}, 0
    for request in {place.request.key: place.request for place in places}.values():
        entry = ledger.find(request)
        if entry is None and request.repeat and mode == "replay":
            # Ledgers from before repeated prompts were asked anew hold one answer for all turns.
            entry = ledger.find(request.model_copy(update={"repeat": 0}))
            repeated += entry is not None
        if entry is not None:
            found[request.key] = entry
    if repeated:
        sys.stderr.write(f"{repeated} repeated prompts have no answer of their own: replayed as the turn before\n")
    return found


def _obtain(
    missing: Sequence[Place],
    target: Target,
    llm: LLM,
    ledger: Ledger,
    batch_file: Path | None,
    progress: bool,
    waits: Waits | None,
) -> Mapping[str, Completion]:
    """What the mode does about missing answers."""
    if llm.mode == "replay":
        raise _not_in_ledger(missing, target, ledger)
    requests = {place.request.key: place.request for place in missing}
    for request in requests.values():
        find_tariff(request, llm.prices)
    if llm.mode == "export":
        raise _exported(requests, target, batch_file)
    from hone.llm.openai_client import OpenAIProvider

    provider = OpenAIProvider(target.base_url, api_key(target), llm.timeout_s)
    try:
        return ask_all(requests, provider, ledger, llm, waits=waits, progress=progress)
    finally:
        provider.close()


def _not_in_ledger(missing: Sequence[Place], target: Target, ledger: Ledger) -> ProviderError:
    names = "; ".join(str(place) for place in missing[:NAMED])
    more = f"; and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    return ProviderError(
        f"{len(missing)} answers are not in the ledger {ledger.folder}: {names}{more}",
        where=target.name,
        remedy="set llm.mode: live (`hone run --mode live`) to ask for them, or llm.mode: export to write them as a "
        "batch file",
    )


def _exported(requests: Mapping[str, LLMRequest], target: Target, batch_file: Path | None) -> PendingAnswersError:
    if batch_file is None:
        raise ValueError("mode export needs a batch_file")
    requests_path = export_requests(requests.values(), batch_file)
    return PendingAnswersError(
        f"{len(requests)} requests wait for their answers, written as an OpenAI Batch file to {batch_file}",
        where=target.name,
        remedy=f"run it as a batch; type `hone import <its output file> --config <this run's config> --requests "
        f"{requests_path}`; repeat this command",
    )


def _answer(place: Place, target: Target, completion: Completion) -> Answer:
    return Answer(
        experiment=place.prompt.experiment,
        model=target.name,
        definition=place.prompt.definition,
        role=place.prompt.role,
        turn=place.prompt.turn,
        sample=place.sample,
        prompt_digest=place.prompt.digest,
        completion=completion,
    )

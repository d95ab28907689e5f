"""The page of one answer: source, difference, prompt and reply, build, verdicts, and where each record stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from hone.analysis.archives import source_link
from hone.analysis.frames import NO_CODE, SPEED_COLUMNS, UNANSWERED, Place
from hone.config.experiments import ASTRA
from hone.records import Definition, Finding, Language, Solution, Trace, digest
from hone.site.entries import Entry
from hone.site.run import ID_DIGITS, Located, SiteRun, page_id
from hone.site.sources import lines_of, opcodes
from hone.solutions.verdict import FINDINGS, STATUSES

KINDS = {"evaluations": "all workloads", "suite_traces": "the roles' own suite", "traces": "all workloads"}
Put = Callable[[str, Any], None]


class AnswerPages:
    """Writes the data of answers: one file an answer, and texts that several share once."""

    def __init__(self, site: SiteRun, config: str, put: Put) -> None:
        """`config`: the file that `hone judge` is to be given; `put` writes data under a name."""
        self._site = site
        self._config = config
        self._put = put
        self._written: set[str] = set()
        self._protocols: dict[str, str] = {}

    def write(self, entry: Entry, parent: Entry | None) -> None:
        """The data of one answer and of the texts that it names."""
        place, site = entry.place, self._site
        candidate = site.candidates.get(place)
        solution = site.solutions.get(str(entry.cells.get("solution", "")))
        status = str(entry.cells["status"])
        origin = self._origin(place)
        hidden = origin is not None and not origin["licence"]
        data = {
            **place._asdict(),
            "id": entry.id,
            "problem_id": page_id(place.definition),
            "trajectory_id": page_id(*place[:3]) if self._has_turns(place) else None,
            "method": entry.cells["method"],
            "label": entry.cells.get("label") or "",
            "status": status,
            "said": said(status),
            "detail": entry.cells.get("detail") or "",
            "winner": entry.winner,
            "measured_on": entry.cells["measured_on"],
            "findings": [
                {"name": name, "said": FINDINGS[name]} for name in _names(str(entry.cells.get("findings") or ""))
            ],
            "speeds": self._speeds(entry),
            "latency_ms": entry.cells.get("latency_ms"),
            "solution": self._source(solution, hidden),
            "against": None if hidden else self._against(solution, place.definition, parent),
            "origin": origin,
            "build": self._build(solution),
            "conversation": list(self._conversation(place)),
            "verdicts": list(self._verdicts(place, solution)),
            "claim": self._claim(place),
            "candidate": candidate.shown() if candidate else None,
            "command": f"hone judge {solution.id[:ID_DIGITS]} --config {self._config} --again" if solution else "",
        }
        self._put(f"answers/{entry.id}", data)

    def _has_turns(self, place: Place) -> bool:
        return self._site.settings.experiments[place.experiment].turns > 1

    def _speeds(self, entry: Entry) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for baseline in self._site.settings.baselines:
            cells = {name: entry.cells.get(f"{name}_{baseline}", math.nan) for name in SPEED_COLUMNS}
            if not math.isnan(cells["speedup"]):
                found[baseline] = cells
        return found

    def _source(self, solution: Solution | None, hidden: bool) -> dict[str, Any] | None:
        if solution is None:
            return None
        return {
            "id": solution.id,
            "language": solution.language.value,
            "entry_point": solution.entry_point,
            "text": None if hidden else self._text(solution.source, solution.language),
        }

    def _origin(self, place: Place) -> dict[str, Any] | None:
        """Where an archive has the answer, and under which licence; without one its text is not shown."""
        name = self._site.settings.experiments[place.experiment].archive
        if name is None:
            return None
        archive, claim = self._site.settings.archives[name], self._claimed(place)
        path = claim.record.path if claim else ""
        return {
            "archive": name,
            "repository": archive.url,
            "commit": archive.commit,
            "path": path,
            "link": source_link(archive, path) if claim else "",
            "licence": archive.licence or "",
        }

    def _text(self, text: str, language: Language) -> str:
        """The name of a text's tokens, which are written once."""
        name = f"texts/{digest([language.value, text])[:ID_DIGITS]}"
        if name not in self._written:
            self._written.add(name)
            self._put(name, {"language": language.value, "lines": lines_of(text, language)})
        return name

    def _against(self, solution: Solution | None, definition: str, parent: Entry | None) -> dict[str, Any] | None:
        """What the source is shown beside: the answer before it, else the problem's own code."""
        if solution is None:
            return None
        before = self._site.solutions.get(str(parent.cells.get("solution", ""))) if parent else None
        if parent is not None and before is not None:
            return {
                "name": _turn_name(parent),
                "answer": parent.id,
                "text": self._text(before.source, before.language),
                "opcodes": opcodes(before.source, solution.source),
            }
        item = self._site.definitions.get(definition)
        return self._beside_reference(item, solution) if item else None

    def _beside_reference(self, item: Definition, solution: Solution) -> dict[str, Any]:
        one, two = item.reference, solution.source
        same = solution.language in (Language.PYTHON, Language.TRITON)
        whole = [["replace", 0, len(one.split("\n")), 0, len(two.split("\n"))]]
        return {
            "name": "the problem's reference",
            "answer": None,
            "text": self._text(one, Language.PYTHON),
            # Of two languages every line differs.
            "opcodes": opcodes(one, two) if same else whole,
        }

    def _build(self, solution: Solution | None) -> dict[str, Any] | None:
        item = self._site.builds.get(solution.id) if solution else None
        return item.shown() if item else None

    def _conversation(self, place: Place) -> Iterator[dict[str, Any]]:
        """What was asked and answered for this answer; of rounds by all roles of the turn."""
        rounds = self._site.settings.experiments[place.experiment].method in ASTRA
        for item in self._site.answers.get(place[:4], ()):
            answer = item.record
            if answer.sample != place.sample and not (rounds and answer.role not in ("coding", "single")):
                continue
            completion = answer.completion
            shown = item.shown(exclude={"completion": {"request": {"messages"}, "response": True}})
            yield {**shown, "prompt": self._prompt(answer), "response": completion.response}

    def _prompt(self, answer: Any) -> str:
        messages = [message.model_dump() for message in answer.completion.request.messages]
        name = f"prompts/{digest(messages)[:ID_DIGITS]}"
        if name not in self._written:
            self._written.add(name)
            self._put(name, messages)
        return name

    def _verdicts(self, place: Place, solution: Solution | None) -> Iterator[dict[str, Any]]:
        if solution is None:
            return
        for kind, item in self._site.traces.get((solution.id, self._protocol(place.experiment)), ()):
            trace: Trace = item.record
            rounds = self._site.settings.experiments[place.experiment].method in ASTRA
            if rounds == (kind == "traces"):
                continue
            workload = self._site.workloads.get(trace.workload)
            yield {
                **item.shown(),
                "set": KINDS[kind],
                "workload": workload.model_dump(mode="json") if workload else None,
                "said": STATUSES[trace.status],
                "latency_ms": trace.performance.solution.latency_ms if trace.performance else None,
                "speedups": {name: trace.performance.speedup(name) for name in trace.performance.baselines}
                if trace.performance
                else {},
            }

    def _protocol(self, experiment: str) -> str:
        if experiment not in self._protocols:
            self._protocols[experiment] = self._site.settings.protocol(experiment).digest
        return self._protocols[experiment]

    def _claim(self, place: Place) -> dict[str, Any] | None:
        item = self._claimed(place)
        return item.shown() if item else None

    def _claimed(self, place: Place) -> Located | None:
        archive = self._site.settings.experiments[place.experiment].archive or ""
        return self._site.claims.get((archive, place.model, place.definition, place.sample))


def said(status: str) -> str:
    """A verdict in a sentence."""
    if status == NO_CODE:
        return "The reply holds no code that could be used."
    if status == UNANSWERED:
        return "The server refused the prompt: there is no reply."
    found = {str(known): text for known, text in STATUSES.items()}
    return found.get(status, "There is no verdict: the answer or its judging is lost.")


def _names(findings: str) -> list[Finding]:
    return [name for name in FINDINGS if name in findings.split("; ")]


def _turn_name(entry: Entry) -> str:
    turn = "the existing kernel" if entry.place.turn == 0 and entry.cells["method"] in ASTRA else ""
    return turn or f"turn {entry.place.turn}" + (f", sample {entry.place.sample}" if entry.place.sample else "")

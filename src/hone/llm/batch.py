"""Pending requests as an OpenAI Batch file, and its answers back into the ledger.

Beside `<name>.jsonl`, which goes to the Batch API, stands `<name>.requests.jsonl` with the requests themselves: an
answer names only its ledger key (`custom_id`). OpenAI takes up to 50,000 requests or 200 MB a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hone.config.llm import Price
from hone.core.errors import ConfigError, RecordError
from hone.core.files import read_records, write_records, write_text
from hone.llm.cost import find_tariff
from hone.llm.ledger import Ledger
from hone.llm.live import completed
from hone.llm.names import config_name
from hone.llm.provider import Reply, TransientError, refused
from hone.llm.refusals import refusal
from hone.llm.spending import Budget
from hone.llm.wire import body_of, error_text, reply_of
from hone.records import LLMRequest

URL = "/v1/chat/completions"


@dataclass
class ImportReport:
    """What became of the lines of batch output files."""

    imported: int = 0
    already_there: int = 0
    """Lines whose request the ledger had answered before this import."""
    problems: list[str] = field(default_factory=list)
    """`<file>:<line>: <what is wrong>`, one for each line that was not imported."""

    @property
    def ok(self) -> bool:
        """Whether every line was good."""
        return not self.problems

    def __str__(self) -> str:
        head = f"imported {self.imported}, already in the ledger {self.already_there}, problems {len(self.problems)}"
        return "\n  ".join([head, *self.problems])


def requests_file(batch_file: Path) -> Path:
    """Where the requests of a batch file stand."""
    return batch_file.with_suffix(".requests.jsonl")


def export_requests(requests: Iterable[LLMRequest], batch_file: Path) -> Path:
    """Write both files, each request once, in the order of their keys; returns the path of the requests."""
    unique = dict(sorted({request.key: request for request in requests}.items()))
    write_records(requests_file(batch_file), unique.values())
    lines = [
        json.dumps({"custom_id": key, "method": "POST", "url": URL, "body": body_of(request)})
        for key, request in unique.items()
    ]
    write_text(batch_file, "".join(line + "\n" for line in lines))
    return requests_file(batch_file)


def read_requests(paths: Sequence[Path]) -> dict[str, LLMRequest]:
    """Ledger key -> request, of `.requests.jsonl` files or folders that hold some; raises RecordError."""
    return {request.key: request for path in _request_files(paths) for request in read_records(path, LLMRequest)}


def import_answers(
    outputs: Sequence[Path], requests: Sequence[Path], ledger: Ledger, prices: Mapping[str, Price]
) -> ImportReport:
    """Put the answers of batch output (or error) files into the ledger, good lines whatever the others are.

    `requests` are as `read_requests` takes them. Raises RecordError where one of the
    files cannot be read at all, ProviderError where a model has no price.
    """
    for path in outputs:
        if not path.is_file():
            raise RecordError("no such file", where=str(path), remedy="name the output file of the Batch API")
    asked = {key: request for request in read_requests(requests).values() for key in request.keys}
    for request in asked.values():
        find_tariff(request, prices)
    report = ImportReport()
    seen: set[str] = set()
    budget = Budget(ledger, float("inf"))
    for where, line in _lines(outputs):
        try:
            request, reply = _good_line(line, asked, seen)
            with ledger.claim(request.key):
                if ledger.find(request) is not None:
                    report.already_there += 1
                    continue
                completion = completed(request, reply, find_tariff(request, prices), batch=True)
                with ledger.slot(request) as slot:
                    budget.keep(completion, slot)
        except (BadLineError, TransientError) as error:
            report.problems.append(f"{where}: {error}")
        else:
            report.imported += 1
    return report


def unanswered(requests: Sequence[Path], ledger: Ledger, model: str = "") -> list[LLMRequest]:
    """Exported requests that the ledger has no answer to, of one model: a batch file goes to one.

    Raises ConfigError when several models have such requests and none is named.
    """
    waiting = [request for request in read_requests(requests).values() if not ledger.has(request)]
    models = sorted({config_name(request) for request in waiting})
    if model:
        return [request for request in waiting if config_name(request) == model]
    if len(models) > 1:
        raise ConfigError(
            f"requests of several models wait: {', '.join(models)}",
            where="exported requests",
            remedy="write one file for each, with --model",
        )
    return waiting


class BadLineError(Exception):
    """A line of a batch output file that holds no answer to a request of ours."""


def _good_line(line: bytes, asked: Mapping[str, LLMRequest], seen: set[str]) -> tuple[LLMRequest, Reply]:
    """Request and reply of one output line; raises BadLineError, and TransientError for a body that is no answer."""
    try:
        row = json.loads(line)
    except ValueError as error:
        raise BadLineError(f"not a JSON line, perhaps cut off: {error}") from None
    key = row.get("custom_id") if isinstance(row, dict) else None
    if not isinstance(key, str) or key not in asked:
        raise BadLineError(f"unknown custom_id {key!r}: it is in none of the requests files")
    response = row.get("response")
    if row.get("error") or not isinstance(response, dict):
        raise BadLineError(f"{key}: {error_text(row.get('error') or 'no response')}")
    status, body = response.get("status_code"), response.get("body")
    said = refusal(status, body) if isinstance(status, int) else ""
    if status != 200 and not said:
        raise BadLineError(f"{key}: HTTP {status}: {error_text(body)}")
    if key in seen:
        raise BadLineError(f"{key}: answered a second time, the first answer is kept")
    seen.add(key)
    return asked[key], refused(said, 0.0) if said else reply_of(body, 0.0)


def _lines(outputs: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """(`file:line`, content) of all lines that are not empty."""
    for path in outputs:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise RecordError(f"cannot read: {error.strerror}", where=str(path)) from None
        for number, line in enumerate(content.split(b"\n"), start=1):
            if line.strip():
                yield f"{path}:{number}", line


def _request_files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            remedy = "write requests there with `hone run --mode export`, or name their folder with --requests"
            raise RecordError("there are no exported requests", where=str(path), remedy=remedy)
        found = sorted(path.rglob("*.requests.jsonl")) if path.is_dir() else [path]
        if not found:
            raise RecordError(
                "no *.requests.jsonl below this folder", where=str(path), remedy="name the folder of the exported batch"
            )
        yield from found

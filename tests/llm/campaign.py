"""The long test of the LLM layer: many requests, a server that breaks, processes that are killed or share a ledger.

    python -m tests.llm.campaign [requests]      prints a table; exit status 1 when a promise was broken

The test suite runs the same three scenarios with fewer requests.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hone.config.llm import LLM, Price
from hone.config.settings import Paths
from hone.llm.answer import answer_prompts
from hone.llm.ledger import Ledger
from hone.llm.retry import Waits
from hone.records import Answer, Message, Prompt, Sampling

from .cost import total_cost_usd
from .server import FAULTS, FakeServer

MODEL = "openai-api/fake/toy"
PRICE = Price(input_usd_per_mtok=2.0, output_usd_per_mtok=8.0, cached_input_usd_per_mtok=0.5)
WAITS = Waits(first_s=0.01, longest_s=0.1, pause_s=0.01)
TIMEOUT_S = 0.8
SAMPLES = 5
Row = dict[str, int | float | str | bool]


def prompts(requests: int) -> list[Prompt]:
    """Prompts of five samples each, `requests` samples in all."""
    return [
        Prompt(
            experiment="campaign",
            definition=f"toy/level1/{first // SAMPLES}",
            role="engineer",
            turn=0,
            samples=tuple(range(min(SAMPLES, requests - first))),
            messages=(Message(role="user", content=f"Write kernel number {first}. " * 3),),
        )
        for first in range(0, requests, SAMPLES)
    ]


def settings(url: str, **changes: object) -> LLM:
    """Live mode against `url`, with short timeouts and enough money."""
    values: dict[str, object] = {
        "mode": "live",
        "concurrency": 16,
        "max_attempts": 8,
        "timeout_s": TIMEOUT_S,
        "spending_limit_usd": 100.0,
        "services": {"fake": url},
        "prices": {MODEL: PRICE},
    }
    return LLM.model_validate({**values, **changes})


def ask(url: str, ledger: Path, requests: int, **changes: object) -> list[Answer]:
    """The stage under test; the key is read from FAKE_API_KEY."""
    return answer_prompts(
        prompts(requests),
        model=MODEL,
        sampling=Sampling(temperature=1.0, max_tokens=200),
        llm=settings(url, **changes),
        paths=Paths(ledger=str(ledger)),
        waits=WAITS,
    )


def start_worker(url: str, ledger: Path, requests: int, client: str) -> subprocess.Popen[str]:
    """The same in a process of its own; `client` is its key, by which the server tells processes apart."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.llm.campaign", "worker", url, str(ledger), str(requests)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "FAKE_API_KEY": client, "NO_PROXY": "127.0.0.1"},
        text=True,
        stdout=subprocess.PIPE,
    )


def finish(worker: subprocess.Popen[str]) -> int:
    """Answers that a worker printed; raises where it failed."""
    output, _ = worker.communicate(timeout=300)
    if worker.returncode != 0:
        raise RuntimeError(f"a worker failed with {worker.returncode}")
    return int(output)


def books_balance(server: FakeServer, ledger: Ledger, requests: int) -> Row:
    """Ledger beside the server's own books: each request answered once, tokens and cost the same."""
    entries = list(ledger.entries())
    books = server.books
    fresh = books.tokens("prompt_tokens") - books.cached()
    server_usd = (fresh * 2.0 + books.cached() * 0.5 + books.tokens("completion_tokens") * 8.0) / 1e6
    ledger_usd = total_cost_usd(ledger)
    return {
        "requests": requests,
        "tries at the server": len(books.sent),
        "ledger entries": len(entries),
        "billed by the server": len(books.billed),
        "answered exactly once": {entry.key for entry in entries} == set(books.billed) and len(entries) == requests,
        "ledger input/output tokens": f"{sum(e.usage.input_tokens for e in entries)}"
        f"/{sum(e.usage.output_tokens for e in entries)}",
        "server input/output tokens": f"{books.tokens('prompt_tokens')}/{books.tokens('completion_tokens')}",
        "ledger cost_usd": round(ledger_usd, 9),
        "server cost_usd": round(server_usd, 9),
        "cost equal": abs(ledger_usd - server_usd) < 1e-9,
        "no entry damaged": not ledger.check(),
    }


def faults(requests: int, folder: Path) -> Row:
    """One process, all faults."""
    with FakeServer(FAULTS, stall_s=2 * TIMEOUT_S) as server:
        answers = finish(start_worker(server.url, folder, requests, "one"))
        row = books_balance(server, Ledger(folder), requests)
        counted = server.books.faults()
        failed = sum(len(entry.failed_attempts) for entry in Ledger(folder).entries())
    injected = {f"injected {fault}": counted[fault] for fault in FAULTS}
    recorded = {"failed tries in the ledger": failed, "honoured by key": server.books.honoured.total()}
    return {**row, **injected, **recorded, "answers returned": answers, "all returned": answers == requests}


def killed(requests: int, folder: Path) -> Row:
    """`kill -9` in the middle, then the same command again."""
    with FakeServer(FAULTS, stall_s=2 * TIMEOUT_S, delay_s=0.02) as server:
        worker = start_worker(server.url, folder, requests, "first")
        while len(server.books.billed) < requests * 0.4:
            time.sleep(0.005)
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
        time.sleep(0.3)  # what the server still had in its hands
        recorded = {entry.key for entry in Ledger(folder).entries()}
        in_flight = set(server.books.billed) - recorded
        honoured_before = server.books.honoured.copy()
        finish(start_worker(server.url, folder, requests, "second"))
        row = books_balance(server, Ledger(folder), requests)
        again = {sent.key for sent in server.books.sent if sent.client == "second"}
        honoured = server.books.honoured - honoured_before
    return {
        **row,
        "recorded at the kill": len(recorded),
        "recorded and asked again": len(recorded & again),
        "nothing recorded asked again": not recorded & again,
        "billed but in flight at the kill": len(in_flight),
        "of these given again by key, not billed": len(in_flight & set(honoured)),
        "in flight billed once": in_flight <= set(honoured),
    }


def shared(requests: int, folder: Path) -> Row:
    """Two processes with the same requests on one ledger, at the same time."""
    with FakeServer(FAULTS, stall_s=2 * TIMEOUT_S, delay_s=0.02) as server:
        workers = [start_worker(server.url, folder, requests, client) for client in ("one", "two")]
        answers = [finish(worker) for worker in workers]
        row = books_balance(server, Ledger(folder), requests)
        asked = [{sent.key for sent in server.books.sent if sent.client == client} for client in ("one", "two")]
    return {
        **row,
        "asked by process one/two": f"{len(asked[0])}/{len(asked[1])}",
        "asked by both": len(asked[0] & asked[1]),
        "none asked by both": not asked[0] & asked[1],
        "both got all": answers == [requests, requests],
    }


SCENARIOS: dict[str, Callable[[int, Path], Row]] = {"faults": faults, "kill -9": killed, "two processes": shared}


def main(requests: int) -> int:
    """Run the three scenarios and print what happened."""
    broken = 0
    for name, scenario in SCENARIOS.items():
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            row = scenario(requests, Path(folder))
        sys.stdout.write(f"\n{name}  ({time.monotonic() - started:.1f} s)\n")
        for label, value in row.items():
            shown = {True: "yes", False: "NO"}[value] if isinstance(value, bool) else value
            sys.stdout.write(f"  {label:<42} {shown}\n")
            broken += value is False
    return 1 if broken else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        sys.stdout.write(str(len(ask(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])))))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500))

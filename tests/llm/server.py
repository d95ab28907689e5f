"""A server that speaks the chat-completions wire format, breaks on purpose, and keeps its own books.

It bills a request once for each `Idempotency-Key`, however often it is sent, as a provider that honours the header
does. The client's ledger is then compared with these books.
"""

from __future__ import annotations

import hashlib
import json
import random
import socket
import struct
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

FAULTS = {
    "429": 0.08,
    "500": 0.06,
    "stall": 0.03,
    "reset": 0.04,
    "reset_after_billing": 0.03,
    "malformed": 0.04,
    "truncated": 0.04,
    "cut_json": 0.03,
}
"""Fault -> share of the tries that get it; each makes the try fail."""

MOST_FAULTS_PER_KEY = 4


class Sent(NamedTuple):
    """One try that arrived."""

    key: str
    client: str
    fault: str


@dataclass
class Books:
    """What the server did; read under `lock`."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    sent: list[Sent] = field(default_factory=list)
    billed: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Key -> response body: what the client is charged for."""
    honoured: Counter[str] = field(default_factory=Counter)
    """Key -> how often an answer was given again without a second bill."""
    in_flight: int = 0
    most_in_flight: int = 0

    def tries(self) -> Counter[str]:
        """Number of tries by key."""
        return Counter(sent.key for sent in self.sent)

    def faults(self) -> Counter[str]:
        """Number of tries by fault, `ok` without one."""
        return Counter(sent.fault for sent in self.sent)

    def tokens(self, name: str) -> int:
        """Sum of `prompt_tokens` or `completion_tokens` billed."""
        return sum(body["usage"][name] for body in self.billed.values())

    def cached(self) -> int:
        """Input tokens billed at the cached price."""
        return sum(body["usage"]["prompt_tokens_details"]["cached_tokens"] for body in self.billed.values())


def completion_body(key: str, request: dict[str, Any]) -> dict[str, Any]:
    """A good response; text and token counts follow from the key alone."""
    number = int(hashlib.sha256(key.encode()).hexdigest()[:8], 16)
    prompt_tokens = sum(len(message["content"]) for message in request["messages"])
    return {
        "id": f"chatcmpl-{key[:12]}",
        "object": "chat.completion",
        "created": 1,
        "model": f"{request['model']}-2025-01-01",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": f"to {key}"}}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": 10 + number % 90,
            "prompt_tokens_details": {"cached_tokens": number % (prompt_tokens + 1)},
            "completion_tokens_details": {"reasoning_tokens": number % 10},
        },
    }


class FakeServer(ThreadingHTTPServer):
    """Use as a context manager; `url` is the base URL. `script` gives the fault of each try in order, then none."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(
        self,
        faults: dict[str, float] | None = None,
        *,
        script: list[str] | None = None,
        delay_s: float = 0.0,
        stall_s: float = 5.0,
        retry_after_ms: int | None = 30,
        overrides: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.shares = faults or {}
        self.script = list(script or [])
        self.delay_s = delay_s
        self.stall_s = stall_s
        self.retry_after_ms = retry_after_ms
        self.overrides = overrides or {}
        self.books = Books()
        self.closing = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> FakeServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up or are killed are what the tests are about."""

    def complete(self, key: str, request: dict[str, Any]) -> dict[str, Any]:
        """A good response."""
        return completion_body(key, request)

    def choose_fault(self, key: str) -> str:
        """The fault of this try; drawn from the key and the try's number, so that a campaign can be repeated."""
        if self.script:
            return self.script.pop(0)
        before = [sent.fault for sent in self.books.sent if sent.key == key]
        if sum(fault != "ok" for fault in before) >= MOST_FAULTS_PER_KEY:
            return "ok"
        draw = random.Random(f"{key} {len(before)}").random()
        for fault, share in self.shares.items():
            draw -= share
            if draw < 0:
                return fault
        return "ok"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeServer

    def log_message(self, *_: object) -> None:
        """Silence."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers.get("Idempotency-Key", "")  # a proxy may not hand it on
        client = self.headers.get("Authorization", "").removeprefix("Bearer ")
        books = self.server.books
        with books.lock:
            key = key or f"try {len(books.sent)}"
            fault = self.server.choose_fault(key)
            books.sent.append(Sent(key, client, fault))
            books.in_flight += 1
            books.most_in_flight = max(books.most_in_flight, books.in_flight)
        try:
            self.server.closing.wait(self.server.delay_s)
            self.respond(fault, key, request)
        finally:
            with books.lock:
                books.in_flight -= 1

    def respond(self, fault: str, key: str, request: dict[str, Any]) -> None:
        if fault == "reset":
            self.reset()
        elif fault == "429":
            wait_ms = self.server.retry_after_ms
            self.refuse(429, "slow down", {} if wait_ms is None else {"Retry-After-Ms": str(wait_ms)})
        elif fault.isdigit():
            self.refuse(int(fault), f"injected {fault}", {})
        elif ":" in fault:
            status, code = fault.split(":")
            self.refuse(int(status), f"injected {code}", {}, code)
        else:
            self.answer(fault, json.dumps({**self.bill(key, request), **self.server.overrides}).encode())

    def bill(self, key: str, request: dict[str, Any]) -> dict[str, Any]:
        books = self.server.books
        with books.lock:
            if key in books.billed:
                books.honoured[key] += 1
            else:
                books.billed[key] = self.server.complete(key, request)
            return books.billed[key]

    def answer(self, fault: str, good: bytes) -> None:
        if fault == "stall":
            self.server.closing.wait(self.server.stall_s)
            self.close_connection = True
        elif fault == "reset_after_billing":
            self.reset()
        elif fault == "malformed":
            self.send(200, b"<html>bad gateway</html>", {})
        elif fault == "not_utf8":
            self.send(200, good.replace(b"to ", b"\xff\xfe "), {})
        elif fault == "cut_json":
            self.send(200, good[: len(good) // 2], {})
        elif fault == "truncated":
            self.send(200, good[: len(good) // 2], {}, length=len(good))
            self.close_connection = True
        elif fault == "no_usage":
            self.send(200, json.dumps({**json.loads(good), "usage": None}).encode(), {})
        elif fault == "no_choices":
            self.send(200, json.dumps({**json.loads(good), "choices": []}).encode(), {})
        else:
            self.send(200, good, {})

    def refuse(self, status: int, message: str, headers: dict[str, str], code: str | None = None) -> None:
        error = {"error": {"message": message, "type": "injected", "code": code}}
        self.send(status, json.dumps(error).encode(), headers)

    def send(self, status: int, content: bytes, headers: dict[str, str], length: int | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.wfile.write(content)

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

import threading
from dataclasses import replace
from email.utils import formatdate

import pytest

from hone.core.errors import ProviderError
from hone.llm import retry
from hone.llm.provider import Reply, StoppedError, TransientError
from hone.llm.retry import Asking, Gate, Waits, ask_with_retries, server_wait_s
from hone.records import Usage

WAITS = Waits(first_s=0.001, longest_s=0.002, pause_s=0.001)
REPLY = Reply("text", "stop", "toy", Usage(), 0.0)


class Scripted:
    """Raises what the script holds, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.asked = 0

    def ask(self, request):
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return REPLY


def ask(provider, request, *, attempts=8, gate=None, stop=None, waits=WAITS):
    stop = stop or threading.Event()
    return ask_with_retries(provider, request, Asking(attempts, waits, gate or Gate(4, stop), stop))


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": formatdate(1_000_030, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(999_000, usegmt=True)}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_the_servers_time_is_read_in_all_its_spellings(headers, wait_s):
    assert server_wait_s(headers, 1_000_000.0) == wait_s


def test_failed_tries_are_reported_with_the_reply(make_request):
    provider = Scripted(TransientError("timeout"), TransientError("HTTP 500: x", kind="server"))
    reply, failed = ask(provider, make_request())
    assert reply == REPLY
    assert [attempt.reason for attempt in failed] == ["timeout", "HTTP 500: x"]
    assert provider.asked == 3


def test_after_the_last_try_the_reasons_are_named(make_request):
    provider = Scripted(*[TransientError(f"reason {number}") for number in range(9)])
    with pytest.raises(ProviderError, match=r"no answer after 3 tries.*reason 2"):
        ask(provider, make_request(), attempts=3)
    assert provider.asked == 3


def test_a_server_that_is_down_is_to_be_started(make_request):
    down = TransientError("connection: ConnectError: refused", kind="connection")
    with pytest.raises(ProviderError, match=r"after 3 tries: connection: ConnectError: refused\n") as caught:
        ask(Scripted(down, down, down), make_request(), attempts=3)
    assert "start the server, or correct its address" in caught.value.remedy
    with pytest.raises(ProviderError, match="after 1 try: HTTP 500") as caught:
        ask(Scripted(TransientError("HTTP 500: x", kind="server")), make_request(), attempts=1)
    assert "run the same command again later" in caught.value.remedy


def test_an_error_that_no_retry_can_help_is_raised_at_once(make_request):
    provider = Scripted(ProviderError("HTTP 401: no"))
    with pytest.raises(ProviderError, match="401"):
        ask(provider, make_request())
    assert provider.asked == 1


def test_a_server_that_wants_an_hour_ends_the_run(make_request):
    provider = Scripted(TransientError("HTTP 429", kind="rate_limit", wait_s=3600.0))
    with pytest.raises(ProviderError, match="wait 3600 s"):
        ask(provider, make_request())


LIMITED = TransientError("HTTP 429: 3 requests a minute", kind="rate_limit")


def test_a_rate_limit_without_a_time_uses_up_no_attempts(make_request):
    provider = Scripted(*[LIMITED] * 20)
    reply, failed = ask(provider, make_request(), attempts=2)
    assert reply == REPLY
    assert len(failed) == 20


def test_a_rate_limit_that_never_ends_does_so_with_one_message(make_request):
    provider = Scripted(*[LIMITED] * 10_000)
    with pytest.raises(ProviderError, match=r"nothing but 429 for \d+ s: HTTP 429: 3 requests a minute") as error:
        ask(provider, make_request(), waits=replace(WAITS, limited_s=0.2))
    assert "later" in error.value.remedy
    assert "--max-connections" in error.value.remedy


def test_the_pause_after_a_rate_limit_doubles_until_an_answer_comes(monkeypatch):
    now_s = 0.0
    monkeypatch.setattr(retry.time, "monotonic", lambda: now_s)
    gate, waits, pauses = Gate(8, threading.Event()), Waits(), []

    def refused():
        nonlocal now_s
        gate.failed(LIMITED, waits)
        pauses.append(gate._open_at_s - now_s)
        now_s = gate._open_at_s

    for _ in range(8):
        refused()
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert gate.limited_s() == sum(pauses)
    gate.succeeded()
    assert gate.limited_s() == 0
    refused()
    assert pauses[-1] == 1


def test_the_first_failure_of_each_kind_is_said_at_once(make_request, capsys):
    down = [TransientError("connection: ConnectError: refused"), TransientError("connection: other words")]
    ask(Scripted(*down, LIMITED, LIMITED), make_request())
    first, second = capsys.readouterr().err.splitlines()
    assert first == (
        "note: toy at http://127.0.0.1:9/v1: connection: ConnectError: refused; is the server running there?; "
        "it is tried up to 8 times in all"
    )
    assert "HTTP 429: 3 requests a minute; it is tried for up to" in second


def test_stop_ends_the_tries(make_request):
    stop = threading.Event()
    provider = Scripted(*[TransientError("x")] * 9)
    real = provider.ask

    def ask_and_stop(request):
        stop.set()
        return real(request)

    provider.ask = ask_and_stop
    with pytest.raises(StoppedError):
        ask(provider, make_request(), stop=stop)
    assert provider.asked == 1
    with pytest.raises(StoppedError):
        ask(Scripted(), make_request(), stop=stop)


def test_a_rate_limit_narrows_the_gate_once_a_burst_and_success_widens_it():
    gate = Gate(8, threading.Event())
    limited = TransientError("429", kind="rate_limit", wait_s=100.0)
    gate.failed(limited, WAITS)
    gate.failed(limited, WAITS)
    assert gate.width == 4
    for _ in range(4 + 5 + 6 + 7 + 20):
        gate.succeeded()
    assert gate.width == 8


def test_a_server_error_pauses_but_does_not_narrow():
    gate = Gate(8, threading.Event())
    gate.failed(TransientError("500", kind="server"), WAITS)
    assert gate.width == 8
    with gate.enter():
        pass


def test_the_gate_never_closes_for_good():
    gate = Gate(1, threading.Event())
    gate.failed(TransientError("429", kind="rate_limit", wait_s=0.0), WAITS)
    assert gate.width == 1
    with gate.enter():
        pass


def test_a_closed_gate_lets_nobody_in_until_stopped():
    stop = threading.Event()
    gate = Gate(2, stop)
    gate.failed(TransientError("429", kind="rate_limit", wait_s=1000.0), WAITS)
    outcome = []

    def enter():
        try:
            with gate.enter():
                outcome.append("entered")
        except StoppedError:
            outcome.append("stopped")

    thread = threading.Thread(target=enter)
    thread.start()
    stop.set()
    thread.join()
    assert outcome == ["stopped"]


def test_no_more_than_the_width_are_inside():
    gate = Gate(3, threading.Event())
    inside, most = [], []

    def work():
        with gate.enter():
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 20
    assert max(most) <= 3

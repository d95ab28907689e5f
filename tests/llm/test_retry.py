import threading
from email.utils import formatdate

import pytest

from hone.core.errors import ProviderError
from hone.llm.provider import Reply, StoppedError, TransientError
from hone.llm.retry import Gate, Waits, ask_with_retries, server_wait_s
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


def ask(provider, request, *, attempts=8, gate=None, stop=None):
    stop = stop or threading.Event()
    gate = gate or Gate(4, stop)
    return ask_with_retries(provider, request, max_attempts=attempts, waits=WAITS, gate=gate, stop=stop)


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


def test_an_error_that_no_retry_can_help_is_raised_at_once(make_request):
    provider = Scripted(ProviderError("HTTP 401: no"))
    with pytest.raises(ProviderError, match="401"):
        ask(provider, make_request())
    assert provider.asked == 1


def test_a_server_that_wants_an_hour_ends_the_run(make_request):
    provider = Scripted(TransientError("HTTP 429", kind="rate_limit", wait_s=3600.0))
    with pytest.raises(ProviderError, match="wait 3600 s"):
        ask(provider, make_request())


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

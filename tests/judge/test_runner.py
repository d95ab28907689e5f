"""Processes and their channels: messages, deaths, and what errors tell."""

import os
import socket
import threading

import pytest

from hone.judge.device.cpu.side import Subject
from hone.judge.runner import Runner, RunnerEndedError, RunnerForgedError, RunnerStuckError, RunnerTimeoutError
from hone.judge.wire import Channel, ClosedError, GarbledError, SilentError
from hone.records import Status

from .conftest import QUICK


def test_channel():
    left, right = socket.socketpair()
    one, two = Channel(left), Channel(right)
    sender = threading.Thread(target=one.send, args=({"text": "x" * 1_000_000},))
    sender.start()
    assert len(two.receive(5, limit=2_000_000)["text"]) == 1_000_000
    sender.join()
    with pytest.raises(SilentError):
        two.receive(0.01)
    one.send({"a": 1})
    assert two.pending()
    assert two.receive(1) == {"a": 1}
    left.sendall(b"\xff\xff\xff\xff")
    with pytest.raises(GarbledError):
        two.receive(1)
    left.sendall(b"\0\0\0\x02[]")
    with pytest.raises(GarbledError):
        two.receive(1)
    one.close()
    with pytest.raises(ClosedError):
        two.receive(1)
    two.close()


@pytest.mark.parametrize(
    ("error", "oom_kills", "status"),
    [
        (RunnerEndedError(None, ""), 0, Status.MACHINE_ERROR),
        (RunnerEndedError(-9, ""), 1, Status.MACHINE_ERROR),
        (RunnerEndedError(-9, ""), 0, Status.RUNTIME_ERROR),
        (RunnerEndedError(-11, ""), 1, Status.RUNTIME_ERROR),
        (RunnerEndedError(-6, "terminate: std::bad_alloc"), 0, Status.OUT_OF_MEMORY),
        (RunnerStuckError(), 0, Status.MACHINE_ERROR),
        (RunnerTimeoutError(), 0, Status.TIMEOUT),
        (RunnerForgedError(), 0, Status.RUNTIME_ERROR),
    ],
)
def test_the_machines_deaths_are_not_the_solutions(monkeypatch, error, oom_kills, status):
    monkeypatch.setattr("hone.judge.sides.oom_kills", lambda: oom_kills)
    accused = Subject.__new__(Subject)
    accused._kills_before, accused._protocol = 0, QUICK
    assert accused._verdict(error, "running").status is status


def test_a_runner_that_ended_says_so_as_often_as_it_is_asked():
    mine, theirs = socket.socketpair()
    ending, report = os.pipe()
    errors, written = os.pipe()
    os.write(report, b'{"code": -9}')
    os.write(written, b"last words")
    runner = Runner(Channel(mine), ending, errors)
    for descriptor in (report, written):
        os.close(descriptor)
    theirs.close()
    for _ in range(2):
        with pytest.raises(RunnerEndedError) as caught:
            runner.ask({"do": "prepare"}, 1.0)
        assert (caught.value.code, caught.value.errors) == (-9, "last words")
    assert (runner.end(), runner.alive) == (-9, False)


def test_a_process_that_cannot_be_stopped_is_stuck(monkeypatch):
    runner = Runner(None, -1, -1)
    monkeypatch.setattr("hone.judge.runner.END_TIMEOUT_S", 0.0)
    monkeypatch.setattr(runner, "_signal", lambda _: None)
    monkeypatch.setattr(runner, "_stopped", lambda: False)
    with pytest.raises(RunnerStuckError):
        runner.freeze()


def test_errors_do_not_tell_where_packages_lie():
    from hone.core.modules import load_module
    from hone.judge.child.models import describe_error

    with pytest.raises(RuntimeError) as caught:
        load_module("hone_candidate", "import torch\ntorch.nn.Linear(2, 3)(torch.zeros(5))\n")
    text = describe_error(caught.value, "run")["error"]["text"]
    assert '"…/site-packages/torch/nn/modules/linear.py"' in text
    assert 'File "/' not in text
    assert text.startswith('  File "<hone_candidate>", line 2')

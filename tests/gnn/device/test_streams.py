"""Work aside, without a GPU: who waits for whom, told by streams that only note it."""

import contextlib

import pytest
import torch

from hone.gnn.device.streams import Aside


class Stream:
    def __init__(self, name, waits):
        self.name, self._waits = name, waits
        self.cuda_stream = 0  # where there is a GPU, kernels for a CPU are handed it

    def wait_stream(self, other):
        self._waits.append((self.name, other.name))


@pytest.fixture
def waits(monkeypatch):
    """(who, for whom) in order, with `main` as the current stream."""
    found = []
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: Stream("main", found))
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    return found


def test_what_is_aside_waits_for_what_came_before_and_is_waited_for_once(waits):
    aside = Aside(Stream("aside", waits))
    aside.join()
    assert waits == [], "a capture must not wait for a stream that it does not have"
    for _ in range(2):
        with aside():
            pass
    assert waits == [("aside", "main")] * 2
    aside.join()
    aside.join()
    assert waits[2:] == [("main", "aside")]
    with aside():
        pass
    aside.join()
    assert waits[3:] == [("aside", "main"), ("main", "aside")]


def test_without_a_stream_all_is_done_in_turn(waits):
    aside = Aside()
    with aside():
        pass
    aside.join()
    assert waits == []

"""A bench with one simulated GPU for each test that asks for one."""

import math

import pytest

from .bench import Bench, clocks
from .rigs import fake_driver, rig
from .sessions import session

__all__ = ("bench", "fake_driver", "rig", "session")


@pytest.fixture(autouse=True)
def noise_is_no_second_try(monkeypatch):
    """The simulated GPU's times are the host's, so that a busy one charges much."""
    monkeypatch.setattr("hone.judge.device.cuda.doubts.MUCH_CHARGED", math.inf)


@pytest.fixture
def bench(monkeypatch):
    """Makes benches; the host's clock is that of the one made last."""
    made = []
    clocks(lambda: made[-1].device, monkeypatch)

    class Watched(Bench):
        def _begin(self):
            made.append(self)

    return Watched

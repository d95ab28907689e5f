"""Inputs of many sets from graphs, on a GPU: PyTorch's generator is in it, which the fake driver does not have."""

from types import SimpleNamespace

import pytest
import torch

from hone.judge.cuda import drawn_sets, driver

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
SHAPE, SETS = (300, 70), 40


def values():
    with torch.device("cuda"), drawn_sets.OnTheGpu():
        return torch.randn(SHAPE)[torch.randperm(SHAPE[0])] * torch.tensor([1.0] * 35 + [2.0] * 35)[:70]


def draw(places):
    places["x"].copy_(values())
    return {}


def waits(places):
    places["x"].fill_(values().sum().item())
    return {}


@pytest.fixture
def arena():
    driver.open_context()
    sets = [{"x": torch.empty(SHAPE, device="cuda")} for _ in range(SETS)]
    return SimpleNamespace(sets=sets, bytes=sets[0]["x"])


def usual(seed):
    torch.manual_seed(seed)
    return [values() for _ in range(SETS)]


def assert_usual(drawn, arena, seed):
    assert drawn.cover(SETS)
    drawn.draw(seed, SETS)
    torch.cuda.synchronize()
    assert all(torch.equal(places["x"], value) for places, value in zip(arena.sets, usual(seed), strict=True))


def test_sets_come_from_one_seed_in_order(arena):
    drawn = drawn_sets.DrawnSets(arena, draw)
    for seed in (5, 6, 5):
        assert_usual(drawn, arena, seed)


def test_after_a_capture_that_failed_there_is_chance_and_other_graphs(arena, monkeypatch):
    monkeypatch.setattr(drawn_sets, "_stays_on", lambda *_: True)
    assert not drawn_sets.DrawnSets(arena, waits).cover(SETS)
    assert all(torch.equal(*pair) for pair in zip(usual(3), usual(3), strict=True))
    assert not torch.equal(usual(3)[0], usual(4)[0])
    assert_usual(drawn_sets.DrawnSets(arena, draw), arena, 7)

"""Inputs of many sets at once: the same law as one by one, each set its own, and only where that is certain."""

import random

import numpy as np
import pytest
import torch

from hone.judge.device.cuda.draws import Draws
from hone.judge.device.cuda.memory import DeviceArena
from hone.judge.device.cuda.sets import Region
from hone.records.layout import Layout

SETS = 64


def usual():
    x = torch.randn(200) * 2 + 1
    index = torch.randint(0, 10, (50,))
    lse = torch.where(torch.rand(40) < 0.25, torch.full((40,), -torch.inf), torch.randn(40))
    return [x, index, torch.arange(5), 1.5, lse, torch.softmax(torch.rand(3, 4), dim=-1)]


def test_a_tensor_has_all_sets_and_a_number_is_itself():
    found = Draws(usual).together(3, SETS)
    assert [tuple(value.shape) for value in found if isinstance(value, torch.Tensor)] == [
        (SETS, 200), (SETS, 50), (SETS, 5), (SETS, 40), (SETS, 3, 4),
    ]  # fmt: skip
    assert found[3] == 1.5


def test_sets_differ_where_they_are_drawn_and_have_the_law_of_single_ones():
    x, index, constant, _, lse, shares = Draws(usual).together(3, SETS)
    for drawn in (x, index, lse, shares):
        assert len({row.numpy().tobytes() for row in drawn}) == SETS
    assert torch.equal(constant, torch.arange(5).expand(SETS, 5))
    assert float(x.mean()) == pytest.approx(1, abs=0.1) and float(x.std()) == pytest.approx(2, abs=0.1)
    assert torch.bincount(index.flatten(), minlength=10).min() > 0.7 * SETS * 5
    assert float(lse.isinf().float().mean()) == pytest.approx(0.25, abs=0.05)
    assert torch.allclose(shares.sum(-1), torch.ones(SETS, 3))


def test_a_seed_gives_the_same_sets_again_and_another_gives_others():
    draws = Draws(usual)
    first, again, other = (draws.together(seed, SETS)[0] for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not (first == other).any()


def by_numpy():
    return [torch.from_numpy(np.random.rand(4)), torch.rand(4)]


def by_python():
    return [torch.rand(4) * random.random()]


def with_a_number():
    return [torch.rand(4), random.random()]


def with_its_own_size():
    return [torch.rand(int(torch.randint(1, 4, ()).item()))]


def written_in_place():
    x = torch.zeros(4)
    x[0] = torch.rand(())
    return [x]


def by_python_now_and_then():
    return [torch.rand(4) * (2 if random.random() < 0.01 else 1)]


def by_python_to_no_effect():
    random.shuffle(order := [0, 1])
    return [torch.rand(4), torch.tensor(sorted(order))]


def with_a_seed_of_its_own():
    torch.manual_seed(7)
    return [torch.rand(4)]


def with_a_generator_of_its_own():
    return [torch.rand(4), torch.rand(4, generator=torch.Generator().manual_seed(7))]


def by_numpy_from_the_seed_of_pytorch():
    return [torch.rand(4), torch.from_numpy(np.random.default_rng(torch.initial_seed()).random(4))]


def with_another_data_type():
    return [torch.where(torch.rand(9) < 0.5, torch.rand(9, dtype=torch.float16), torch.rand(()))]


CALLS: list[int] = []


def by_the_number_of_calls():
    CALLS.append(1)
    return [torch.rand(4) + len(CALLS) % 2]


@pytest.mark.parametrize(
    "given",
    [
        by_numpy, by_python, by_python_now_and_then, by_python_to_no_effect, by_numpy_from_the_seed_of_pytorch,
        with_a_seed_of_its_own, with_a_generator_of_its_own, with_another_data_type, by_the_number_of_calls,
        with_a_number, with_its_own_size, written_in_place,
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_together_is_drawn_one_by_one(given):
    draws = Draws(given)
    assert draws.together(3, SETS) is None
    assert len(draws.one(3)) == len(given())


def views():
    x = torch.randn(6, 4)
    return [x, x.T, x[::2], torch.rand(3, 1).expand(3, 5), torch.zeros(1).expand(5), torch.rand(0, 3), torch.rand(())]


def kinds():
    return [
        torch.randint(0, 2, (9,)).bool(), torch.randint(-9, 9, (9,), dtype=torch.int8), torch.rand(9).bfloat16(),
        torch.randn(9, dtype=torch.float64), torch.randperm(9), torch.tensor(torch.nan),
    ]  # fmt: skip


def a_product():
    x = torch.randn(40, 40)
    return [x @ x.T]


KEPT: list[torch.Tensor] = []


def kept_from_the_first_call():
    KEPT.extend([] if KEPT else [torch.rand(4)])
    return [KEPT[0], torch.rand(4)]


@pytest.mark.parametrize("given", [usual, views, kinds, a_product, kept_from_the_first_call])
def test_one_set_together_is_the_set_alone(given):
    given()
    draws = Draws(given)
    for alone, mapped in zip(draws.one(3), draws.together(3, 1), strict=True):
        if isinstance(alone, torch.Tensor):
            assert mapped.dtype is alone.dtype
            torch.testing.assert_close(mapped[0], alone, equal_nan=True)
    again = draws.together(3, SETS)
    assert [torch.is_tensor(value) and value.shape[1:] for value in again] == [
        torch.is_tensor(value) and value.shape for value in given()
    ]


def test_without_inputs_there_is_nothing_to_draw():
    assert Draws(list).together(3, SETS) == []


def test_what_fails_always_says_so():
    def fails():
        raise ValueError("no such file")

    with pytest.raises(ValueError, match="no such file"):
        Draws(fails).together(3, SETS)


def test_sets_lie_behind_each_other_in_the_arena(monkeypatch):
    layout = Layout.of([("x", "float32", (2, 3)), ("empty", "int64", (0,)), ("flag", "bool", ()), ("y", "int64", (5,))])
    monkeypatch.setattr(
        torch,
        "as_tensor",
        lambda memory, device: torch.zeros(memory.__cuda_array_interface__["shape"], dtype=torch.uint8),
    )
    arena = DeviceArena(Region(layout, 6), 0)
    stacked = arena.stacked(1, 5)
    for values in stacked.values():
        values.copy_(torch.arange(values.numel()).reshape(values.shape) % 2)
    for at, places in enumerate(arena.sets[1:5]):
        assert all(torch.equal(places[name], stacked[name][at]) for name in stacked)
    assert not arena.rows()[0].any() and not arena.rows()[5].any()
    assert all(not arena.rows()[:, start:end].any() for start, end in layout.gaps())

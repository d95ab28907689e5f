"""Inputs of many sets from graphs, in the real reference on a fake driver."""

import pytest
import torch

from hone.judge.cuda import drawn_sets

from .rigs import CHANGING, GATHER, NORMAL, NUMBER, OUT, SCALE, SYNCHRONIZES, armed, batch, captured, problem, shown

SETS = 7


@pytest.fixture(autouse=True)
def small_graphs(monkeypatch):
    """Three graphs for seven sets."""
    monkeypatch.setattr(drawn_sets, "LEAST_SETS", 3)
    monkeypatch.setattr(drawn_sets, "SETS_A_GRAPH", 3)


def drawn_from(seed, sets=SETS):
    """What one seed gives for all sets, one after the other."""
    torch.manual_seed(seed)
    return [torch.randn(6, 5) for _ in range(sets)]


def made_of(rig, given, **other):
    return rig(problem("made", "return x + 1", OUT, given=given, **other), "return 1 + x", sets=SETS)


def test_all_sets_come_from_one_seed_in_order(rig):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL, sets=SETS)
    for seed in (5, 6):
        made.reference.refresh(seed, 9, SETS)
        made.reference.reveal(0, SETS)
        assert all(torch.equal(*pair) for pair in zip(shown(made), drawn_from(seed), strict=True))


def test_few_sets_are_drawn_one_by_one(rig):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL, sets=SETS)
    made.reference.refresh(40, 9, 2)
    made.reference.reveal(0, 2)
    assert torch.equal(shown(made)[1], drawn_from(41, 1)[0])
    made.reference.refresh(40, 9, 3)
    made.reference.reveal(0, 3)
    assert torch.equal(shown(made)[1], drawn_from(40, 2)[1])


def test_another_distribution_is_drawn_one_by_one(rig):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL, sets=SETS)
    made.reference.refresh(40, 9, SETS, "sparse")
    made.reference.reveal(0, SETS)
    assert torch.equal(shown(made)[1].abs().clamp(max=0), torch.zeros(6, 5))
    assert (shown(made)[1] == 0).float().mean() > 0.6


def test_audits_know_what_was_drawn(rig):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL, sets=SETS)
    batch(made, SETS)
    answer = made.compare(audit=range(SETS))
    assert (answer["wrong"], answer["changed"]) == (0, [])
    made.inputs[4]["x"][0, 0] += 1
    assert made.compare(audit=[3])["changed"] == []
    assert made.compare(audit=[4])["changed"] == ["x"]
    made.outputs[6]["out"][0, 0] += 1
    assert made.compare(audit=[6])["wrong"] == 1


def test_a_graph_over_drawn_sets_is_right_in_two_parts(rig):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL, sets=SETS)
    captured(made, SETS)
    armed(made, 200, SETS)
    made.reference.reveal(0, 4)
    made.reference.open_gates(0, 4, 1.0)
    made.reference.refresh_rest(4, 700)
    made.reference.reveal(4, SETS)
    made.reference.open_gates(4, SETS, 1.0)
    made.subject.collect()
    made.subject.store()
    answer = made.compare(audit=range(SETS))
    assert (answer["wrong"], answer["changed"]) == (0, [])
    assert torch.equal(shown(made)[3], drawn_from(200)[3])
    assert torch.equal(shown(made)[5], drawn_from(705, 1)[0])


def test_whole_measurements(rig):
    for item, source in ((NUMBER, {"body": "return factor * x", "names": "x, factor"}),
                         (GATHER, {"body": "return x.index_select(0, index)", "names": "x, index"})):  # fmt: skip
        made = rig(item, sets=SETS, **source)
        assert made.ground._drawn_sets.cover(SETS)
        assert made.measure().solution.samples_ms
        made.close()
        made.ground._descriptors = []


@pytest.mark.parametrize(
    "given",
    [
        "[torch.randn(rows, COLUMNS) * random.random()]",  # would be the same number for ever
        "[torch.full((rows, COLUMNS), random.random())]",
        "[torch.randn(rows, COLUMNS) * torch.rand(1).item()]",  # waits
        "[torch.randn(rows, COLUMNS) + len(torch.randint(2, (9,)).nonzero())]",
        "[torch.randn(rows, COLUMNS) + torch.randint(2, (9,)).unique().sum()]",
        "[torch.randn(rows, COLUMNS) + torch.rand(9)[torch.rand(9) < 0.5].sum()]",
    ],
)
def test_what_a_graph_would_freeze_or_wait_for_is_drawn_one_by_one(rig, given):
    made = made_of(rig, given)
    assert not made.ground._drawn_sets.cover(SETS)
    assert made.device.current is None
    made.reference.refresh(40, 9, SETS)
    made.reference.reveal(0, SETS)
    sets = shown(made)
    made.reference.refresh(41, 9, SETS)
    made.reference.reveal(0, SETS)
    assert torch.equal(shown(made)[0], sets[1])


def test_numbers_that_change_are_never_in_a_graph(rig):
    made = rig(CHANGING, "return factor * x", names="x, factor", sets=SETS)
    assert not made.ground._drawn_sets.cover(SETS)


def test_values_from_another_device_are_drawn_one_by_one(rig, monkeypatch):
    monkeypatch.setattr(drawn_sets, "_stays_on", lambda device, draw, places, old=drawn_sets._stays_on: old(
        torch.device("meta"), draw, places
    ))  # fmt: skip
    assert not made_of(rig, "[torch.randn(rows, COLUMNS)]").ground._drawn_sets.cover(SETS)


def test_a_capture_that_fails_leaves_everything_as_it_was(rig, monkeypatch):
    monkeypatch.setattr(drawn_sets, "_stays_on", lambda *_: True)
    made = made_of(rig, "[torch.randn(rows, COLUMNS) * torch.rand(1).item()]")
    assert not made.ground._drawn_sets.cover(SETS)
    batch(made, SETS)
    assert made.compare(audit=range(SETS))["wrong"] == 0


def test_short_lists_and_permutations_are_made_on_the_gpu(rig):
    given = "[torch.randn(rows, COLUMNS)[torch.randperm(rows)] * torch.tensor([1.0, 2, 3, 4, 5])]"
    made = made_of(rig, given)
    assert made.ground._drawn_sets.cover(SETS)
    with drawn_sets.OnTheGpu():
        assert sorted(torch.randperm(50, dtype=torch.int32).tolist()) == list(range(50))
        for data in ([1, 2], [1.5, 2], [True, False], [True, 3]):
            mine, usual = torch.tensor(data), torch.as_tensor(data)
            assert torch.equal(mine, usual) and mine.dtype == usual.dtype
        assert torch.tensor([1, 2], dtype=torch.int32).dtype == torch.int32
        assert torch.tensor(3).shape == ()
        assert torch.tensor([[1, 2]]).shape == (1, 2)


@pytest.mark.parametrize("function", ["tensor", "as_tensor"])
def test_what_is_copied_from_the_host_is_drawn_one_by_one(rig, function):
    made = made_of(rig, f"[torch.randn(rows, COLUMNS) * torch.{function}([[1.0] * COLUMNS] * rows)]")
    assert not made.ground._drawn_sets.cover(SETS)


def test_a_baseline_that_cannot_be_captured_takes_the_graphs_along(rig):
    made = rig(SYNCHRONIZES, "return 1 + x", sets=SETS)
    assert made.ground._drawn_sets.cover(SETS)
    made.reference.refresh(1, 9, SETS)
    made.reference.reveal(0, SETS)
    assert not made.reference.capture("torch_eager")
    assert not made.ground._drawn_sets.cover(SETS)
    batch(made, SETS)
    assert made.compare(audit=range(SETS))["wrong"] == 0


def test_a_baseline_that_is_captured_leaves_them(rig):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL, sets=SETS)
    made.reference.refresh(1, 9, SETS)
    made.reference.reveal(0, SETS)
    assert made.reference.capture("torch_eager")
    assert made.ground._drawn_sets.cover(SETS)

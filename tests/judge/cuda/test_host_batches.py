"""The real hosts on a fake driver: batches, gates, graphs."""

import pytest
import torch

from hone.records import Status

from .rigs import (
    CHANGING,
    IN_PLACE,
    NORMAL,
    SCALE,
    SETS,
    SYNCHRONIZES,
    armed,
    batch,
    captured,
    expected,
    refused,
    same,
    shown,
)


def test_inputs_are_hidden_until_their_part_is_revealed(rig):
    made = rig(SCALE, "return x", init=NORMAL)
    before = shown(made)
    made.reference.refresh(50, 9, SETS)
    assert same(shown(made), before) == [True] * SETS
    made.reference.reveal(1, 3)
    assert same(shown(made), expected(50)) == [False, True, True, False]
    made.reference.reveal(0, SETS)
    assert same(shown(made), expected(50)) == [True] * SETS
    made.reference.refresh_rest(2, 900)
    assert same(shown(made), expected(50)) == [True] * SETS
    made.reference.reveal(2, SETS)
    assert same(shown(made), expected(50)) == [True, True, False, False]
    assert same(shown(made), expected(900)) == [False, False, True, True]
    assert made.ground._seeds == [50, 51, 902, 903]


def test_outputs_that_were_touched_are_seen_from_a_set_on(rig):
    made = rig(SCALE, "return x", init=NORMAL)
    made.reference.refresh(50, 9, SETS)
    assert made.reference.untouched(0)
    made.outputs[2]["out"][0, 0] = 1.0
    assert [made.reference.untouched(first) for first in range(SETS)] == [False, False, False, True]


def test_a_batch_in_the_stream_runs_on_its_sets_alone(rig):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL)
    batch(made, 2, seed=70)
    want = [torch.sigmoid(x) * made.host._model.weight for x in expected(70, 2)]
    assert same([places["out"] for places in made.outputs[:2]], want) == [True, True]
    assert made.reference.untouched(2)


@pytest.mark.parametrize("first", [1, 2, 3])
def test_gates_let_just_their_runs_begin(rig, first):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL)
    captured(made)
    armed(made, 200)
    kept = made.host._captured
    old = [one.clone() for one in kept]
    made.reference.reveal(0, SETS)
    assert same(kept, old) == [True] * SETS  # gates are closed
    made.reference.open_gates(0, first, 1.0)
    assert same(kept, old) == [False] * first + [True] * (SETS - first)
    made.reference.refresh_rest(first, 700)
    made.reference.reveal(first, SETS)
    made.reference.open_gates(first, SETS, 1.0)
    made.subject.collect()
    made.subject.store()
    assert made.compare(audit=range(SETS))["wrong"] == 0
    assert same(shown(made)[first:], expected(700)[first:]) == [True] * (SETS - first)


def test_a_graph_is_used_again_and_made_again(rig):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL)
    for sets in (SETS, 2, 3):
        captured(made, sets)
        for seed in (300, 400):
            armed(made, seed, sets)
            made.subject.run_armed(made.reference, sets)
            made.subject.collect()
            made.subject.store()
            assert made.compare(audit=range(sets))["wrong"] == 0
            assert made.reference.untouched(sets) if sets < SETS else True


def test_baselines_in_graphs_run_on_what_was_revealed(rig):
    made = rig(IN_PLACE, "x.mul_(0.5); return x.sum(1)")
    made.reference.refresh(10, 9, SETS)
    made.reference.reveal(0, SETS)
    assert made.reference.capture("torch_eager")
    for mode in ("graph", "stream"):
        made.reference.refresh(20, 9, SETS)
        made.reference.reveal(0, SETS)
        assert made.reference.batch("torch_eager", mode, SETS) >= 0
        assert same(shown(made), [0.5 * x for x in expected(20)]) == [True] * SETS


@pytest.mark.parametrize("side", ["reference", "solution"])
def test_after_a_capture_that_failed_batches_in_the_stream_go_on(rig, side):
    item, body = (SYNCHRONIZES, "return x + 1") if side == "reference" else (SCALE, "x.sum().item(); return x")
    made = rig(item, body, init=NORMAL)
    made.reference.refresh(10, 9, SETS)
    made.reference.reveal(0, SETS)
    if side == "reference":
        assert not made.reference.capture("torch_eager")
        assert made.reference.batch("torch_eager", "stream", SETS) > 0
        assert made.device.current is None
        return
    made.subject.prepare(9, [{}] * SETS)
    assert not made.subject.capture()
    assert made.device.current is None
    batch(made, SETS)


def test_numbers_arrive_set_by_set(rig):
    made = rig(CHANGING, "return factor * x", names="x, factor")
    scalars = made.reference.refresh(30, 9, SETS)
    assert len({item["factor"] for item in scalars}) == SETS
    made.reference.reveal(0, SETS)
    made.subject.prepare(9, scalars)
    made.subject.run(SETS, made.reference)
    made.subject.store()
    assert made.compare(audit=range(SETS))["wrong"] == 0


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("return x[:1]", Status.WRONG_SHAPE, "out is float32 [1, 5], expected float32 [6, 5]"),
        ("return x.double()", Status.WRONG_SHAPE, "float64"),
        ("return x, x", Status.WRONG_SHAPE, "2 outputs, expected 1"),
        ("return {'out': x}", Status.WRONG_SHAPE, "dict"),
        ("raise ValueError('no')", Status.RUNTIME_ERROR, "ValueError: no"),
        ("x.zero_(); return x", Status.INPUT_CHANGED, "x"),
        ("return torch.full_like(x, float('nan'))", Status.WRONG_VALUE, "nan"),
    ],
)
def test_what_a_solution_does_wrong_gets_its_status(rig, body, status, words):
    found = refused(rig(SCALE, body, init=NORMAL).examine)
    assert found.status is status
    assert words in found.detail

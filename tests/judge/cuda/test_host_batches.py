"""The real hosts on a fake driver: batches, gates, graphs."""

import random

import pytest
import torch

from hone.judge.device.cuda import driver
from hone.judge.device.cuda.events import Clock
from hone.judge.device.cuda.side import NOT_CAPTURED
from hone.judge.verdict import Verdict
from hone.records import Status

from .fake_driver import FakeCuda
from .rigs import (
    CHANGING,
    IN_PLACE,
    NORMAL,
    OUT,
    SCALE,
    SETS,
    SYNCHRONIZES,
    armed,
    batch,
    captured,
    expected,
    problem,
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
    assert same(shown(made), expected(900, together=False)) == [False, False, True, True]


@pytest.mark.parametrize("room_for", ["drawing", "nothing together"])
def test_sets_are_drawn_one_by_one_where_there_is_no_memory(rig, monkeypatch, room_for):
    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    made = rig(SCALE, "return x", init=NORMAL)
    if room_for == "drawing":  # and none for what comes after
        monkeypatch.setattr(made.ground._hidden, "stacked", full)
    else:
        monkeypatch.setattr(torch, "vmap", full)
    made.reference.refresh(50, 9, SETS)
    made.reference.reveal(0, SETS)
    assert same(shown(made), expected(50, together=False)) == [True] * SETS


@pytest.mark.parametrize("distribution", ["as_given", "signed", "wide", "sparse"])
def test_every_set_is_new_whatever_its_distribution(rig, distribution):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL)
    for seed in (40, 41):
        made.reference.refresh(seed, 9, SETS, distribution)
        made.reference.reveal(0, SETS)
        rows = [x.numpy().tobytes() for x in shown(made)]
        assert len(set(rows)) == SETS
    made.reference.refresh(40, 9, SETS, distribution)
    made.reference.reveal(0, SETS)
    assert not set(rows) & {x.numpy().tobytes() for x in shown(made)}


def test_sparse_values_are_not_the_largest_of_uniform_ones(rig):
    item = problem("uniform", "return x + 1", OUT, given="[torch.rand(rows, COLUMNS)]")
    made = rig(item, "return x + 1")
    values = []
    for seed in range(20):
        made.reference.refresh(seed, 9, SETS, "sparse")
        made.reference.reveal(0, SETS)
        values += [x[x > 0] for x in shown(made)]
    found = torch.cat(values)
    assert found.numel() == pytest.approx(20 * SETS * 30 / 10, rel=0.3)
    assert float(found.mean()) == pytest.approx(0.5, abs=0.1)


def test_audits_do_not_depend_on_what_others_do_to_inputs_meanwhile(rig, monkeypatch):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL)
    batch(made, SETS)
    expect = made.ground._expect

    def spoiled_before(index, *rest, **others):
        made.inputs[index]["x"].zero_()
        expect(index, *rest, **others)

    monkeypatch.setattr(made.ground, "_expect", spoiled_before)
    found = made.compare(audit=range(SETS))
    assert (found["wrong"], found["changed"]) == (0, [])


def test_audits_ask_nobody_for_what_the_reference_has_no_numbers_for(rig):
    """Wide values pass their trial by luck, and other draws of them do not; the usual values are always asked about."""
    item = problem("undecided", "return torch.where(x.abs() < 60, torch.sigmoid(x), torch.nan)", OUT)
    made = rig(item, "return torch.sigmoid(x)")
    batch(made, SETS, seed=104, distribution="wide")
    decided = [bool((x.abs() < 60).all()) for x in shown(made)]
    assert {True, False} == set(decided)
    assert made.compare(distribution="wide", audit=range(SETS))["wrong"] == 0
    assert made.compare(distribution="as_given", audit=range(SETS))["wrong"] > 0
    made.outputs[decided.index(False)]["out"][3, 2] += 0.01
    assert made.compare(distribution="wide", audit=range(SETS))["wrong"] == 0
    made.outputs[decided.index(True)]["out"][3, 2] += 0.01
    found = made.compare(distribution="wide", audit=[decided.index(False), decided.index(True)])
    assert (found["wrong"], found["elements"]) == (1, 30)


def test_where_no_run_can_be_checked_the_usual_values_are(rig, monkeypatch):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL)
    made.measure()
    asked = []
    with monkeypatch.context() as patch:
        patch.setattr(made.timing, "_audit_apart", lambda values, chance: asked.append(values) or values != "wide")
        made.timing.audit_apart(every_kind=True)
    at = asked.index("wide")
    assert asked[at : at + 2] == ["wide", "as_given"] and len(asked) == 5
    assert made.timing._audit_apart("as_given", random.SystemRandom())


def test_after_new_inputs_old_results_are_wrong(rig):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL)
    batch(made, SETS, seed=10)
    old = [places["out"].clone() for places in made.outputs]
    made.reference.refresh(11, 9, SETS)
    made.reference.reveal(0, SETS)
    for places, out in zip(made.outputs, old, strict=True):
        places["out"].copy_(out)
    assert made.compare(audit=[2])["wrong"] == 30


def test_outputs_that_were_touched_are_seen_from_a_set_on(rig):
    made = rig(SCALE, "return x", init=NORMAL)
    made.reference.refresh(50, 9, SETS)
    assert made.reference.untouched(0)
    made.outputs[2]["out"][0, 0] = 1.0
    assert [made.reference.untouched(first) for first in range(SETS)] == [False, False, False, True]


def test_a_batch_in_the_stream_runs_on_its_sets_alone(rig):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL)
    batch(made, 2, seed=70)
    want = [torch.sigmoid(x) * made.host._model.weight for x in expected(70, 2, together=False)]
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
    assert same(shown(made)[first:], expected(700, together=False)[first:]) == [True] * (SETS - first)


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
    for mode in ("graph", "replay", "stream"):
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
    assert made.subject.capture(SETS) == NOT_CAPTURED
    assert made.device.current is None
    batch(made, SETS)


@pytest.mark.parametrize(
    "error", [driver.CudaError(2, "cuGraphLaunch", "out of memory"), RuntimeError("CUDA error: out of memory")]
)
def test_a_baselines_graph_that_there_is_no_room_for_holds_no_memory(rig, monkeypatch, error):
    def full():
        raise error

    made = rig(SCALE, "return x + 1", init=NORMAL)
    made.reference.refresh(10, 9, SETS)
    made.reference.reveal(0, SETS)
    monkeypatch.setattr(made.ground, "_open_own_gates", full)
    with pytest.raises(Verdict, match="more GPU memory than is free"):
        made.reference.capture("torch_eager")
    assert made.ground._graphs == {}
    assert made.reference.alive


def test_a_solution_is_asked_for_what_it_keeps_in_memory(rig, monkeypatch):
    made, told = rig(SCALE, "return x + 1", init=NORMAL), []
    monkeypatch.setattr(FakeCuda, "empty_cache", lambda cuda: told.append("given back"))
    made.subject.give_back()
    assert told == ["given back"]


@pytest.mark.parametrize(
    ("free_sets", "all_sets", "keeps", "given_back"),
    [(1, 8, False, 1), (3, 8, False, 0), (1, 17, False, 0), (1, 8, True, 0)],
)
def test_a_solution_gives_kept_memory_back_before_new_inputs_are_made_where_they_might_lack_it(
    rig, monkeypatch, free_sets, all_sets, keeps, given_back
):
    made, told = rig(SCALE, "return x + 1", init=NORMAL), []
    set_bytes = sum(made.reference.regions[name].layout.nbytes for name in ("inputs", "outputs"))
    monkeypatch.setattr(made.device, "free_bytes", free_sets * set_bytes)
    monkeypatch.setattr(made.device, "total_bytes", all_sets * set_bytes)
    monkeypatch.setattr(FakeCuda, "empty_cache", lambda cuda: told.append("given back"))
    made.subject.prepare(9, [{}] * SETS, keeps_memory=keeps)
    assert len(told) == given_back


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


class LateGpu:
    """A driver whose GPU another process has had: it comes to what this one asks for only after a while.

    Milliseconds of a host that launches and of a GPU that is faster than that.
    """

    SWITCH_MS, LAUNCH_MS, KERNEL_MS = 0.16, 0.01, 0.001

    def __init__(self):
        self.host_ms = self.gpu_ms = 0.0
        self.mine, self.happened = False, {}

    def launch(self, stream=None, *_):
        self.host_ms += self.LAUNCH_MS
        begun_ms = max(self.host_ms + (0.0 if self.mine else self.SWITCH_MS), self.gpu_ms)
        self.gpu_ms, self.mine = begun_ms + self.KERNEL_MS, True

    def record(self, event, stream):
        if not self.mine:
            self.gpu_ms, self.mine = self.host_ms + self.SWITCH_MS, True
        self.happened[event.value] = max(self.host_ms, self.gpu_ms)

    def synchronize(self):
        self.host_ms = max(self.host_ms, self.gpu_ms)

    def elapsed_ms(self, start, end):
        return self.happened[end.value] - self.happened[start.value]


@pytest.mark.parametrize("mine", [True, False])
def test_launches_take_their_time_though_another_process_had_the_gpu(fake_driver, monkeypatch, mine):
    """The baseline's process has just shown the inputs, the solution's has not: both must get the same time."""
    gpu, clock = LateGpu(), Clock(None)
    gpu.mine = mine
    for name in ("record", "synchronize", "elapsed_ms"):
        monkeypatch.setattr(driver, name, getattr(gpu, name))
    monkeypatch.setattr(driver, "fill_words", gpu.launch)
    assert clock.time(lambda: [gpu.launch() for _ in range(20)]) == pytest.approx(0.2, abs=0.005)

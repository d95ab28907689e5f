"""The real hosts on a fake driver: loading, sizes, trials and what a comparison finds."""

import pytest
import torch

from hone.judge.child.cuda import reference_base
from hone.judge.device.cuda.side import RESTLESS, DeviceSubject
from hone.records import Status

from .rigs import (
    ALL,
    HONEST,
    IN_PLACE,
    MODES_OF,
    NAMED,
    NORMAL,
    NUMBER,
    OUT,
    RANDOM,
    SCALE,
    SETS,
    batch,
    problem,
    refused,
)

# ------------------------------------------------------------------------------------------------- loading


def test_loading_writes_parameters_and_finds_out_about_the_reference(rig):
    made = rig(SCALE, "return x", init=NORMAL)
    torch.manual_seed(made.plan.workload.seed)
    weight = torch.randn(5)
    assert torch.equal(made.ground._parameters.sets[0]["weight"], weight)
    assert torch.equal(made.host._model.weight, weight)  # as the solution's own
    assert (made.reference.written, made.reference.random, made.reference.scalars) == ([], False, {})
    assert made.device.rights == [True, True, False, True]


def test_written_inputs_numbers_and_chance_are_found(rig):
    in_place = rig(IN_PLACE, "return x")
    assert in_place.reference.written == ["x"]
    assert in_place.device.rights == [True, True, False, True]
    assert rig(RANDOM, "return x").reference.random
    small = problem("small", "return torch.nn.functional.dropout(x, 0.2, True).softmax(0) * 1e-4", OUT)
    assert rig(small, "return x").reference.random  # far below every tolerance
    beside = problem("beside", "return 300 * x + torch.nn.functional.dropout(torch.ones_like(x), 0.5, True)", OUT)
    assert rig(beside, "return x").reference.random  # a small part of the whole
    assert rig(NUMBER, "return x", names="x, factor").reference.scalars == {"factor": 1.5}


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ([0.0, 0.0], [0.0, 0.0], 0), ([3e-9, 4e-9], [3e-9, 4e-9 + 5e-11], 0.01), ([NAN, 1.0], [NAN, 1.0], 0),
        ([INF, 1.0], [INF, 1.0], 0), ([INF, 3.0], [INF, 4.0], 1 / 3), ([NAN, 1.0], [1.0, 1.0], NAN),
        ([1.0, 1.0], [INF, 1.0], INF),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_two_runs_differ_by_a_share_of_their_results(one, other, share, dtype):
    found = reference_base._differ_by(torch.tensor(one, dtype=dtype), torch.tensor(other, dtype=dtype))
    assert found == pytest.approx(share, rel=0.6 if dtype == torch.bfloat16 else 0.05, nan_ok=True)


def test_large_halves_do_not_differ_by_what_their_type_cannot_hold():
    large = torch.full((100,), 6e4, dtype=torch.float16)
    assert reference_base._differ_by(large, large * 0.9) == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize("name", HONEST)
def test_honest_solutions_pass_all_trials_and_batches(rig, name):
    item, given = HONEST[name]
    made = rig(item, **given)
    found = made.measure()
    assert found.clock.mode == MODES_OF.get(name, "graph")
    assert made.device.current is None
    assert found.solution.latency_ms > 0


@pytest.mark.parametrize("name", sorted(set(HONEST) - {*MODES_OF, "synchronizes"}))
def test_honest_solutions_pass_where_graphs_are_launched_on_inputs_that_are_shown(rig, monkeypatch, name):
    item, given = HONEST[name]
    made = rig(item, **given)
    made.reference._modes["torch_eager"] = "replay"  # as of a graph that cannot wait at its gate
    monkeypatch.setattr(DeviceSubject, "waits_quietly", lambda *_: RESTLESS)
    found = made.measure()
    assert (found.clock.mode, found.clock.runs_per_sample) == ("replay", 1)
    assert found.clock.baseline_modes == {"torch_eager": "replay"}
    assert found.solution.latency_ms > 0


@pytest.mark.parametrize("name", HONEST)
def test_other_sizes_reach_inputs_outputs_and_parameters(rig, name):
    item, given = HONEST[name]
    given = {**given, "init": given.get("init", "").replace("torch.randn(5)", "torch.randn(3)")}
    made = rig(item, sizes={"rows": 2, "columns": 3}, **given)
    assert made.reference.sets == 1
    assert made.inputs[0]["x"].shape == (2, 3)
    assert made.examine().errors.wrong_fraction == 0.0


def test_constants_are_numbers_and_nothing_else_of_that_name(rig):
    made = rig(NAMED, "return torch.relu(x).repeat(1, x.shape[1] // x.shape[1] * 3)", sizes={"f": 3, "wide": 15})
    assert made.examine(1).errors.wrong_fraction == 0.0


# ------------------------------------------------------------------------------------------------- trials


@pytest.mark.parametrize("distribution", ALL)
def test_trials_have_inputs_of_their_distribution_and_exact_errors(rig, distribution):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL)
    answer = made.trial(distribution)
    assert answer["usable"] and answer["scalars"] == {}
    assert 0 < answer["baseline_error"] < 1e-6
    torch.manual_seed(5)
    given, x = torch.randn(6, 5), made.inputs[0]["x"]
    same = {
        "as_given": x == given,
        "signed": x.abs() == given.abs(),
        "wide": x / given > 0,
        "sparse": (x == given) | (x == 0),
    }
    assert bool(same[distribution].all())
    assert torch.equal(x, given) == (distribution == "as_given")
    found = made.compare(distribution=distribution)
    assert found["exact_error"] == answer["baseline_error"]
    assert (found["wrong"], found["elements"], found["guards"], found["changed"]) == (0, 30, True, [])


def spoil(made, what):
    place = made.outputs[0]["out"]
    if what == "element":
        place[3, 2] += 0.01
    elif what == "nan":
        place[3, 2] = float("nan")
    elif what == "guard":
        made.ground._outputs.rows()[0, -1] ^= 1
    else:
        made.inputs[0]["x"][3, 2] += 1e-3


@pytest.mark.parametrize(
    ("what", "seen"),
    [
        ("element", {"wrong": 1, "changed": [], "guards": True}),
        ("nan", {"wrong": 1, "changed": [], "guards": True}),
        ("guard", {"wrong": 0, "changed": [], "guards": False}),
        ("input", {"wrong": 0, "changed": ["x"], "guards": True}),
    ],
)
def test_one_thing_wrong_is_found_in_trials_and_in_batches(rig, what, seen):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL)
    made.trial()
    spoil(made, what)
    found = made.compare()
    assert {key: found[key] for key in seen} == seen
    if found["wrong"]:
        assert found["first_wrong"].startswith("out[3, 2] is ")
    batch(made, 2)
    assert made.compare(audit=[0, 1])["wrong"] == 0
    spoil(made, what)
    found = made.compare(audit=[0, 1])
    assert {key: found[key] for key in seen} == seen
    if what != "guard":
        assert (made.compare(audit=[1])["wrong"], made.compare(audit=[1])["changed"]) == (0, [])


@pytest.mark.parametrize("body", ["return 0.5 * x.sum(1)", "x.mul_(0.25); return 2 * x.sum(1)"])
def test_an_argument_that_should_be_changed_in_place_is_compared(rig, body):
    made = rig(IN_PLACE, body)
    made.trial()
    found = made.compare()
    assert (found["elements"], found["wrong"], found["changed"]) == (36, 30, [])
    assert found["first_wrong"].startswith("x[0, 0]")
    batch(made, 2)
    found = made.compare(audit=[1])
    assert (found["elements"], found["wrong"]) == (36, 30)
    assert refused(made.examine).status is Status.WRONG_VALUE


def test_what_is_audited_in_place_stays_as_the_solution_left_it(rig):
    made = rig(IN_PLACE, "x.mul_(0.5); return x.sum(1)")
    batch(made, SETS)
    before = [places["x"].clone() for places in made.inputs]
    for _ in range(2):
        assert made.compare(audit=range(SETS))["wrong"] == 0
    assert all(torch.equal(places["x"], kept) for places, kept in zip(made.inputs, before, strict=True))


def test_where_float64_gives_something_else_nothing_is_excused_by_it(rig):
    item = problem("kinds", "return x + (1.0 if x.dtype is torch.float64 else 0.0)", OUT)
    made = rig(item, "return x + 0.5")
    assert refused(made.examine).status is Status.WRONG_VALUE


def test_chance_is_no_excuse_for_wrong_values(rig):
    made = rig(RANDOM, "return torch.dropout(x, 0.5, True) + 0.5")
    assert refused(made.examine).status is Status.WRONG_VALUE


def test_a_smaller_number_format_is_imprecise(rig):
    made = rig(SCALE, "return torch.sigmoid(x.half()).float() * self.weight", init=NORMAL)
    assert refused(made.examine).status in (Status.WRONG_VALUE, Status.IMPRECISE)


# ------------------------------------------------------------------------ what KernelBench's harness gives and takes


def test_a_solution_finds_the_names_of_the_problem_as_in_the_public_harness(rig):
    made = rig(SCALE, source="class ModelNew(Model):\n    columns = COLUMNS\n")
    assert made.host._model.columns == 5
    made.examine()


def test_what_a_solution_keeps_in_half_precision_stays_so(rig):
    body = "return (torch.sigmoid(x) * self.weight.float())"
    made = rig(SCALE, body, init="self.weight = nn.Parameter(torch.randn(5).half())")
    assert made.host._model.weight.dtype is torch.float16


def test_a_reference_that_keeps_a_state_is_no_problem_for_two_processes(rig):
    item = problem("counts", "self.runs += 1; return x * self.runs", OUT, init="self.runs = 0")
    found = refused(lambda: rig(item, "return x"))
    assert (found.status, "keeps a state" in found.detail) == (Status.NOT_JUDGED, True)


def test_a_machine_that_is_too_slow_to_launch_an_empty_batch_is_not_measured(rig, monkeypatch):
    made = rig(SCALE, "return torch.sigmoid(x) * self.weight", init=NORMAL)
    monkeypatch.setattr(DeviceSubject, "arm", lambda *_, **__: "late")
    found = refused(lambda: made.subject.calibrate(made.reference))
    assert (found.status, "empty batch" in found.detail) == (Status.MACHINE_ERROR, True)

"""The table gnn_kernels and its figure: known answers, operators that fell back, choices that nobody trains with."""

import math

import pytest

from hone.analysis.figures import draw
from hone.analysis.kernels import amdahl, kernel_rows
from hone.analysis.render import to_frame
from hone.analysis.schema import TABLES
from hone.records import KernelUse, OperatorShare, SelectionReason

from .trainings import Trainings, kernel_time

OPERATOR = "sample_neighbours"


def chosen(where="Test GPU", operator=OPERATOR, **changes):
    values = {"used": "selected", "reason": "", "solution": "abc", "baseline_us": 8.0, "selected_us": 2.0}
    return SelectionReason(operator=operator, definition=f"ops/level1/1_{operator}", where=where, **values | changes)


def use(used="selected", reason="", where="Test GPU"):
    return KernelUse(operator=OPERATOR, where=where, used=used, solution="abc", reason=reason)


def share(operator_ms):
    place = {"operator": OPERATOR, "training": "tried", "graph": "small", "model": "sage", "where": "a CPU"}
    return OperatorShare(**place, operator_ms=operator_ms, prepare_ms=10.0, batches=8)


@pytest.fixture
def made():
    """One thread prepares all the time, half of it in one operator; the loop waits for half of an epoch's second."""
    made = Trainings(selections=[chosen()], shares=[share(5.0)])
    made.train("pipelined", 1.0, 1.0, training="usual", blocked=0.5, workers=1)
    return made


def tried(made, *epochs_s, uses=None, **changes):
    told = {"training": "tried", "kernels": "selected", "kernel_uses": uses or (use(),), "workers": 1, "blocked": 0.1}
    return made.train("pipelined", *(epochs_s or (0.8, 0.8)), **told | changes)


def test_leading_columns_are_the_design_s():
    design = "operator baseline_us selected_us speedup share predicted_gain measured_gain"
    assert list(TABLES["gnn_kernels"].columns[:7]) == design.split()


def test_amdahl_s_law():
    assert amdahl(0.0, 9.0) == 1.0
    assert amdahl(1.0, 9.0) == pytest.approx(9.0)
    assert amdahl(0.5, 2.0) == pytest.approx(4 / 3)
    assert amdahl(0.5, math.inf) == 2.0


def test_the_gain_of_an_epoch_stands_beside_the_prediction(made):
    tried(made)
    (row,) = kernel_rows(made.salient())
    assert (row["operator"], row["baseline_us"], row["selected_us"], row["speedup"]) == (OPERATOR, 8.0, 2.0, 4.0)
    assert (row["preparation_share"], row["share"]) == (0.5, 0.5)
    assert row["predicted_gain"] == pytest.approx(amdahl(0.5, 4.0)) == pytest.approx(1.6)
    assert row["most_gain"] == pytest.approx(2.0)
    assert row["measured_gain"] == pytest.approx(1.25)
    assert row["preparation_gain"] == pytest.approx(1.25), "made up as twice the epoch"
    assert (row["measured_low"], row["measured_high"]) == (pytest.approx(1.25), pytest.approx(1.25)), "epochs agree"
    assert (row["builtin_epoch_s"], row["epoch_s"]) == (pytest.approx(1.0), pytest.approx(0.8))
    assert (row["training"], row["reference"], row["used"], row["why"]) == ("tried", "usual", "selected", "")
    assert row["same_losses"] == "yes"


def test_epochs_that_differ_give_a_wide_interval(made):
    tried(made, 0.6, 1.0)
    (row,) = kernel_rows(made.salient())
    assert row["measured_low"] < 1 < row["measured_gain"] < row["measured_high"]


def test_what_is_hidden_behind_the_steps_gains_nothing(made):
    made.trainings.clear()
    made.train("pipelined", 1.0, training="usual", blocked=0.02, workers=4)
    tried(made, workers=4)
    (row,) = kernel_rows(made.salient())
    assert row["share"] == pytest.approx(0.25), "four threads prepare: half a second each, half of it the operator's"
    assert row["predicted_gain"] == row["most_gain"] == pytest.approx(1 / 0.98)


def test_a_kernel_that_fell_back_has_a_row_that_says_so(made):
    tried(made, uses=(use("fell_back", "it crashed: SIGSEGV"),))
    tried(made, seed=1)
    made.train("pipelined", 1.0, 1.0, training="usual", blocked=0.5, workers=1, seed=1)
    (row,) = kernel_rows(made.salient())
    assert (row["used"], row["why"]) == ("fell_back; selected", "it crashed: SIGSEGV")
    assert row["predicted_gain"] == pytest.approx(1.6), "what it would have gained"


def test_an_operator_of_the_cpu_is_looked_up_by_the_cpu_that_ran_it(made):
    """A training on a GPU that samples on a CPU."""
    made.selections = [chosen("a CPU"), chosen(selected_us=1.0)]
    tried(made, uses=(use(where="a CPU"),))
    first, rest = kernel_rows(made.salient())
    assert (first["speedup"], first["device"]) == (4.0, "Test GPU")
    assert (rest["speedup"], rest["gpus"]) == (8.0, 0)


def test_where_the_builtin_was_chosen_nothing_is_promised(made):
    made.selections = [chosen(used="builtin", reason="nothing faster")]
    tried(made, uses=(use("builtin", "the campaign selected none"),))
    (row,) = kernel_rows(made.salient())
    assert row["predicted_gain"] == 1.0 and row["speedup"] is None and row["selected_us"] is None
    assert (row["used"], row["why"]) == ("builtin", "the campaign selected none")
    assert row["measured_gain"] == pytest.approx(1.25)


def test_choices_without_a_training_and_trainings_without_a_choice_have_rows(made):
    made.selections = [chosen("Other GPU"), chosen(operator="gather")]
    tried(made, uses=(use("builtin", "nothing was selected for Test GPU, only for Other GPU"),))
    first, *rest = kernel_rows(made.salient())
    assert (first["training"], first["predicted_gain"]) == ("tried", 1.0)
    assert [(row["operator"], row["device"], row["gpus"]) for row in rest] == [
        (OPERATOR, "Other GPU", 0), ("gather", "Test GPU", 0),
    ]  # fmt: skip
    assert {row["why"] for row in rest} == {"no training of this config runs it on this machine"}
    assert len(to_frame("gnn_kernels", [first, *rest])) == 3


def test_an_operator_of_the_device_system_has_its_share_of_all_kernels(made):
    """Two launches with a fifth of the time each; those of other operators, trainings and machines do not count."""
    name = "mean_of_states"
    made.selections, made.trainings = [chosen(operator=name)], []
    made.train("device", 1.0, 1.0, training="usual", workers=1)
    tried_with = use().model_copy(update={"operator": name})
    made.train("device", 0.8, 0.8, training="tried", workers=1, kernels="selected", kernel_uses=(tried_with,))
    (row,) = kernel_rows(made.salient())
    assert math.isnan(row["share"]) and math.isnan(row["predicted_gain"])
    place = {"dataset": "small", "training": "usual", "share": 0.2}
    made.rooflines = [
        *(kernel_time(f"{name}, layer {layer}", **place) for layer in (2, 3)),
        kernel_time("mean_of_features", **place), kernel_time("all kernels", **place | {"share": 1.0}),
        kernel_time(f"{name}, layer 2", **place | {"training": "other"}),
        kernel_time(f"{name}, layer 2", **place | {"device": "Other GPU"}),
    ]  # fmt: skip
    (row,) = kernel_rows(made.salient())
    assert row["share"] == pytest.approx(0.4) and "most_gain" not in row
    assert row["predicted_gain"] == pytest.approx(amdahl(0.4, 4.0))
    assert row["measured_gain"] == pytest.approx(1.25)


@pytest.mark.parametrize(
    "changes", [{"batch_size": 512}, {"workers": 2}, {"seed": 7}, {"graph": "other"}, {"model": "gin"}]
)  # fmt: skip
def test_only_the_same_training_is_a_reference(made, changes):
    tried(made, **changes)
    (row,) = kernel_rows(made.salient())
    assert "measured_gain" not in row and "reference" not in row
    assert row["speedup"] == 4.0


def test_other_losses_are_named(made):
    run = tried(made)
    epochs = (*run.epochs[:-1], run.epochs[-1].model_copy(update={"loss": 0.123}))
    made.trainings[-1] = run.model_copy(update={"epochs": epochs})
    (row,) = kernel_rows(made.salient())
    assert row["same_losses"] == "no"


def test_the_figure_has_a_row_for_each_and_hatches_what_ran_the_builtin(made, tmp_path):
    made.selections.append(chosen("Other GPU"))
    nothing = {"operator": "gather_rows", "used": "builtin", "reason": "no experiment wrote a solution"}
    made.selections.append(chosen("Other GPU").model_copy(update=nothing))  # is not drawn
    tried(made)
    tried(made, training="fallen", uses=(use("fell_back", "gone"),))
    figure = draw("gnn_kernels", to_frame("gnn_kernels", kernel_rows(made.salient())))
    alone, epoch = figure.axes
    assert [text.get_text().split("\n")[1] for text in alone.get_yticklabels()] == [
        "small, sage, pipelined (tried)", "small, sage, pipelined (fallen)", "no training",
    ]  # fmt: skip
    assert [bar.get_width() for bar in alone.patches] == [4.0, 4.0, 4.0]
    assert alone.get_xlim()[0] == epoch.get_xlim()[0] == 0
    assert {bar.get_hatch() for bar in epoch.patches} == {"", "////"}
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert labels == ["predicted by Amdahl's law", "measured: selected", "measured: fell_back"]
    made.make(tmp_path)
    assert "Kernels of a campaign" in (tmp_path / "gnn_kernels.md").read_text()

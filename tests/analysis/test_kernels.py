"""The table gnn_kernels and its figure: known answers, operators that fell back, choices that nobody trains with."""

import math

import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer

from hone.analysis.metrics import geometric_ratio_interval
from hone.analysis.plotting import NothingToShow
from hone.records import KernelUse, OperatorShare, SelectionReason
from hone.tables.gnn_kernels import amdahl
from hone.tables.registry import TABLES
from hone.tables.stages import draw

from .tables import frame_of, rows_of
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
    assert list(TABLES["gnn_kernels"].columns)[:7] == design.split()


def test_amdahl_s_law():
    assert amdahl(0.0, 9.0) == 1.0
    assert amdahl(1.0, 9.0) == pytest.approx(9.0)
    assert amdahl(0.5, 2.0) == pytest.approx(4 / 3)
    assert amdahl(0.5, math.inf) == 2.0


def test_the_gain_of_an_epoch_stands_beside_the_prediction(made):
    tried(made)
    (row,) = rows_of("gnn_kernels", made.run())
    assert (row["operator"], row["baseline_us"], row["selected_us"], row["speedup"]) == (OPERATOR, 8.0, 2.0, 4.0)
    assert (row["preparation_share"], row["share"]) == (0.5, 0.5)
    assert row["predicted_gain"] == pytest.approx(amdahl(0.5, 4.0)) == pytest.approx(1.6)
    assert row["most_gain"] == pytest.approx(2.0)
    assert row["measured_gain"] == pytest.approx(1.25)
    assert row["preparation_gain"] == pytest.approx(1.25), "made up as twice the epoch"
    assert math.isnan(row["measured_low"]) and math.isnan(row["measured_high"]), "one process a side"
    assert (row["builtin_epoch_s"], row["epoch_s"]) == (pytest.approx(1.0), pytest.approx(0.8))
    assert (row["training"], row["reference"], row["used"], row["why"]) == ("tried", "usual", "selected", "")
    assert row["same_losses"] == "yes"


def processes(made, usual, own, *, in_turns=False):
    """One process for each time, 20 epochs long, whose epochs are a thousandth apart; builtins first, or in turns."""
    made.trainings.clear()
    noise = [1 + 0.0005 * (-1) ** at for at in range(20)]
    for seed, (builtin_s, own_s) in enumerate(zip(usual, own, strict=True)):
        first, then = (2 * seed, 2 * seed + 1) if in_turns else (seed, len(usual) + seed)
        common = {"seed": seed, "workers": 1, "blocked": 0.5}
        told = {"training": "usual", "trained_at": f"2026-01-01T00:00:{first:02}+00:00"}
        made.train("pipelined", *(builtin_s * part for part in noise), **told, **common)
        tried(made, *(own_s * part for part in noise), trained_at=f"2026-01-01T00:00:{then:02}+00:00", **common)
    (row,) = rows_of("gnn_kernels", made.run())
    return row


def test_processes_that_differ_more_than_the_sides_give_an_interval_around_1(made):
    """Epochs of one process agree; processes do not. Sixty epochs a side would be sure of a gain that is none."""
    row = processes(made, [1.0, 1.4, 0.9], [0.8, 1.3, 0.95])
    assert row["measured_gain"] == pytest.approx((1.26 / 0.988) ** (1 / 3), rel=1e-3)
    assert row["measured_low"] < 1 < row["measured_gain"] < row["measured_high"]
    assert geometric_ratio_interval([1.0, 1.4, 0.9] * 20, [0.8, 1.3, 0.95] * 20, in_turns=False).low > 1


def test_more_epochs_do_not_narrow_the_interval(made):
    row = processes(made, [1.0, 1.4, 0.9], [0.8, 1.3, 0.95])
    expected = geometric_ratio_interval([1.0, 1.4, 0.9], [0.8, 1.3, 0.95], in_turns=False)
    assert (row["measured_low"], row["measured_high"]) == pytest.approx(expected)


def test_processes_in_turns_are_pairs(made):
    """The machine gets slower and slower, for both: in turns that cancels, in a row it does not."""
    usual, own = [1.0, 2.0, 4.0], [0.8, 1.6, 3.2]
    row = processes(made, usual, own, in_turns=True)
    assert (row["measured_low"], row["measured_gain"], row["measured_high"]) == pytest.approx((1.25, 1.25, 1.25))
    row = processes(made, usual, own)
    assert row["measured_low"] < 1 < row["measured_gain"] < row["measured_high"]


def test_turns_are_by_time_and_not_by_seed(made):
    """Seeds 0 and 1 of the builtins ran in turns with seeds 1 and 0 of the kernels."""
    made.trainings.clear()
    told = {"workers": 1, "blocked": 0.5}
    for training, seed, second, epoch_s in (
        ("usual", 0, 1, 1.0), ("tried", 1, 2, 0.8), ("tried", 0, 3, 1.6), ("usual", 1, 4, 2.0),
    ):  # fmt: skip
        place = {"seed": seed, "trained_at": f"2026-01-01T00:00:0{second}Z"}
        if training == "usual":
            made.train("pipelined", epoch_s, training="usual", **place, **told)
        else:
            tried(made, epoch_s, **place, **told)
    (row,) = rows_of("gnn_kernels", made.run())
    assert (row["measured_low"], row["measured_high"]) == pytest.approx((1.25, 1.25))


def test_processes_that_ended_in_the_same_second_are_no_turns(made):
    made.trainings.clear()
    for seed, epoch_s in enumerate((1.0, 2.0)):
        common = {"seed": seed, "workers": 1, "blocked": 0.5}
        made.train("pipelined", epoch_s, training="usual", **common)
        tried(made, 0.8 * epoch_s, **common)
    (row,) = rows_of("gnn_kernels", made.run())
    assert row["measured_low"] < 1 < row["measured_high"]


@pytest.mark.parametrize("own_s", [1 / 0.744, 1 / 1.873])
def test_the_builtin_beside_the_builtin_claims_nothing(made, own_s):
    """Two trainings of the same builtin that a busy machine drew apart: no gain, no interval, no prediction."""
    made.selections = [chosen(used="builtin", reason="nothing faster")]
    row = processes(made, [1.0, 1.01], [own_s, 1.01 * own_s])
    assert row["measured_gain"] == pytest.approx(1 / own_s, rel=1e-3), "with a selected kernel it would be a claim"
    for run, place in zip(made.trainings, range(4), strict=True):
        if run.kernels == "selected":
            told = {"kernel_uses": (use("builtin", "the campaign selected none"),)}
            made.trainings[place] = run.model_copy(update=told)
    table = frame_of("gnn_kernels", made.run())
    claims = [name for name in table.columns if "gain" in name or name.startswith("measured_")]
    assert len(claims) == 6
    assert table[[*claims, "speedup", "selected_us"]].isna().all(axis=None)
    with pytest.raises(NothingToShow):
        draw("gnn_kernels", table)
    beside = pd.concat([table, table.assign(used="selected", speedup=2.0)], ignore_index=True)
    alone, epoch = draw("gnn_kernels", beside).axes
    assert len(alone.patches) == 1 and not epoch.patches and not epoch.containers
    assert "the builtin ran: nothing is claimed" in [text.get_text() for text in epoch.texts]


def test_what_is_hidden_behind_the_steps_gains_nothing(made):
    made.trainings.clear()
    made.train("pipelined", 1.0, training="usual", blocked=0.02, workers=4)
    tried(made, workers=4)
    (row,) = rows_of("gnn_kernels", made.run())
    assert row["share"] == pytest.approx(0.25), "four threads prepare: half a second each, half of it the operator's"
    assert row["predicted_gain"] == row["most_gain"] == pytest.approx(1 / 0.98)


def test_a_kernel_that_fell_back_has_a_row_that_says_so(made):
    tried(made, uses=(use("fell_back", "it crashed: SIGSEGV"),))
    tried(made, seed=1)
    made.train("pipelined", 1.0, 1.0, training="usual", blocked=0.5, workers=1, seed=1)
    (row,) = rows_of("gnn_kernels", made.run())
    assert (row["used"], row["why"]) == ("fell_back; selected", "it crashed: SIGSEGV")
    assert row["predicted_gain"] == pytest.approx(1.6), "what it would have gained"
    assert math.isnan(row["measured_gain"]) and math.isnan(row["preparation_gain"]), "a process ran the builtin"


def test_an_operator_of_the_cpu_is_looked_up_by_the_cpu_that_ran_it(made):
    """A training on a GPU that samples on a CPU."""
    made.selections = [chosen("a CPU"), chosen(selected_us=1.0)]
    tried(made, uses=(use(where="a CPU"),))
    first, rest = rows_of("gnn_kernels", made.run())
    assert (first["speedup"], first["device"]) == (4.0, "Test GPU")
    assert (rest["speedup"], rest["gpus"]) == (8.0, 0)


def test_where_the_builtin_was_chosen_nothing_is_promised(made):
    made.selections = [chosen(used="builtin", reason="nothing faster")]
    tried(made, uses=(use("builtin", "the campaign selected none"),))
    (row,) = rows_of("gnn_kernels", made.run())
    assert math.isnan(row["predicted_gain"]) and math.isnan(row["speedup"]) and math.isnan(row["selected_us"])
    assert (row["used"], row["why"]) == ("builtin", "the campaign selected none")
    assert math.isnan(row["measured_gain"])
    assert (row["builtin_epoch_s"], row["epoch_s"], row["same_losses"]) == (1.0, 0.8, "yes"), "what was seen stays"


def test_choices_without_a_training_and_trainings_without_a_choice_have_rows(made):
    made.selections = [chosen("Other GPU"), chosen(operator="gather")]
    tried(made, uses=(use("builtin", "nothing was selected for Test GPU, only for Other GPU"),))
    first, *rest = rows_of("gnn_kernels", made.run())
    assert first["training"] == "tried" and math.isnan(first["predicted_gain"])
    assert [(row["operator"], row["device"], row["gpus"]) for row in rest] == [
        (OPERATOR, "Other GPU", 0), ("gather", "Test GPU", 0),
    ]  # fmt: skip
    assert {row["why"] for row in rest} == {"no training of this config runs it on this machine"}
    assert len(rest) == 2


def test_an_operator_of_the_device_system_has_its_share_of_all_kernels(made):
    """Two launches with a fifth of the time each; those of other operators, trainings and machines do not count."""
    name = "mean_of_states"
    made.selections, made.trainings = [chosen(operator=name)], []
    made.train("device", 1.0, 1.0, training="usual", workers=1)
    tried_with = use().model_copy(update={"operator": name})
    made.train("device", 0.8, 0.8, training="tried", workers=1, kernels="selected", kernel_uses=(tried_with,))
    (row,) = rows_of("gnn_kernels", made.run())
    assert math.isnan(row["share"]) and math.isnan(row["predicted_gain"])
    place = {"dataset": "small", "training": "usual", "share": 0.2}
    made.rooflines = [
        *(kernel_time(f"{name}, layer {layer}", **place) for layer in (2, 3)),
        kernel_time("mean_of_features", **place), kernel_time("all kernels", **place | {"share": 1.0}),
        kernel_time(f"{name}, layer 2", **place | {"training": "other"}),
        kernel_time(f"{name}, layer 2", **place | {"device": "Other GPU"}),
    ]  # fmt: skip
    (row,) = rows_of("gnn_kernels", made.run())
    assert row["share"] == pytest.approx(0.4) and math.isnan(row["most_gain"])
    assert row["predicted_gain"] == pytest.approx(amdahl(0.4, 4.0))
    assert row["measured_gain"] == pytest.approx(1.25)


@pytest.mark.parametrize(
    "changes", [{"batch_size": 512}, {"workers": 2}, {"seed": 7}, {"graph": "other"}, {"model": "gin"}]
)  # fmt: skip
def test_only_the_same_training_is_a_reference(made, changes):
    tried(made, **changes)
    (row,) = rows_of("gnn_kernels", made.run())
    assert math.isnan(row["measured_gain"]) and row["reference"] == ""
    assert row["speedup"] == 4.0


def test_whiskers_stand_where_several_processes_were_compared(made):
    processes(made, [1.0, 1.4, 0.9], [0.8, 1.3, 0.95])
    _, epoch = draw("gnn_kernels", frame_of("gnn_kernels", made.run())).axes
    assert sum(isinstance(each, ErrorbarContainer) for each in epoch.containers) == 1


def test_other_losses_are_named(made):
    run = tried(made)
    epochs = (*run.epochs[:-1], run.epochs[-1].model_copy(update={"loss": 0.123}))
    made.trainings[-1] = run.model_copy(update={"epochs": epochs})
    (row,) = rows_of("gnn_kernels", made.run())
    assert row["same_losses"] == "no"


def test_the_figure_has_a_row_for_each_and_draws_kernels_that_did_not_run_light(made, tmp_path):
    made.selections.append(chosen("Other GPU"))
    nothing = {"operator": "gather_rows", "used": "builtin", "reason": "no experiment wrote a solution"}
    made.selections.append(chosen("Other GPU").model_copy(update=nothing))  # is not drawn
    tried(made)
    tried(made, training="fallen", uses=(use("fell_back", "gone"),))
    figure = draw("gnn_kernels", frame_of("gnn_kernels", made.run()))
    alone, epoch = figure.axes
    assert [text.get_text().split("\n")[1] for text in alone.get_yticklabels()] == [
        "small, tried", "small, fallen", "no training",
    ]  # fmt: skip
    assert [bar.get_width() for bar in alone.patches] == [4.0, 4.0, 4.0]
    assert alone.get_xlim()[0] == epoch.get_xlim()[0] == 0
    colours = [bar.get_facecolor() for bar in alone.patches]
    assert colours[0] == colours[2] != colours[1]
    assert not any(bar.get_hatch() for bar in (*alone.patches, *epoch.patches))
    assert [bar.get_width() for bar in epoch.patches] == [pytest.approx(1.25)], "what fell back was not measured"
    assert [text.get_text() for text in epoch.texts] == ["fell back to the builtin: nothing was measured"]
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert sorted(labels) == ["measured: selected", "predicted by Amdahl's law"]
    assert not any(isinstance(each, ErrorbarContainer) for each in epoch.containers), "one process a side"
    made.make(tmp_path)
    assert "Kernels of a campaign" in (tmp_path / "gnn_kernels.md").read_text()


def test_a_gain_without_an_interval_is_no_finding(made):
    tried(made)
    table = TABLES["gnn_kernels"]
    assert "cannot be told from noise" in table.finding(table.rows(made.run()))

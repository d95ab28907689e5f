"""Gain for cost: the best kernel after each evaluation and answer, and means over searches of parameters."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from hone.analysis.metrics import log_mean_interval
from hone.analysis.search_figure import budget_figure
from hone.records import SearchStep, Status
from hone.tables.registry import TABLES

from .rounds import FLOOR_MS, UPSTREAM_MS, Kit, kernel, settings_for
from .tables import frame_of, rows_of

TUNED = {
    "method": "files", "files": "kernels", "models": ["reference/model"], "turns": 1,
    "strategy": {"kind": "tuned", "budget": {"evaluations": 20}, "repeats": 3},
}  # fmt: skip
DEFINITION = kernel(1, "silu_and_mul")


def kit(**experiments):
    made = Kit(settings_for(1, **experiments), [DEFINITION])
    for name, item in made.settings.experiments.items():
        if item.method != "files":
            made.start(name)
    return made


def step(repeat, evaluations, speedup, rung=0, solution="s"):
    return SearchStep(
        experiment="tuned", definition=DEFINITION.name, file="k.cpp", repeat=repeat, seed=repeat, values={"A": 1},
        solution=solution, rung=rung, speedup=speedup, share=None if speedup is None else speedup / 4,
        evaluations=evaluations, seconds=1.0,
    )  # fmt: skip


def with_steps(run, *steps, traces=()):
    return replace(run, records=replace(run.records, searches=steps, traces=traces))


def curve(rows, repeat="1", column="speedup"):
    found = [row for row in rows if row["repeat"] == repeat]
    return [(row["evaluations"], row["answers"], round(row[column], 6)) for row in found]


def test_a_search_in_rounds_has_the_best_so_far_after_each_round():
    made = kit(multi={"turns": 4})
    for turn, outcome in ((1, 1.5), (2, 1.2), (3, Status.WRONG_VALUE)):
        made.add("multi", turn, outcome, 1.3 if turn == 1 else outcome)
    rows = rows_of("search_budget", made.run())
    assert curve(rows) == [(0, 1, 1.0), (2, 4, 1.5), (4, 7, 1.5), (6, 10, 1.5)]
    assert [row["judged_speedup"] for row in rows] == pytest.approx([1.0, 1.3, 1.3, 1.3])
    assert {row["strategy"] for row in rows} == {"linear"}


def test_what_is_possible_is_a_kernel_at_the_floor():
    made = kit(multi={"turns": 2})
    made.add("multi", 1, 2.0, 2.0)
    for row in rows_of("search_budget", made.run()):
        assert row["possible"] == pytest.approx(UPSTREAM_MS / FLOOR_MS)
        assert row["share"] == pytest.approx(row["speedup"] / row["possible"])


def test_a_beam_counts_the_roles_of_each_branch():
    made = kit(wide={"turns": 2, "strategy": {"kind": "beam", "width": 2}})
    made.add("wide", 1, 1.5, 1.5, sample=0)
    made.add("wide", 1, 1.7, 1.7, sample=1)
    rows = rows_of("search_budget", made.run())
    assert curve(rows) == [(0, 1, 1.0), (4, 7, 1.7)]
    assert rows[0]["strategy"] == "beam 2"


def test_a_longer_timing_corrects_a_shorter_one_and_wrong_points_cost():
    steps = [step(0, 1, 1.5), step(0, 2, None), step(0, 3, 1.2), step(0, 4, 1.3, rung=1), step(0, 5, 1.4, rung=None)]
    rows = rows_of("search_budget", with_steps(kit(tuned=TUNED).run(), *steps))
    assert curve(rows) == [(1, 0, 1.5), (4, 0, 1.3), (5, 0, 1.4)]


def test_cost_without_gain_ends_the_line():
    rows = rows_of("search_budget", with_steps(kit(tuned=TUNED).run(), step(0, 1, 1.5), step(0, 2, 1.2)))
    assert curve(rows) == [(1, 0, 1.5), (2, 0, 1.5)]


def test_a_search_without_a_right_kernel_has_its_cost():
    (row,) = rows_of("search_budget", with_steps(kit(tuned=TUNED).run(), step(0, 1, None), step(0, 2, None)))
    assert row["evaluations"] == 2 and math.isnan(row["speedup"])


def test_repeats_have_a_mean_with_an_interval_from_where_all_are_known():
    steps = [
        step(repeat, cost, speedup) for repeat in range(3) for cost, speedup in ((repeat + 1, 2.0**repeat), (5, 8.0))
    ]
    rows = rows_of("search_budget", with_steps(kit(tuned=TUNED).run(), *steps))
    assert curve(rows, "all") == [(3, 0, 2.0), (5, 0, 8.0)]
    first, last = [row for row in rows if row["repeat"] == "all"]
    assert first["ci_low"] * first["ci_high"] == pytest.approx(4.0)
    assert first["ci_low"] < 1.0
    assert last["ci_low"] == last["ci_high"] == pytest.approx(8.0)
    assert all(math.isnan(row["ci_low"]) for row in rows if row["repeat"] != "all")


def test_the_interval_is_students_of_the_logs():
    low, high = log_mean_interval([1.0, math.e, math.e**2], 0.95)
    assert math.log(low) == pytest.approx(1 - 4.302653 / math.sqrt(3))  # t of 2 degrees of freedom
    assert low * high == pytest.approx(math.e**2)
    assert all(map(math.isnan, log_mean_interval([2.0])))


@pytest.mark.parametrize(("outcome", "judged"), [(1.25, 1.25), (Status.WRONG_VALUE, None)])
def test_the_winner_of_a_search_is_judged_on_all_workloads(outcome, judged):
    made = kit(tuned=TUNED)
    outcomes = [1.25, 1.25, outcome]  # the last one is held out
    traces = [made.trace("s", item, each) for item, each in zip(made.workloads, outcomes, strict=True)]
    rows = rows_of("search_budget", with_steps(made.run(), step(0, 1, 1.1), step(0, 2, 1.5, rung=None), traces=traces))
    assert math.isnan(rows[0]["judged_speedup"])
    found = rows[-1]["judged_speedup"]
    assert math.isnan(found) if judged is None else found == pytest.approx(judged)


def test_strategies_stand_side_by_side():
    made = kit(multi={"turns": 2}, wide={"turns": 2, "strategy": {"kind": "beam", "width": 2}}, tuned=TUNED)
    for name in ("multi", "wide"):
        made.add(name, 1, 1.5, 1.5)
    steps = [step(repeat, cost, 1 + repeat + cost) for repeat in range(3) for cost in (1, 4)]
    run = with_steps(made.run(), *steps)
    table = frame_of("search_budget", run)
    assert set(table["strategy"]) == {"linear", "beam 2", "tuned"}
    figure = budget_figure(table)
    assert [axis.get_xlabel() for axis in figure.axes] == ["evaluations", "answers of models"]
    labels = {text for axis in figure.axes for text in axis.get_legend_handles_labels()[1]}
    assert len(labels) == 3 + 1, "a line each, and the ring of what the judge says"
    assert not [label for label in labels if "multi" in label or "wide" in label], "one experiment of each strategy"
    twice = pd.concat([table, table[table["strategy"] == "linear"].assign(experiment="another")])
    told = {text for axis in budget_figure(twice).axes for text in axis.get_legend_handles_labels()[1]}
    assert {text.split(" (")[0] for text in told if "another" in text} == {"linear"} and len(told) == 4 + 1
    alone = budget_figure(table[table["strategy"] == "tuned"])
    assert [axis.get_xlabel() for axis in alone.axes] == ["evaluations"], "nobody was asked"
    said = TABLES["search_budget"].finding(TABLES["search_budget"].rows(run))
    assert "`tuned` comes to" in said and "with 4 evaluations and 0 answers" in said

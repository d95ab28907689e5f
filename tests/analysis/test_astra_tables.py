"""The Astra tables: known answers on small runs, and what becomes of failures, losses and missing baselines."""

import math

import pytest

from hone.analysis.astra import Astra, paper_shape
from hone.records import Status
from hone.tables.registry import TABLES

from .rounds import CURRENT_MS, FLOOR_MS, UPSTREAM_MS, Kit, kernel, settings_for, workload
from .tables import read_table, rows_of


def kit(*titles: str, current: bool = True, **experiments) -> Kit:
    titles = titles or ("silu_and_mul",)
    definitions = [kernel(number, title, current) for number, title in enumerate(titles, start=1)]
    made = Kit(settings_for(len(titles), **(experiments or {"multi": {}})), definitions)
    for name in made.settings.experiments:
        for definition in definitions:
            made.start(name, definition=definition)
    return made


def played(made: Kit, experiment: str, *outcomes, definition=None, **changes) -> None:
    """Rounds one, two, …, each with (outcome on the suite, outcome on all workloads)."""
    for turn, (suite, everything) in enumerate(outcomes, start=1):
        made.add(experiment, turn, suite, everything, definition=definition, **changes)


def row_of(rows, **wanted):
    (row,) = [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]
    return row


def test_the_geometric_mean_is_over_all_workloads_of_the_suite_s_winner():
    made = kit()
    played(made, "multi", (1.5, (1.0, 2.0, 4.0)), (1.4, 9.0))
    row = row_of(rows_of("astra_main", made.run()), kernel="silu_and_mul")
    assert (row["correct"], row["rounds"], row["method"], row["winner"]) == ("yes", 2, "astra", "turn 1, sample 0")
    assert row["speedup"] == pytest.approx(2.0)
    assert row["least_speedup"] == pytest.approx(1.0)
    assert row["suite_speedup"] == pytest.approx(1.5)
    assert (row["workloads"], row["uncounted"], row["unresolved"]) == (3, 0, 0)
    assert row["ci_low"] < 2.0 < row["ci_high"]
    assert row["ci_low"] * row["ci_high"] == pytest.approx(4.0)  # symmetrical in the logarithm
    assert row["speedup_current"] == pytest.approx(2.0 * CURRENT_MS / UPSTREAM_MS)
    assert (row["loc_before"], row["loc_after"]) == (3, 2)
    assert row["device"] == "Test GPU"


@pytest.mark.parametrize("outcome", [(2.0, 2.0, Status.WRONG_VALUE), Status.RUNTIME_ERROR])
def test_a_winner_that_fails_one_workload_earns_nothing_and_counts_as_one(outcome):
    made = kit("silu_and_mul", "rmsnorm")
    played(made, "multi", (1.5, outcome), (1.2, 3.0))
    played(made, "multi", (4.0, 4.0), (1.2, 3.0), definition=made.definitions[1])
    rows = rows_of("astra_main", made.run())
    row = row_of(rows, kernel="silu_and_mul")
    assert (row["correct"], row["unresolved"]) == ("no", 0) and math.isnan(row["speedup"])
    assert row["detail"].startswith("why")
    together = row_of(rows, kernel="all")
    assert (together["correct"], together["kernels"]) == ("no", 2)
    assert together["speedup"] == pytest.approx(2.0)  # of 1 and 4
    assert math.isnan(together["least_speedup"])


def test_a_doubtful_winner_is_correct_and_earns_nothing():
    made = kit()
    played(made, "multi", (1.5, 1.5), (1.2, 1.2))
    spoilt = made.evaluations[3]
    doubtful = spoilt.performance.model_copy(update={"findings": ("below_floor",)})
    made.evaluations[3] = spoilt.model_copy(update={"performance": doubtful})
    rows = rows_of("astra_main", made.run())
    row = row_of(rows, kernel="silu_and_mul")
    assert (row["correct"], row["findings"]) == ("yes", "below_floor") and math.isnan(row["speedup"])
    assert row_of(rows, kernel="all")["speedup"] == pytest.approx(1.0)


@pytest.mark.parametrize("lost", [None, Status.NOT_JUDGED, Status.MACHINE_ERROR])
def test_a_lost_verdict_leaves_the_mean_empty_and_the_kernel_in_it(lost):
    made = kit("silu_and_mul", "rmsnorm")
    played(made, "multi", (1.5, (2.0, 2.0, lost)), (1.2, 3.0))
    played(made, "multi", (4.0, 4.0), (1.2, 3.0), definition=made.definitions[1])
    rows = rows_of("astra_main", made.run())
    row = row_of(rows, kernel="silu_and_mul")
    assert (row["correct"], row["unresolved"]) == ("unknown", 1) and math.isnan(row["speedup"])
    together = row_of(rows, kernel="all")
    assert (together["correct"], together["kernels"], together["unresolved"]) == ("unknown", 2, 1)
    assert math.isnan(together["speedup"])


def test_a_kernel_that_nobody_improved_counts_as_one_and_a_lost_one_is_unknown():
    made = kit("silu_and_mul", "rmsnorm")
    played(made, "multi", (Status.WRONG_VALUE, Status.WRONG_VALUE), (Status.TIMEOUT, Status.TIMEOUT))
    played(made, "multi", (4.0, 4.0), definition=made.definitions[1])  # its second round is lost
    rows = rows_of("astra_main", made.run())
    row = row_of(rows, kernel="silu_and_mul")
    assert (row["correct"], row["winner"], row["status"]) == ("no", "", "")
    assert math.isnan(row["loc_after"])
    second = row_of(rows, kernel="rmsnorm")
    assert (second["correct"], second["unresolved"]) == ("yes", 1)
    assert row_of(rows, kernel="all")["speedup"] == pytest.approx(2.0)
    made.candidates = [item for item in made.candidates if item.turn == 0]
    assert row_of(rows_of("astra_main", made.run()), kernel="silu_and_mul")["correct"] == "unknown"


def test_without_today_s_kernel_its_columns_are_empty():
    made = kit(current=False)
    played(made, "multi", (1.5, 1.5), (1.2, 1.2), current=False)
    astra = made.run()
    row = row_of(rows_of("astra_main", astra), kernel="silu_and_mul")
    assert row["workloads_current"] == 0
    assert math.isnan(row["speedup_current"])
    assert {row["baseline"] for row in rows_of("astra_shapes", astra)} == {"upstream"}
    assert row_of(rows_of("astra_main", astra), kernel="all")["speedup"] == pytest.approx(1.5)


def test_the_paper_s_numbers_and_its_aggregate_stand_beside_ours():
    definition = kernel(1, "merge_attn_states")
    shapes = ("paper_512x40x128_float16", "paper_768x32x256_float16")
    workloads = [workload(definition, name, 2000 + at, "float16") for at, name in enumerate(shapes)]
    workloads.append(workload(definition, "paper_512x40x128_bfloat16", 3000, "bfloat16"))
    made = Kit(settings_for(1, multi={"turns": 2, "published_as": "astra"}), [definition], workloads)
    made.start("multi")
    made.add("multi", 1, 1.5, (2.0, 1.0, 8.0))
    astra = made.run()
    row = row_of(rows_of("astra_main", astra), kernel="merge_attn_states")
    assert (row["published"], row["published_loc_before"], row["published_optimised_us"]) == (1.26, 124, 24.9)
    assert row["published_source"] == "Astra Table 2 (from public summaries)"
    assert (row["paper_shapes"], row["speedup_mean"]) == (2, pytest.approx(1.5))  # bfloat16 is not in its tables
    assert row["baseline_us"] == pytest.approx(1e3 * UPSTREAM_MS)
    assert row["optimised_us"] == pytest.approx(1e3 * UPSTREAM_MS * 0.75)
    found = {row["workload"]: row for row in rows_of("astra_shapes", astra) if row["baseline"] == "upstream"}
    assert [found[name]["published"] for name in shapes] == [1.57, 1.0]
    assert [found[item.name]["paper_shape"] for item in workloads] == [True, True, False]
    assert paper_shape(workload(definition, "odd_7x5", 35)) == ""
    together = row_of(rows_of("astra_main", astra), kernel="paper")
    assert together["kernels"] == 1
    assert math.isnan(together["published"])  # the paper's mean is over three kernels


def test_the_paper_s_mean_stands_beside_all_of_its_kernels():
    titles = ("silu_and_mul", "fused_add_rmsnorm", "merge_attn_states", "rmsnorm")
    made = kit(*titles, multi={"turns": 2, "published_as": "astra"})
    for definition, outcome in zip(made.definitions, (2.0, 4.0, 8.0, 100.0), strict=True):
        played(made, "multi", (outcome, outcome), definition=definition)
    rows = rows_of("astra_main", made.run())
    assert row_of(rows, kernel="paper")["speedup"] == pytest.approx(4.0)
    assert row_of(rows, kernel="paper")["published"] == 1.32
    assert math.isnan(row_of(rows, kernel="all")["published"])


def test_shapes_hold_bytes_floors_and_held_out_flags():
    made = kit()
    played(made, "multi", (1.5, (2.0, Status.WRONG_VALUE, 4.0)), (1.2, 1.2))
    rows = [row for row in rows_of("astra_shapes", made.run()) if row["baseline"] == "upstream"]
    assert [row["held_out"] for row in rows] == [False, False, True]
    assert [row["bytes"] for row in rows] == [8 * 1000, 8_000_000, 8 * 2**23]
    assert [row["status"] for row in rows] == ["passed", "wrong_value", "passed"]
    assert {row["correct"] for row in rows} == {"no"}
    assert rows[2]["optimised_us"] == pytest.approx(1e3 * UPSTREAM_MS / 4)
    assert rows[2]["bandwidth_share"] == pytest.approx(FLOOR_MS / (UPSTREAM_MS / 4))
    assert rows[2]["floor_source"].startswith("the judge's bound")
    assert math.isnan(rows[1]["speedup"])
    now = [row for row in rows_of("astra_shapes", made.run()) if row["baseline"] == "current"]
    assert now[0]["speedup"] == pytest.approx(2.0 * CURRENT_MS / UPSTREAM_MS)


def test_a_measured_copy_takes_the_place_of_the_judge_s_bound():
    made = kit()
    played(made, "multi", (1.5, 2.0), (1.2, 1.2))
    astra = made.run(Test_GPU=1000.0)
    (large,) = [row for row in rows_of("astra_shapes", astra) if row["held_out"] and row["baseline"] == "upstream"]
    assert large["floor_us"] == pytest.approx(8 * 2**23 / 1000e9 * 1e6)
    assert large["floor_source"] == "copy at 1000 GB/s"
    assert large["bandwidth_share"] == pytest.approx(large["floor_us"] / large["optimised_us"])
    assert row_of(rows_of("astra_main", astra), kernel="all")["least_large_share"] == pytest.approx(
        large["bandwidth_share"]
    )


def test_single_and_multi_are_compared_on_the_kernels_of_both():
    made = kit("silu_and_mul", "rmsnorm", multi={}, single={"method": "astra_single", "problems": ["level1/1"]})
    for name, outcome in (("multi", 2.0), ("single", 1.5)):
        played(made, name, (outcome, outcome), (1.1, 1.1))
    rows = rows_of("astra_single_vs_multi", made.run())
    assert [(row["kernel"], row["method"]) for row in rows] == [
        ("silu_and_mul", "astra"),
        ("silu_and_mul", "astra_single"),
        ("all", "astra"),
        ("all", "astra_single"),
    ]
    assert [row["speedup"] for row in rows] == pytest.approx([2.0, 1.5, 2.0, 1.5])


def test_rounds_hold_every_version_with_what_became_of_it():
    made = kit(multi={"turns": 4, "astra": {"start_from": "best"}})
    played(made, "multi", (1.5, 1.4), (Status.WRONG_VALUE, Status.WRONG_VALUE), (1.2, 1.3))
    rows = rows_of("astra_rounds", made.run())
    assert [row["turn"] for row in rows] == [0, 1, 2, 3]
    assert [row["status"] for row in rows] == ["passed", "passed", "wrong_value", "passed"]
    assert [row["speedup"] for row in rows] == pytest.approx([1.0, 1.4, math.nan, 1.3], nan_ok=True)
    assert [row["suite_speedup"] for row in rows][1:] == pytest.approx([1.5, math.nan, 1.2], nan_ok=True)
    for row in rows:
        assert row["status"] != "passed" or row["ci_low"] <= row["speedup"] <= row["ci_high"]
    assert [row["kept"] for row in rows] == [True, True, False, False]
    assert [row["won"] for row in rows] == [False, True, False, False]
    assert [row["ended"] for row in rows] == ["", "", "", "all rounds were asked"]


def test_rounds_that_end_at_the_floor_say_so():
    made = kit(multi={"turns": 4, "astra": {"stop_at_floor_share": 0.5}})
    played(made, "multi", (2.5, 2.5))  # the floor is 0.05 ms of 0.08 ms
    rows = rows_of("astra_rounds", made.run())
    assert [row["status"] for row in rows] == ["passed", "passed", "not_asked", "not_asked"]
    why = "at the floor: the least time is 62% of that of version 1"
    assert [row["ended"] for row in rows] == ["", why, "", ""]
    assert rows[2]["detail"] == f"the rounds ended: {why}"


def test_one_evaluation_of_the_winner_gives_the_same_report_as_all():
    outcomes = ((1.5, (1.0, 2.0, 4.0)), (1.2, 9.0), (Status.WRONG_VALUE, Status.WRONG_VALUE))
    every, alone = kit(multi={"turns": 4}), kit(multi={"turns": 4, "astra": {"evaluate": "winner"}})
    played(every, "multi", *outcomes)
    played(alone, "multi", outcomes[0], *((suite, None) for suite, _ in outcomes[1:]))
    for name in ("astra_main", "astra_shapes"):
        first, second = ([row | {"config_digest": ""} for row in rows_of(name, made.run())] for made in (every, alone))
        assert str(first) == str(second)
    found = rows_of("astra_rounds", alone.run())
    assert [row["status"] for row in found] == ["passed", "passed", "not_evaluated", "not_evaluated"]
    assert [row["suite_status"] for row in found][2:] == ["passed", "wrong_value"]
    assert [row["speedup"] for row in found] == pytest.approx([1.0, 2.0, math.nan, math.nan], nan_ok=True)
    assert [row["suite_speedup"] for row in found][2:] == pytest.approx([1.2, math.nan], nan_ok=True)
    assert (found[3]["detail"], found[3]["device"]) == ("why | <b>wrong_value</b>", "Test GPU")  # of its suite


def test_which_versions_are_evaluated_is_no_option_of_the_loop():
    made = kit(first={"astra": {"start_from": "best"}}, plain={"astra": {"evaluate": "winner"}})
    for name in ("first", "plain"):
        played(made, name, (1.5, 2.0), (1.1, 1.1))
    rows = rows_of("astra_ablation", made.run())
    assert {row["reference"] for row in rows} == {"plain"}
    assert {row["changed"] for row in rows} == {"start_from=best", ""}
    assert not any("evaluate" in row for row in rows)


def test_the_ablation_compares_with_the_paper_s_loop_workload_by_workload():
    made = kit(best={"astra": {"start_from": "best"}, "samples": 2}, plain={}, other={"turns": 2})
    played(made, "plain", (1.5, (1.0, 2.0, 4.0)), (1.1, 1.1))
    played(made, "best", (1.5, (2.0, 4.0, 8.0)), (1.1, 1.1))
    played(made, "other", (1.5, (Status.WRONG_VALUE,) * 3))
    made.say("best", 1, "planning", "faster")
    rows = rows_of("astra_ablation", made.run())
    assert {row["kernel"] for row in rows} == {"silu_and_mul", "all"}
    best = row_of(rows, kernel="all", experiment="best")
    assert (best["reference"], best["changed"]) == ("plain", "start_from=best, samples=2")
    assert [best["gain"], best["gain_low"], best["gain_high"]] == pytest.approx([2.0, 2.0, 2.0])
    assert (best["written"], best["calls"], best["cost_usd"]) == (2, 1, 0.25)
    plain = row_of(rows, kernel="all", experiment="plain")
    assert (plain["changed"], plain["gain"]) == ("", pytest.approx(1.0))
    other = row_of(rows, kernel="all", experiment="other")
    assert (other["changed"], other["correct"], other["gain"]) == ("rounds=1", "no", pytest.approx(0.5))
    assert other["speedup"] == 1.0


def test_one_experiment_alone_is_no_ablation():
    made = kit()
    played(made, "multi", (1.5, 1.5), (1.2, 1.2))
    assert rows_of("astra_ablation", made.run()) == []
    assert rows_of("astra_single_vs_multi", made.run()) == []


def test_astra_stays_out_of_the_other_tables_and_in_the_costs(tmp_path):
    made = kit()
    played(made, "multi", (1.5, 1.5), (1.2, 1.2))
    made.say("multi", 1, "planning", "faster")
    made.make(tmp_path)
    for name in TABLES:
        if name.startswith("kernelbench") or name in ("judge_gold", "judge_exploits", "judge_idioms"):
            assert not len(read_table(name, tmp_path)), name
    cost = read_table("judge_cost", tmp_path)
    assert cost[cost["phase"] == "timing"]["seconds"].sum() == pytest.approx(3 * (2 + 3) * 0.4)
    assert read_table("llm_cost", tmp_path)["calls"].tolist() == [1]


def test_recorded_answers_to_other_prompts_are_counted():
    made = kit()
    played(made, "multi", (1.5, 1.5), (1.2, 1.2))
    made.say("multi", 1, "planning", "faster", prompt_differs=True)
    assert row_of(rows_of("astra_main", made.run()), kernel="silu_and_mul")["prompt_differs"] == 1


def test_invariants_on_a_large_run(tables):
    main, shapes = read_table("astra_main", tables), read_table("astra_shapes", tables)
    rounds = read_table("astra_rounds", tables)
    kernels = main[~main["kernel"].isin(["all", "paper"])]
    for row in kernels[kernels["correct"] == "yes"].itertuples():
        of_row = (shapes["experiment"] == row.experiment) & (shapes["kernel"] == row.kernel)
        over = shapes[of_row & (shapes["baseline"] == "upstream")]
        assert len(over) == row.workloads
        assert over["speedup"].min() == pytest.approx(row.least_speedup)
        assert row.least_speedup <= row.speedup <= over["speedup"].max()
        won = rounds[(rounds["experiment"] == row.experiment) & (rounds["kernel"] == row.kernel) & rounds["won"]]
        assert won["speedup"].tolist() == pytest.approx([row.speedup])
    timed = main[main["speedup"].notna()]
    assert (timed["ci_low"] <= timed["speedup"]).all()
    assert (timed["speedup"] <= timed["ci_high"]).all()
    assert ((shapes["baseline_us"] / shapes["optimised_us"]).dropna() - shapes["speedup"].dropna()).abs().max() < 1e-9


def test_no_experiment_gives_no_rows():
    made = Kit(settings_for(1, multi={}), [])
    run = made.run()
    assert isinstance(run.astra, Astra)
    for name in ("astra_main", "astra_shapes", "astra_rounds", "astra_ablation"):
        assert rows_of(name, run) == []

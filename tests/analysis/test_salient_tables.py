"""The SALIENT tables about time: known answers, missing systems, several seeds, nothing at all."""

import math

import pytest

from hone.analysis.csv_records import KernelTime, read_kernel_times
from hone.core.csv_table import write_table as write_trial_table
from hone.records.gnn import ALL_KERNELS, BOTH_PARTS, WHOLE_EPOCH
from hone.tables.registry import TABLES
from hone.tables.salient_timeline import TIMELINE_BATCHES

from .tables import frame_of, read_table, rows_of
from .trainings import Trainings, graph, kernel_time, spans

PAPERS = [graph("papers", "papers100M", kind="papers100m_like")]
DESIGN = {
    "salient_breakdown": "dataset system epoch_s prepare_s transfer_s train_s blocked_s",
    "salient_ladder": "dataset rung epoch_s speedup",
    "salient_threads": "graph system threads batch_ms unique_nodes",
    "salient_models": "dataset model mode seed accuracy",
    "salient_inference": "dataset model fanout seed accuracy",
    "salient_scaling": "dataset system model gpus epoch_s speedup efficiency",
    "device_roofline": "kernel bytes flops floor_us measured_us share",
}


def row_of(rows, **wanted):
    (row,) = [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]
    return row


@pytest.mark.parametrize("name", DESIGN)
def test_leading_columns_are_the_design_s(name):
    leading = DESIGN[name].split()
    assert list(TABLES[name].columns)[: len(leading)] == leading


def test_the_breakdown_is_over_epochs_after_warm_up_of_all_seeds():
    made = Trainings()
    made.train("pipelined", 2.0, 4.0, blocked=0.25)
    made.train("pipelined", 3.0, seed=1, blocked=0.25)
    (row,) = rows_of("salient_breakdown", made.run())
    assert row["epoch_s"] == pytest.approx(3.0)
    assert row["epoch_std_s"] == pytest.approx(1.0)
    assert row["epoch_median_s"] == pytest.approx(3.0)
    assert (row["prepare_s"], row["transfer_s"]) == (pytest.approx(6.0), pytest.approx(0.3))
    assert row["blocked_s"] + row["train_s"] == pytest.approx(3.0)
    assert row["blocked_share"] == pytest.approx(0.25)
    assert (row["seeds"], row["epochs"], row["warmup_epochs"]) == (2, 3, 1)
    assert (row["dataset"], row["fanouts"], row["unique_nodes"]) == ("small", "15,10,5", 5e5)
    assert row["peak_memory_bytes"] == 2**30 + 1
    assert (row["device"], row["driver"], row["protocol"]) == ("Test GPU", "580.1", "ladder abcdef01")
    assert math.isnan(row["published"])


def test_a_run_that_is_all_warm_up_says_so():
    made = Trainings()
    run = made.train("plain", 2.0)
    made.trainings = [run.model_copy(update={"epochs": run.epochs[:1]})]
    (row,) = rows_of("salient_breakdown", made.run())
    assert (row["epoch_s"], row["epochs"], row["warmup_epochs"]) == (20.0, 1, 0)
    assert math.isnan(row["epoch_std_s"])


def test_a_run_without_an_epoch_has_no_time():
    made = Trainings()
    made.trainings = [made.train("plain", 2.0).model_copy(update={"epochs": ()})]
    (row,) = rows_of("salient_breakdown", made.run())
    assert row["epochs"] == 0
    assert math.isnan(row["epoch_s"])
    assert rows_of("salient_ladder", made.run()) == []


def test_the_paper_s_epoch_and_its_parts_stand_beside_a_graph_of_that_size():
    made = Trainings(graphs=PAPERS)
    for system in ("plain", "fast_sampler", "pipelined"):
        made.train(system, 3.0, graph="papers")
    rows = rows_of("salient_breakdown", made.run())
    ours = row_of(rows, system="pipelined")
    assert ours["published"] == pytest.approx(16.513349)
    assert ours["published_source"] == "SALIENT artifact, as Table 1: SALIENT, 1 V100-32GB (exact)"
    parts = [ours[f"published_{name}_s"] for name in ("train", "blocked_batch", "blocked_transfer")]
    assert sum(parts) == pytest.approx(ours["published"], rel=0.001)
    assert row_of(rows, system="plain")["published"] == pytest.approx(54.950602)
    assert math.isnan(row_of(rows, system="fast_sampler")["published"])


@pytest.mark.parametrize("changes", [{"batch_size": 512}, {"fanouts": (10, 10, 10)}, {"hidden": 128}, {"gpus": 3}])
def test_other_settings_are_no_comparison(changes):
    made = Trainings(graphs=PAPERS)
    made.train("pipelined", 3.0, graph="papers", **changes)
    (row,) = rows_of("salient_breakdown", made.run())
    assert math.isnan(row["published"])
    assert row["published_source"] == ""


def test_the_ladder_is_in_order_and_over_the_plain_loader():
    made = Trainings()
    for system, seconds in (("pipelined", 2.0), ("pyg", 10.0), ("plain", 8.0), ("full_batch", 1.0), ("device", 0.5)):
        made.train(system, seconds)
    made.train("wholegraph", 1.6)
    made.train("pyg_gpu", 4.0)
    rows = rows_of("salient_ladder", made.run())
    assert [row["rung"] for row in rows] == ["pyg", "plain", "pipelined", "pyg_gpu", "wholegraph", "device"]
    assert [row["speedup"] for row in rows] == pytest.approx([0.8, 1.0, 4.0, 2.0, 5.0, 16.0])
    assert [row["speedup_over_pyg"] for row in rows] == pytest.approx([1.0, 1.25, 5.0, 2.5, 6.25, 20.0])
    assert {row["reference"] for row in rows} == {"plain"}
    assert all("system" not in row for row in rows)


def test_a_ladder_without_its_first_rung_starts_at_the_slowest_system_there_is():
    made = Trainings()
    made.train("pipelined", 2.0)
    made.train("fast_sampler", 6.0)
    rows = rows_of("salient_ladder", made.run())
    assert [(row["rung"], row["speedup"]) for row in rows] == [("fast_sampler", 1.0), ("pipelined", pytest.approx(3.0))]
    assert all(math.isnan(row["speedup_over_pyg"]) for row in rows)


def test_the_ladder_names_the_best_form_of_the_peers():
    made = Trainings()
    for system, seconds in (("pipelined", 8.0), ("wholegraph", 6.0), ("device", 0.5)):
        peer = {"convolutions": "pyg"} if system == "wholegraph" else {}
        made.train(system, seconds, captured=None if system == "device" else False, **peer)
    captured = {"training": "peers", "convolutions": "torch", "precision": "bfloat16", "captured": True}
    for system, seconds in (("pyg_gpu", 3.0), ("wholegraph", 2.0)):
        made.train(system, seconds, **captured)
    rows = TABLES["salient_ladder"].rows(made.run())
    assert [(row.training, row.rung, row.variant, row.captured) for row in rows] == [
        ("ladder", "pipelined", "float32", "no"), ("ladder", "wholegraph", "float32, pyg", "no"),
        ("ladder", "device", "float32", ""), ("peers", "pyg_gpu", "bfloat16, torch, captured", "yes"),
        ("peers", "wholegraph", "bfloat16, torch, captured", "yes"),
    ]  # fmt: skip
    assert "variant" in TABLES["salient_ladder"].shown
    assert TABLES["salient_ladder"].finding(rows) == (
        "On small `device` trains 16 times as fast as `pipelined`. The fastest peer on small is `wholegraph` of the "
        "training `peers` (bfloat16, torch, captured): 2 s an epoch, 4 times as long as `device`."
    )
    assert "peer" not in TABLES["salient_ladder"].finding(rows[:3]), "one row for a system: nothing to choose"


def test_one_system_alone_is_no_ladder_and_graphs_are_not_mixed():
    made = Trainings(graphs=[graph("a"), graph("b")])
    made.train("plain", 2.0, graph="a")
    made.train("pipelined", 1.0, graph="b")
    made.train("plain", 2.0, graph="a", gpus=2)
    assert rows_of("salient_ladder", made.run()) == []


def test_scaling_is_over_the_least_number_of_gpus():
    made = Trainings()
    for gpus, seconds in ((4, 1.0), (1, 3.0), (2, 1.6)):
        made.train("pipelined", seconds, gpus=gpus)
    made.train("plain", 9.0, gpus=2)
    made.train("plain", 6.0, gpus=4)
    rows = rows_of("salient_scaling", made.run())
    ours = [row for row in rows if row["system"] == "pipelined"]
    assert [row["gpus"] for row in ours] == [1, 2, 4]
    assert [row["speedup"] for row in ours] == pytest.approx([1.0, 1.875, 3.0])
    assert [row["efficiency"] for row in ours] == pytest.approx([1.0, 0.9375, 0.75])
    plain = row_of(rows, system="plain", gpus=4)
    assert (plain["speedup"], plain["efficiency"], plain["reference"]) == (1.5, 0.75, "2 processes")
    assert {row["origin"] for row in rows} == {"measured"}


def test_others_published_times_follow_ours_on_a_graph_of_that_size_and_claim_nothing_of_ours():
    made = Trainings(graphs=[*PAPERS, graph("small")])
    made.train("pipelined", 2.0, graph="papers")
    made.train("pipelined", 2.0)
    table = frame_of("salient_scaling", made.run())
    printed = table[table["origin"] == "published"]
    assert set(printed["dataset"]) == {"papers"}
    assert printed["epoch_s"].isna().all()
    assert printed["published"].notna().all()
    assert (printed["device"] == "").all()
    best = printed[(printed["system"] == "SALIENT") & (printed["gpus"] == 16) & (printed["model"] == "sage")]
    assert best["published"].tolist() == [2.025, 2.0]
    assert best["hardware"].tolist() == ["16 A10G, 8 hosts", "16 GPUs"]


def test_epochs_that_were_cut_short_are_a_ladder_and_nobody_s_epoch():
    made = Trainings(graphs=PAPERS)
    for system, seconds in (("fast_sampler", 8.0), ("pipelined", 2.0)):
        made.train(system, seconds, graph="papers", num_train=101 * 1024)
    made.train("device", 0.3, graph="papers", num_train=100 * 1024, training="epoch")
    rows = rows_of("salient_ladder", made.run())
    assert [(row["rung"], row["speedup"], row["batches"]) for row in rows] == [
        ("fast_sampler", 1.0, 100), ("pipelined", pytest.approx(4.0), 100),
    ]  # fmt: skip
    assert all(math.isnan(row["published"]) for row in rows)
    measured = [row for row in rows_of("salient_scaling", made.run()) if row["origin"] == "measured"]
    assert [row["system"] for row in measured] == ["device"]


def test_the_kernels_of_a_measurement_stay_in_order_and_say_where_it_was(tmp_path):
    path, made = tmp_path / "device_roofline.csv", Trainings()
    times = [kernel_time("draw, hop 1"), kernel_time("note_loss", bytes=0, floor_us=0.0, floor_share=None)]
    write_trial_table(path, list(KernelTime.model_fields), [time.model_dump() for time in times])
    assert read_kernel_times(path) == times
    made.rooflines = times
    table = frame_of("device_roofline", made.run())
    assert table["kernel"].tolist() == ["draw, hop 1", "note_loss"]
    assert table["floor_share"].tolist()[0] == 0.25 and math.isnan(table["floor_share"].tolist()[1])
    assert set(table["device"]) == {"Test GPU"}


def test_sums_are_no_kernels_where_the_page_says_which_takes_most():
    made = Trainings()
    sums = {"part": BOTH_PARTS, "measured_us": 40.0, "floor_us": 10.0}
    made.rooflines = [
        *(
            time
            for dataset in ("small", "large")
            for time in (
                kernel_time("draw, hop 1", dataset=dataset, measured_us=10.0, floor_us=1.0),
                kernel_time("adam", dataset=dataset, measured_us=30.0, floor_us=9.0),
                kernel_time(ALL_KERNELS, dataset=dataset, **sums),
            )
        ),
        kernel_time(WHOLE_EPOCH, dataset="large", **sums | {"measured_us": 36.0}),
    ]
    table = TABLES["device_roofline"]
    said = (
        "On {} the kernels of a batch take 40 us one after the other. At the speed of the hardware it would be 25 % of "
        "that. `adam` takes most, 75 %."
    )
    expected = [said.format("small"), said.format("large"), "In an epoch a batch takes 36 us."]
    assert table.finding(table.rows(made.run())) == " ".join(expected)
    assert table.finding([]) == ""
    made.rooflines = [kernel_time("adam", training=name, measured_us=30.0) for name in ("first", "second")]
    assert table.finding(table.rows(made.run())).count("takes most, 100 %") == 2, "a training by itself"
    made.rooflines = [kernel_time(WHOLE_EPOCH, **sums)]
    assert table.finding(table.rows(made.run())) == "", "no kernel, no finding"


def test_the_timeline_has_the_first_batches_of_the_first_seed():
    made = Trainings()
    made.train("pipelined", 2.0, seed=1)
    made.train("pipelined", 2.0, seed=0, timeline=spans(serial=False))
    made.train("pipelined", 2.0, gpus=2, timeline=spans(serial=False))
    made.train("plain", 2.0)
    rows = rows_of("salient_timeline", made.run())
    assert {(row["system"], row["gpus"], row["seed"]) for row in rows} == {("pipelined", 1, "0")}
    assert sorted({row["batch"] for row in rows}) == list(range(TIMELINE_BATCHES))
    first = row_of(rows, batch=0, stage="train")
    assert (first["lane"], first["start_ms"], first["duration_ms"]) == ("gpu", pytest.approx(2016), pytest.approx(4.5))
    starts = [row["start_ms"] for row in rows]
    assert starts == sorted(starts)


def test_invariants_on_a_large_set(tables):
    breakdown = read_table("salient_breakdown", tables)
    assert ((breakdown["train_s"] + breakdown["blocked_s"] - breakdown["epoch_s"]).abs() < 1e-9).all()
    assert breakdown["blocked_share"].between(0, 1).all()
    assert "full_batch" not in set(breakdown["system"])
    ladder = read_table("salient_ladder", tables)
    assert (ladder[ladder["rung"] == ladder["reference"]]["speedup"] == 1).all()
    scaling = read_table("salient_scaling", tables)
    ours = scaling[scaling["origin"] == "measured"]
    assert ((ours["efficiency"] * ours["gpus"] - ours["speedup"]).abs() < 1e-9).all()
    assert len(ours) == len(breakdown)


def test_several_configs_behind_a_row_have_one_digest_that_depends_on_each():
    found = set()
    for second in ("0" * 16, "1" * 16, "abcdef0123456789"):
        made = Trainings()
        made.train("plain", 1.0)
        made.train("plain", 1.0, seed=1, config_digest=second)
        (row,) = rows_of("salient_breakdown", made.run())
        assert row["protocol"].startswith("ladder ")
        found.add(row["protocol"])
    assert len(found) == 3
    assert "ladder abcdef01" in found


def test_nothing_in_gives_nothing():
    for name in ("salient_breakdown", "salient_ladder", "salient_scaling", "salient_timeline"):
        assert rows_of(name, Trainings().run()) == []

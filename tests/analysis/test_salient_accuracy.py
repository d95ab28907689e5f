"""The SALIENT tables about accuracy: means over seeds, and differences to what they are held against."""

import math

import pytest

from hone.analysis.salient_accuracy import FULL, MEAN
from hone.records import DegreeFigures
from hone.tables.registry import TABLES

from .tables import frame_of, read_table, rows_of
from .test_salient_tables import row_of
from .trainings import Trainings, graph


def test_each_seed_has_a_row_and_the_mean_one_more():
    made = Trainings()
    for seed, right in enumerate((900, 910, 920)):
        made.infer(made.train("pipelined", 1.0, seed=seed), f20_20_20=right)
    rows = rows_of("salient_inference", made.run())
    assert [row["seed"] for row in rows] == ["0", "1", "2", MEAN]
    assert [row["accuracy"] for row in rows] == pytest.approx([0.90, 0.91, 0.92, 0.91])
    assert rows[-1]["accuracy_std"] == pytest.approx(0.01)
    assert rows[-1]["seeds"] == 3
    assert {row["fanout"] for row in rows} == {"20,20,20"}
    assert rows[0]["nodes"] == 1000
    assert all(math.isnan(row["difference_points"]) for row in rows)  # the full neighbourhood was not asked
    assert rows[0]["protocol"] == "ladder abcdef01"


def test_sampled_inference_is_held_against_the_full_neighbourhood_seed_by_seed():
    made = Trainings()
    for seed, (sampled, full) in enumerate(((900, 903), (910, 909))):
        made.infer(made.train("pipelined", 1.0, seed=seed), f20_20_20=sampled, full=full)
    rows = rows_of("salient_inference", made.run())
    differences = [row["difference_points"] for row in rows if row["fanout"] == "20,20,20"]
    assert differences == pytest.approx([-0.3, 0.1, -0.1])
    assert all(row["difference_points"] == pytest.approx(0) for row in rows if row["fanout"] == FULL)


def test_several_sampler_seeds_are_one_accuracy_of_a_training():
    made = Trainings()
    run = made.train("pipelined", 1.0)
    made.infer(run, f5_5=800)
    made.infer(run, f5_5=820)
    rows = rows_of("salient_inference", made.run())
    assert [(row["seed"], row["accuracy"], row["inference_seeds"]) for row in rows] == [
        ("0", pytest.approx(0.81), 2),
        (MEAN, pytest.approx(0.81), 2),
    ]
    assert math.isnan(rows[-1]["accuracy_std"])  # one training says nothing about others


def test_models_are_held_against_full_batch_training_by_the_most_exact_inference():
    made = Trainings()
    for seed in (0, 1):
        made.infer(made.train("pipelined", 1.0, seed=seed), f5_5=990, f20_20_20=900 + seed, full=905 + seed)
        whole = made.train("full_batch", 1.0, seed=seed, training="whole", fanouts=(), batch_size=0)
        made.infer(whole, full=910)
    rows = rows_of("salient_models", made.run())
    sampled = row_of(rows, mode="sampled", seed=MEAN)
    assert (sampled["fanout"], sampled["accuracy"]) == (FULL, pytest.approx(0.9055))
    assert sampled["difference_points"] == pytest.approx(-0.45)
    assert sampled["reference"] == "whole"
    assert row_of(rows, mode="sampled", seed="1")["difference_points"] == pytest.approx(-0.4)
    assert row_of(rows, mode="full_batch", seed=MEAN)["difference_points"] == pytest.approx(0)


def test_the_same_training_s_full_batch_run_comes_first_and_a_wider_model_is_no_reference():
    made = Trainings()
    sampled = made.train("pipelined", 1.0)
    made.infer(sampled, full=900)
    for training, right, hidden in (("other", 950, 256), ("ladder", 901, 256)):
        made.infer(made.train("full_batch", 1.0, training=training, hidden=hidden), full=right)
    found = row_of(rows_of("salient_models", made.run()), mode="sampled", seed="0")
    assert (found["reference"], found["difference_points"]) == ("ladder", pytest.approx(-0.1))
    made.trainings = [sampled, *(run.model_copy(update={"hidden": 512}) for run in made.trainings[1:])]
    found = row_of(rows_of("salient_models", made.run()), mode="sampled", seed="0")
    assert found["reference"] == ""
    assert math.isnan(found["difference_points"])


def test_models_are_about_test_nodes_and_the_widest_fan_out_without_the_full_neighbourhood():
    made = Trainings()
    run = made.train("pipelined", 1.0)
    made.infer(run, split="valid", full=999)
    made.infer(run, f5_5=800, f20_20=810, f10_10=805)
    rows = rows_of("salient_models", made.run())
    assert [(row["fanout"], row["accuracy"]) for row in rows] == [("20,20", 0.81)] * 2
    assert {row["split"] for row in rows_of("salient_inference", made.run())} == {"valid", "test"}


@pytest.mark.parametrize(("kind", "known"), [("ogb", True), ("papers100m_like", False)])
def test_the_paper_s_accuracy_stands_beside_its_own_data_set_alone(kind, known):
    made = Trainings(graphs=[graph("papers", "papers100M", kind=kind)])
    made.infer(made.train("pipelined", 1.0, graph="papers", gpus=16), f5_5_5=600, f20_20_20=640, full=645)
    rows = rows_of("salient_inference", made.run())
    printed = [row["fanout"] for row in rows if not math.isnan(row.get("published", math.nan))]
    assert printed == (["20,20,20"] if known else [])
    model = row_of(rows_of("salient_models", made.run()), seed=MEAN)
    assert model["published"] == pytest.approx(0.645 if known else math.nan, nan_ok=True)


def test_inference_without_its_training_keeps_its_accuracy():
    made = Trainings()
    made.infer(made.train("pipelined", 1.0), full=900)
    made.trainings = []
    assert [row["accuracy"] for row in rows_of("salient_inference", made.run())] == [0.9, 0.9]
    assert rows_of("salient_models", made.run())[0]["protocol"] == ""


def test_invariants_on_a_large_set(tables):
    for name in ("salient_inference", "salient_models"):
        table = read_table(name, tables)
        keys = ["dataset", "training", "model", "system", "gpus", "split", "fanout"]
        for _, rows in table.groupby(keys):
            seeds, means = rows[rows["seed"] != MEAN], rows[rows["seed"] == MEAN]
            assert len(means) == 1
            assert means["accuracy"].iloc[0] == pytest.approx(seeds["accuracy"].mean())
            assert means["accuracy_std"].iloc[0] == pytest.approx(seeds["accuracy"].std())
    models = read_table("salient_models", tables)
    assert models[models["mode"] == "sampled"]["difference_points"].tolist() == pytest.approx([-0.2] * 24)


def test_pages_show_means_and_say_of_which_training_and_system():
    made = Trainings()
    for seed in (0, 1):
        for system, right in (("pipelined", 900), ("device", 920)):
            made.infer(made.train(system, 1.0, seed=seed), f5_5=right - 10, full=right + seed)
    pages = {"salient_models": "{}", "salient_inference": "ladder: {}"}
    for name, form in pages.items():
        frame, table = frame_of(name, made.run()), TABLES[name]
        page = table.layout(frame)[list(table.shown)]
        assert page["system"].drop_duplicates().tolist() == [form.format(of) for of in ("pipelined", "device")]
        assert len(page) == len(frame) / 3


def of_degrees(low_right, high_right):
    """100 nodes with 1 neighbour and 900 with 8 to 15."""
    return (
        DegreeFigures(low=1, high=1, nodes=100, correct=low_right),
        DegreeFigures(low=8, high=15, nodes=900, correct=high_right),
    )


def test_accuracy_by_degree_is_the_mean_over_seeds_and_is_held_against_the_full_neighbourhood():
    made = Trainings()
    for seed, (low, high) in enumerate(((50, 810), (60, 828))):
        run = made.train("pipelined", 1.0, seed=seed)
        made.infer(run, by_degree=of_degrees(low, high), f5_5=low + high)
        made.infer(run, by_degree=of_degrees(60, 855), full=915)
    rows = {(row["fanout"], row["degree"]): row for row in rows_of("salient_degrees", made.run())}
    assert list(rows) == [("5,5", "1"), ("5,5", "8-15"), (FULL, "1"), (FULL, "8-15")]
    low, high = rows["5,5", "1"], rows["5,5", "8-15"]
    assert (low["accuracy"], high["accuracy"]) == (pytest.approx(0.55), pytest.approx(0.91))
    assert (low["difference_points"], high["difference_points"]) == (pytest.approx(-5), pytest.approx(-4))
    assert (low["nodes"], high["nodes"], low["seeds"]) == (100, 900, 2)
    assert rows[FULL, "1"]["difference_points"] == pytest.approx(0)
    table = TABLES["salient_degrees"]
    said = table.finding(table.rows(made.run()))
    assert said == "Sampling costs most at 1 neighbours: -5.00 points (5,5, sage, small)."


def test_nothing_in_gives_nothing():
    for name in ("salient_inference", "salient_models", "salient_degrees"):
        assert rows_of(name, Trainings().run()) == []

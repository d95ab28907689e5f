"""Parts of a device system's epoch in the tables, and what is predicted from them."""

import math

import pytest

from hone.records.gnn import EpochParts, ProcessParts
from hone.tables.registry import TABLES

from .tables import frame_of, rows_of
from .trainings import Trainings

BATCHES = 10


def parts(*steps_us, all_reduce_us=0.0, wait_us=0.0, epoch_s=1.25):
    """Parts of an epoch of ten batches, a process for each of `steps_us`."""
    scale = BATCHES * 1e-6
    processes = tuple(
        ProcessParts(
            sample_s=100 * scale, step_s=step * scale, all_reduce_s=all_reduce_us * scale,
            wait_ranks_s=wait_us * scale, wait_batch_s=5 * scale,
        )
        for step in steps_us
    )  # fmt: skip
    return EpochParts(epoch=1, batches=BATCHES, epoch_s=epoch_s, processes=processes)


def scaled():
    """One to four GPUs; with each doubling sums take 6 us longer, and steps less, which is noise."""
    made = Trainings()
    told = {"num_train": 1024 * 100}
    made.train("device", 3.0, parts=parts(200), **told)
    made.train("device", 1.6, gpus=2, parts=parts(202, 206, all_reduce_us=10, wait_us=4), **told)
    made.train("device", 0.9, gpus=4, parts=parts(199, 201, 200, 200, all_reduce_us=16, wait_us=4), **told)
    made.train("pipelined", 9.0, gpus=4, **told)
    return made


def test_the_breakdown_has_means_over_processes_and_seeds():
    made = Trainings()
    made.train("device", 1.0, gpus=2, parts=parts(100, 200))
    made.train("device", 1.0, gpus=2, seed=1, parts=parts(300, 400, epoch_s=1.75))
    made.train("pipelined", 1.0)
    rows = {row["system"]: row for row in rows_of("salient_breakdown", made.run())}
    assert rows["device"]["step_s"] == pytest.approx(250 * BATCHES * 1e-6)
    assert rows["device"]["parts_epoch_s"] == 1.5
    assert math.isnan(rows["pipelined"]["step_s"])


def test_what_was_not_measured_is_a_prediction_in_a_column_of_its_own():
    made = scaled()
    rows = rows_of("salient_scaling", made.run())
    device = [row for row in rows if row["origin"] == "measured" and row["system"] == "device"]
    assert [row["gpus"] for row in device] == [1, 2, 4]
    assert [row["step_us"] for row in device] == pytest.approx([200, 204, 200])
    assert [row["all_reduce_us"] for row in device] == pytest.approx([0, 10, 16])
    assert [row["system"] for row in rows if math.isnan(row["step_us"])] == ["pipelined"]
    predicted = [row for row in rows if row["origin"] == "predicted"]
    assert [row["gpus"] for row in predicted] == [8, 16]
    assert all(math.isnan(row["epoch_s"]) and math.isnan(row["efficiency"]) for row in predicted)
    assert [row["step_us"] for row in predicted] == pytest.approx([202, 202]), "no part shrinks"
    assert [row["all_reduce_us"] for row in predicted] == pytest.approx([22, 28])
    assert [row["predicted_s"] for row in predicted] == pytest.approx([13 * 233e-6, 7 * 239e-6])
    assert predicted[0]["hardware"] == "predicted from 2 and 4 Test GPU"


def test_the_page_and_the_sentence_call_a_prediction_so():
    table = frame_of("salient_scaling", scaled().run())
    page = TABLES["salient_scaling"].layout(table)
    assert page["epoch_s"].notna().all()
    assert all(word.startswith("predicted") for word in page[table["epoch_s"].isna()]["hardware"])
    said = TABLES["salient_scaling"].finding([TABLES["salient_scaling"].row(**row) for row in table.to_dict("records")])
    assert "What grows most is summing over the processes: by 16 microseconds a batch." in said
    assert said.endswith("Predicted, not measured: an epoch of 0.00303 s on 8 and 0.00167 s on 16.")


def test_two_numbers_of_several_processes_are_needed():
    made = scaled()
    made.trainings = [run for run in made.trainings if run.gpus != 2]
    assert {row["origin"] for row in rows_of("salient_scaling", made.run())} == {"measured"}

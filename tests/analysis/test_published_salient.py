"""The printed numbers about training: complete, consistent with each other, and kept apart from the other papers'."""

import math
from collections import Counter

import pytest

from hone.analysis.paper_numbers import read_published
from hone.analysis.salient_numbers import DATASETS, TRAINING_FIELDS, dataset_of, read_training_numbers
from hone.core.errors import RecordError

from .trainings import Trainings, graph
from .world import PUBLISHED


@pytest.fixture(scope="module")
def numbers():
    return read_training_numbers(PUBLISHED).numbers


def test_counts_per_table_and_no_number_twice(numbers):
    counts = Counter((number.paper, number.table) for number in numbers)
    assert counts[("SALIENT", "artifact, as Table 1")] == 2 * 3 * 4
    assert counts[("SALIENT", "artifact, as Figure 6")] == 7 * 3
    assert counts[("SALIENT", "abstract")] == 3
    assert counts[("SALIENT++", "artifact")] == 4 * 3
    keys = Counter((n.paper, n.table, n.dataset, n.system, n.setup, n.gpus, n.metric, n.precision) for n in numbers)
    assert max(keys.values()) == 1


def test_ranges_and_sources(numbers):
    for number in numbers:
        assert number.dataset in DATASETS
        assert number.gpus >= 1
        assert number.source
        assert number.precision
        assert "memory" not in number.precision
        if number.metric.endswith("accuracy"):
            assert 0.5 < number.value < 0.75
        else:
            assert number.metric.endswith("_s")
            assert 0.001 < number.value < 400
        assert math.isnan(number.std) or 0 <= number.std < 0.25 * number.value


def test_an_epoch_is_the_sum_of_its_parts(numbers):
    parts: dict[tuple[str, str], dict[str, float]] = {}
    for number in numbers:
        if number.table == "artifact, as Table 1":
            parts.setdefault((number.dataset, number.system), {})[number.metric] = number.value
    assert len(parts) == 6
    for found in parts.values():
        assert sum(found.values()) - found["epoch_s"] == pytest.approx(found["epoch_s"], rel=0.003)


def test_the_paper_s_speedups_follow(numbers):
    epochs = {(n.dataset, n.system): n.value for n in numbers if n.table.endswith("Table 1") and n.metric == "epoch_s"}
    speedups = [epochs[name, "PyG"] / epochs[name, "SALIENT"] for name in DATASETS]
    assert speedups == pytest.approx([3.53, 3.18, 3.33], abs=0.005)


def test_a_graph_is_a_data_set_by_its_size():
    assert dataset_of(graph("g", "arxiv")) == "arxiv"
    assert dataset_of(graph("g")) == ""
    assert dataset_of(None) == ""
    assert dataset_of(graph("g", "arxiv"), exactly=True) == ""
    assert dataset_of(graph("g", "arxiv", kind="ogb"), exactly=True) == "arxiv"
    thinner = graph("g", "papers100M").model_copy(update={"num_edges": 10**9})
    assert dataset_of(thinner) == ""
    wider = graph("g", "products").model_copy(update={"feature_dim": 128})
    assert dataset_of(wider) == ""


def test_rows_find_their_number():
    made = Trainings()
    numbers = read_training_numbers(PUBLISHED)
    info = graph("papers", "papers100M")
    found = [
        numbers.find(info, made.train("pipelined", 1.0, graph="papers", gpus=gpus), "epoch_s")[0] for gpus in (1, 2, 16)
    ]
    assert found == pytest.approx([16.513349, 11.407, 2.025])
    gin = made.train("plain", 1.0, model="gin", gpus=16, batch_size=512)
    assert numbers.find(info, gin, "epoch_s")[0] == 19.385
    assert math.isnan(numbers.find(info, gin, "test_accuracy")[0])
    assert len(numbers.epochs("products")) == 2 + 4
    assert numbers.epochs("") == []


def test_the_other_papers_reader_leaves_the_file_alone():
    assert {number.paper for number in read_published(PUBLISHED)} == {"Astra", "KernelBench"}


@pytest.mark.parametrize(("field", "value"), [("unit", "hours"), ("gpus", "many"), ("value", "")])
def test_a_broken_file_is_named(tmp_path, field, value):
    row = dict.fromkeys(TRAINING_FIELDS, "1") | {"unit": "s", "fanouts": "15", field: value}
    text = ",".join(TRAINING_FIELDS) + "\n" + ",".join(row.values()) + "\n"
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(RecordError, match=r"a\.csv:2"):
        read_training_numbers(tmp_path)

"""Batch preparation by threads: the benchmark's CSV and the table made of it."""

import math

import pytest

from hone.analysis.csv_records import read_preparations
from hone.core.errors import RecordError

from .tables import rows_of
from .trainings import Trainings


def test_speedups_are_over_the_least_threads_and_over_the_authors_sampler():
    made = Trainings()
    for system, threads, batch_ms in (("hone", 2, 5.0), ("salient", 2, 20.0), ("hone", 1, 8.0), ("salient", 4, 12.0)):
        made.prepare(system, threads, batch_ms)
    rows = rows_of("salient_threads", made.run())
    assert [(row["system"], row["threads"]) for row in rows] == [
        ("hone", 1),
        ("hone", 2),
        ("salient", 2),
        ("salient", 4),
    ]
    assert [row["speedup"] for row in rows] == pytest.approx([1.0, 1.6, 1.0, 20 / 12])
    over = [row["speedup_over_salient"] for row in rows]
    assert over == pytest.approx([math.nan, 4.0, 1.0, 1.0], nan_ok=True)
    assert (rows[0]["device"], rows[0]["commit"], rows[0]["protocol"]) == ("Test GPU", "abc123", "")


@pytest.mark.parametrize(
    "changes", [{"fanouts": "20,20,20"}, {"batch_size": 512}, {"graph": "other"}, {"pages": "large"}]
)
def test_other_work_is_no_comparison(changes):
    made = Trainings()
    made.prepare("salient", 1, 20.0)
    made.prepare("hone", 1, 5.0, **changes)
    assert math.isnan(rows_of("salient_threads", made.run())[-1]["speedup_over_salient"])


def test_further_columns_and_empty_cells_are_allowed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("graph,system,threads,batch_ms,unique_nodes,sampled_edges,map\ng,hone,2,1.5,1000,,swiss\n")
    (row,) = read_preparations(path)
    assert (row.threads, row.batch_ms, row.sampled_edges, row.fanouts) == (2, 1.5, None, "")
    made = Trainings(preparations=[row.model_copy(update={"fanouts": "15 10 5"})])
    (shown,) = rows_of("salient_threads", made.run())
    assert shown["fanouts"] == "15,10,5"  # as the tables of trainings write it


@pytest.mark.parametrize(("line", "field"), [("g,hone,two,1.5,10", "threads"), ("g,hone,2,,10", "batch_ms")])
def test_a_broken_file_is_named(tmp_path, line, field):
    path = tmp_path / "a.csv"
    path.write_text(f"graph,system,threads,batch_ms,unique_nodes\n{line}\n")
    with pytest.raises(RecordError, match=rf"a\.csv:2: .*{field}"):
        read_preparations(path)
    with pytest.raises(RecordError, match="no such file"):
        read_preparations(tmp_path / "b.csv")

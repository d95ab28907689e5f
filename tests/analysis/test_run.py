"""A run's records come back from its files."""

from dataclasses import fields, replace

import pandas as pd
import pytest

from hone.analysis.run import ALONE, KINDS, TABULAR, RunRecords, read_run
from hone.core.errors import RecordError
from hone.core.files import write_records

from .rounds import big_kit
from .trainings import big_trainings


def test_records_come_back_from_their_files(tmp_path):
    trained = big_trainings().records()
    names = (*ALONE, *TABULAR)
    records = replace(big_kit().records(), **{name: getattr(trained, name) for name in names})
    files = {}
    for name in KINDS:
        rows = getattr(records, name)
        files[name] = [tmp_path / f"{name}{at}.json" for at in range(len(rows) if name in ALONE else 1)]
        for at, path in enumerate(files[name]):
            write_records(path, [rows[at]] if name in ALONE else rows)
    for name in TABULAR:
        pd.DataFrame([item.model_dump() for item in getattr(trained, name)]).to_csv(files[name][0], index=False)
    files["suites"] = []
    for (experiment, slug), workloads in records.suites.items():
        for batch, part in enumerate((workloads[:1], workloads[1:])):
            path = tmp_path / "suites" / experiment / slug / f"{batch:03d}.jsonl"
            write_records(path, part)
            files["suites"].append(path)
    found = read_run(files)
    assert found.suites == records.suites
    assert all(list(getattr(found, name)) == list(getattr(records, name)) for name in KINDS)


def test_every_kind_of_record_has_its_field():
    assert {field.name for field in fields(RunRecords)} == {*KINDS, "suites"}
    assert read_run({}) == RunRecords()


def test_a_broken_file_is_named(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text("{}\n")
    with pytest.raises(RecordError, match=r"answers\.jsonl:1"):
        read_run({"answers": [path]})

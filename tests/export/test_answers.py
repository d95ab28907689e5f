"""All answers as a table: the rows and numbers of the run."""

import pandas as pd
import pytest

from hone.core.errors import ConfigError
from hone.export.answers import answers_frame, write_answers
from hone.site.entries import entries
from tests.analysis.rounds import big_kit
from tests.site.world import site_run


def test_a_row_for_each_answer_in_full_precision(run):
    frame, found = answers_frame(run), entries(run)
    assert list(frame["id"]) == [entry.id for entry in found]
    exact = pd.Series([entry.cells.get("speedup_torch_eager") for entry in found], name="speedup_torch_eager")
    pd.testing.assert_series_equal(frame["speedup_torch_eager"], exact, check_exact=True)


def test_rounds_are_rows_too():
    kit = big_kit()
    site = site_run(kit.settings, kit.records())
    frame = answers_frame(site)
    assert len(frame) == len(entries(site))
    assert frame["winner"].sum() > 0
    assert set(frame["method"]) == {"astra", "astra_single"}


def test_csv_reads_back(run, tmp_path):
    path = tmp_path / "answers.csv"
    assert write_answers(run, path) == 12
    back = pd.read_csv(path, keep_default_na=False, na_values={"latency_ms": [""], "speedup_torch_eager": [""]})
    frame = answers_frame(run)
    assert list(back.columns) == list(frame.columns)
    assert list(back["model"]) == list(frame["model"])
    assert back["speedup_torch_eager"].equals(frame["speedup_torch_eager"])


def test_parquet_reads_back_with_its_types(run, tmp_path):
    pytest.importorskip("pyarrow", reason="the extra `export` is not installed")
    path = tmp_path / "new/answers.parquet"
    write_answers(run, path)
    pd.testing.assert_frame_equal(pd.read_parquet(path), answers_frame(run), check_dtype=False)


def test_another_ending_is_named(run, tmp_path):
    with pytest.raises(ConfigError, match=r"\.csv or \.parquet"):
        write_answers(run, tmp_path / "answers.xlsx")

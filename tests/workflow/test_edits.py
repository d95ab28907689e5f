"""What an edit makes run again: the published table is what a small campaign does today."""

import csv

import pytest

from tests.workflow.edits import EDITS, TABLE, make_rows

REPORTS = {"tables", "figures", "pages", "papers", "report_pages", "site", "summary"}
pytestmark = pytest.mark.slow  # a small campaign for each edit
BY_HAND = {
    "a comment in a prompt", "a word in the coder's prompt of a round", "one model added", "one problem added",
    "a tolerance", "the timing protocol", "a module under `judge/`",
    "a module under `gnn/`: preparing graphs, to equal ones",
}  # fmt: skip
"""Half a minute each, and as others that are here: `python -m tests.workflow.edits` makes their rows."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Edit -> its row, measured."""
    edits = [edit for edit in EDITS if edit.name not in BY_HAND]
    assert len(edits) == len(EDITS) - len(BY_HAND)
    return {row["edit"]: row for row in make_rows(tmp_path_factory.mktemp("edits"), edits)}


def rules(row):
    return {name.partition(":")[0] for name in row["rules"].split()}


def test_the_published_table_is_todays(rows):
    """Otherwise: `python -m tests.workflow.edits`, and see whether docs/reruns.md still says the truth."""
    measured = [{name: str(value) for name, value in row.items()} for row in rows.values()]
    with TABLE.open() as file:
        assert [row for row in csv.DictReader(file) if row["edit"] not in BY_HAND] == measured


@pytest.mark.parametrize("edit", ["nothing", "a `touch` of every file", "a word in an example that no prompt shows"])
def test_what_changes_nothing_runs_nothing(rows, edit):
    assert rows[edit]["jobs"] == 0


def test_equal_bytes_submit_no_gpu_job(rows):
    row = rows["one word in a prompt: the same kernel, byte for byte"]
    assert (row["model_calls"], row["compiled"], row["gpu_jobs"]) == (1, 0, 0)


def test_what_is_new_is_asked_built_and_judged_alone(rows):
    row = rows["one word in a prompt: another kernel"]
    assert (row["model_calls"], row["compiled"], row["gpu_jobs"], row["judged"]) == (1, 1, 1, 1)


def test_an_edit_reaches_its_own_side_alone(rows):
    assert rules(rows["a module under `analysis/`"]) == REPORTS
    assert rules(rows["a module under `gnn/`: the training loop"]) <= REPORTS | {"train", "infer"}


def test_a_clean_clone_pays_for_nothing_that_the_stores_have(rows):
    row = rows["a clean clone, the stores kept"]
    assert (row["model_calls"], row["compiled"], row["judged"]) == (0, 0, 0)

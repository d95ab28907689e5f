"""Verdicts of several machines together: which one counts, what is summed up, and whose text is left out."""

import pytest

from hone.core.errors import RecordError
from hone.tables import judge_agreement, judge_exploits, judge_gold, published_claims
from hone.tables.files import read_table, to_frame, write_csv
from studies.judge.union import FIGURE, unite

FILE = 'File "<hone_candidate>", line 3, in forward\n    return secret(x)\nRuntimeError: no'
QUOTED = "cuda.cu(44): error: identifier is undefined\n      secret<<<1, 1>>>();"


def answer(number, status, commit, **update):
    found = {
        "archive": "a", "model": "m", "definition": f"v0/level1/{number}_Sum", "sample": 0,
        "archive_verdict": "correct", "status_kernelbench": status, "status_hone": status,
        "agrees": "yes" if status == "passed" else "", "cause": "", "experiment_kernelbench": "own",
        "experiment_hone": "own", "judged_by": commit, "device": "a GPU",
    }  # fmt: skip
    return judge_agreement.Row(**found | update)


def claim(number, status, commit, speedup=2.0):
    standing = {"passed": "credited", "missing": "no_verdict"}[status]
    return published_claims.Row(
        archive="a", model="m", definition=f"v0/level1/{number}_Sum", sample=0, claimed_speedup=4.0, status=status,
        as_published_speedup=3.0, device_speedup=speedup, host_factor=3.0 / speedup, standing=standing, findings="",
        experiment="own", rule="hone", baseline="torch_eager", judged_by=commit,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    def make(name, answers, claims):
        for table, rows in ((judge_agreement.TABLE, answers), (published_claims.TABLE, claims)):
            write_csv(to_frame(table, rows), tmp_path / name / f"{table.name}.csv")
        return tmp_path / name

    return make


def test_the_newest_verdict_of_an_answer_counts_and_none_is_no_verdict(folder, tmp_path):
    old = folder(
        "old", [answer(10, "passed", "1"), answer(2, "passed", "1"), answer(3, "missing", "1")],
        [claim(10, "passed", "1"), claim(2, "passed", "1", 1.5), claim(3, "missing", "1")],
    )  # fmt: skip
    new = folder(
        "new", [answer(10, "missing", "2"), answer(2, "wrong_value", "2", agrees="no", cause="value")],
        [claim(10, "missing", "2"), claim(2, "passed", "2", 0.5)],
    )  # fmt: skip
    made = tmp_path / "made"
    assert unite([old, new], made)["judge_agreement"] == 3
    rows = read_table(judge_agreement.TABLE, made)
    assert list(zip(rows["definition"].str[10:12], rows["status_hone"], rows["judged_by"], strict=True)) == [
        ("2_", "wrong_value", "2"), ("3_", "missing", "1"), ("10", "passed", "1"),
    ]  # fmt: skip
    claims = read_table(published_claims.TABLE, made).set_index("definition")
    assert list(claims.loc[["v0/level1/10_Sum", "v0/level1/2_Sum"], "device_speedup"]) == [2.0, 0.5]
    (summary, _) = (made / "judge_agreement_summary.csv").read_text().splitlines()[1:]
    assert summary.startswith("a,m,hone,3,2,") and ",own,1; 2," in summary
    (counted,) = (made / "published_claims_summary.csv").read_text().splitlines()[1:]
    assert counted.startswith("a,1,3,2,2,1.0,2,1.0,2,4.0,3.0,1.25,")
    assert (made / f"{FIGURE}.svg").exists()


@pytest.mark.parametrize(
    ("detail", "kept"),
    [(FILE, "RuntimeError: no"), (QUOTED, "cuda.cu(44): error: identifier is undefined"), ("13 of 64", "13 of 64")],
)
def test_what_others_wrote_is_left_out(folder, tmp_path, detail, kept):
    """The archive's answers may have no licence: the tables stand without their text."""
    told = answer(1, "compile_error", "1", detail=detail, archive_error="its own words")
    made = tmp_path / "made"
    unite([folder("one", [told], [claim(1, "missing", "1")])], made)
    (row,) = read_table(judge_agreement.TABLE, made).to_dict("records")
    assert (row["detail"], row["archive_error"]) == (kept, "")


def exploit(name, status, commit):
    return judge_exploits.Row(
        exploit=name, group="9", language="cuda", status=status, expected="wrong_value", earned="no",
        experiment="exploits", judged_by=commit,
    )  # fmt: skip


def gold(number, status, commit):
    return judge_gold.Row(
        definition=f"v0/level1/{number}_Sum", status=status, experiment="gold", baseline="torch_eager", judged_by=commit
    )


def test_of_the_judges_own_tests_the_newest_verdicts_count_and_what_nobody_judged_is_left_out(tmp_path):
    old, new, made = (tmp_path / name for name in ("old", "new", "made"))
    for folder, table, rows in (
        (old, judge_exploits.TABLE, [exploit(name, "wrong_value", "1") for name in ("a.cu", "b.cu")]),
        (new, judge_exploits.TABLE, [exploit("a.cu", "passed", "2"), exploit("b.cu", "missing", "2")]),
        (new, judge_gold.TABLE, [gold(1, "passed", "2"), gold(2, "missing", "2"), gold(3, "machine_error", "2")]),
    ):
        write_csv(to_frame(table, rows), folder / f"{table.name}.csv")
    assert unite([old, new], made) == {"judge_exploits": 2, "judge_gold": 1}
    rows = read_table(judge_exploits.TABLE, made)
    assert list(zip(rows["exploit"], rows["status"], rows["judged_by"], strict=True)) == [
        ("a.cu", "passed", "2"), ("b.cu", "wrong_value", "1"),
    ]  # fmt: skip
    assert "1 of 1" in (made / "judge_gold.md").read_text()


def test_a_folder_without_such_a_table_is_named(folder, tmp_path):
    with pytest.raises(RecordError, match="no such table"):
        unite([tmp_path / "nowhere"], tmp_path / "made")
    with pytest.raises(RecordError, match="no row"):
        unite([folder("empty", [], [])], tmp_path / "made")

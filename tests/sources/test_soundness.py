import re
from pathlib import Path

import pytest

from hone.core.errors import RecordError
from hone.sources import soundness
from hone.sources.problem import ProblemFile

RESOURCES = Path(__file__).parents[2] / "resources"
COUNTS = {1: 100, 2: 100, 3: 50}
HEADER = "benchmark_version,level,number,flag,tolerance,detail,source\n"
VERSIONS = f"version,commit,branch,note\nv0,{'a' * 40},v0,n\n"


@pytest.fixture(scope="module")
def known():
    return soundness.read(RESOURCES / "soundness.csv", RESOURCES / "kernelbench_versions.csv")


def problem(commit, level=1, number=1):
    return ProblemFile(
        source="kb",
        level=level,
        number=number,
        title="t",
        path="p",
        sha256="0" * 64,
        repository="r",
        commit=commit,
        text="",
    )


def commit_of(known, version):
    return next(commit for commit, held in known.version_of.items() if held == version)


def test_every_row_of_the_data_file_is_about_an_existing_problem_and_has_a_source(known):
    for row in known.rows:
        assert row.benchmark_version in known.version_of.values()
        assert 1 <= row.number <= COUNTS[row.level]
        assert row.finding.detail.strip()
        assert row.finding.source.strip()
        assert row.tolerance in (0.0, 1e-4, 1e-2)
    places = [(row.benchmark_version, row.level, row.number, row.finding) for row in known.rows]
    assert len(set(places)) == len(places)
    assert places == sorted(places, key=lambda place: place[:3])


def test_commits_are_whole(known):
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in known.version_of)


def test_the_versions_are_kept_apart(known):
    """Problem 50 of level 1 was a product that underflows to zero in v0 and is a convolution since."""
    flags = {version: known.flags(problem(commit_of(known, version), 1, 50)) for version in ("v0", "v0.1")}
    assert {flag.flag for flag in flags["v0"]} >= {"constant_output"}
    assert not flags["v0.1"]


def test_a_tighter_tolerance_never_adds_a_flag(known):
    loose, tight = set(known.at(1e-2).rows), set(known.at(1e-4).rows)
    assert tight < loose <= set(known.rows)
    main = commit_of(known, "v0.1")
    assert known.at(1e-2).flags(problem(main, 1, 39))
    assert not known.at(1e-4).flags(problem(main, 1, 39))


def test_metrs_43_removed_problems_of_v0_are_all_there(known):
    rows = [row for row in known.rows if "METR" in row.finding.source]
    assert {row.benchmark_version for row in rows} == {"v0"}
    problems = {(row.level, row.number) for row in rows}
    assert [sum(level == wanted for level, _ in problems) for wanted in COUNTS] == [10, 20, 13]


def test_local_problems_and_unknown_commits_have_no_flags(known):
    assert known.flags(problem("local", 1, 23)) == ()
    assert known.flags(problem("b" * 40, 1, 23)) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEADER + "v0,1,23,loose,0,d,s\n", r"soundness.csv:2: finding.flag"),
        (HEADER + "v0,one,23,loose_range,0,d,s\n", r"soundness.csv:2: level"),
        (HEADER + "v0,1,23,loose_range\n", r"soundness.csv:2: .*too few"),
        (HEADER.replace("flag", "kind"), "other columns"),
        ("", "other columns"),
    ],
)
def test_a_broken_table_is_refused_with_line_and_column(tmp_path, text, said):
    (tmp_path / "soundness.csv").write_text(text)
    (tmp_path / "versions.csv").write_text(VERSIONS)
    with pytest.raises(RecordError, match=said):
        soundness.read(tmp_path / "soundness.csv", tmp_path / "versions.csv")


def test_a_missing_table_is_refused(tmp_path):
    with pytest.raises(RecordError, match="no such file"):
        soundness.read(tmp_path / "absent.csv", tmp_path / "versions.csv")

"""Answers to read: which ones a rule chooses, why, and where their text stands."""

import pytest

from hone.analysis.archives import source_link
from hone.config.settings import parse_archive
from hone.records import Status
from hone.tables.case_studies import CASES

from .tables import read_table
from .world import ARCHIVE, COMPARED, World, definition, settings_for

COMMIT = "0" * 40


def world(problems=14, url="https://github.com/someone/answers"):
    archives = {"a": {**ARCHIVE, "url": url}}
    settings = settings_for({1: problems}, archives=archives, own=COMPARED["own"], one={"models": ["openai/m"]})
    return World(settings, [definition(1, number, sound=number != 2) for number in range(1, problems + 1)])


def publish(made, number, outcome, speedup=None, **changes):
    """An answer to a problem of the archive, judged by our rule."""
    problem = f"mini/level1/{number}_problem"
    made.add_published("correct", {"own": "no_trace"}, problem, speedup=speedup)
    protocol = made.settings.protocol("own")
    made._add_trace(made.claims[-1].solution, problem, outcome, protocol=protocol, **changes)


def chosen(made, folder):
    """(reason, problem number) in the order of the table."""
    table = read_table("case_studies", made.make(folder))
    return [(row["chosen_for"], int(row["definition"].split("/")[2].split("_")[0])) for row in table.to_dict("records")]


def test_the_fastest_and_claims_that_are_not_earned_and_what_the_two_rules_dispute(tmp_path):
    made = world()
    publish(made, 1, 3.0, speedup=2.0)
    publish(made, 1, 2.9)  # the problem has a faster one
    publish(made, 3, 9.0, speedup=9.0)
    publish(made, 2, 50.0, speedup=40.0)  # its problem is degenerate
    publish(made, 4, Status.IMPRECISE, speedup=30.0, status_as_published=Status.PASSED)
    publish(made, 5, 0.5, speedup=20.0)  # passes, and is slower
    publish(made, 6, Status.WRONG_VALUE, speedup=10.0)  # the fourth claim that is not earned
    publish(made, 7, 7.0, findings=("fallback",), status_as_published=Status.PASSED)
    publish(made, 8, 8.0, findings=("fallback",), status_as_published=Status.PASSED)
    publish(made, 9, Status.WRONG_VALUE, status_as_published=Status.PASSED)
    publish(made, 10, Status.MACHINE_ERROR, speedup=99.0)
    assert chosen(made, tmp_path) == [
        *[("fastest", 3), ("fastest", 1)],
        *[("claimed", 2), ("claimed", 4), ("claimed", 5)],
        *[("two_rules", 8), ("two_rules", 9)],
    ]


def test_there_are_ten_at_most_and_the_fastest_fill_them(tmp_path):
    made = world()
    for number in range(1, 15):
        made.add((f"mini/level1/{number}_problem", 0, 0), 1.0 + number, model="openai/m")
    publish(made, 14, 100.0, findings=("below_floor",), status_as_published=Status.PASSED)
    found = chosen(made, tmp_path)
    assert len(found) == CASES
    assert found == [*[("fastest", number) for number in range(14, 5, -1)], ("two_rules", 14)]


def test_a_case_says_where_its_text_stands(tmp_path):
    made = world()
    publish(made, 1, 3.0, speedup=2.0)
    made.add(("mini/level1/3_problem", 0, 0), 2.0, model="openai/m")
    table = read_table("case_studies", made.make(tmp_path))
    assert list(table["source"]) == [f"https://github.com/someone/answers/blob/{COMMIT}/p", ""]
    assert list(table["claimed_speedup"].isna()) == [False, True]


@pytest.mark.parametrize(
    ("entry", "path", "link"),
    [
        ({"kind": "leaderboard"}, "docs/raw.json#3", f"https://github.com/o/r/blob/{COMMIT}/docs/raw.json"),
        (
            {"kind": "scored_lines", "model": "m", "runs": ["h"], "url": "https://github.com/o/r.git"},
            "code/h.json#0", f"https://github.com/o/r/blob/{COMMIT}/code/h.json#L1",
        ),
        ({"kind": "kernelbench_runs", "runs": ["r"]}, "runs/a b.py", f"https://github.com/o/r/blob/{COMMIT}/runs/a%20b.py"),
        ({"kind": "leaderboard", "url": "/tmp/r"}, "p#1", ""),
        ({"kind": "leaderboard", "url": "https://github.com.example.org/o/r"}, "p#1", ""),
    ],
)  # fmt: skip
def test_a_text_has_an_address_on_github_alone(entry, path, link):
    assert source_link(parse_archive({"url": "https://github.com/o/r", "commit": COMMIT, **entry}), path) == link

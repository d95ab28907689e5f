"""judge_idioms: whether an honest file got the verdict, and a pass the findings, that the file expects."""

import pytest

from hone.records import Clock, Performance, Status, Timing
from hone.tables.judge_idioms import as_expected

from .tables import read_table
from .world import World, definition, settings_for


@pytest.fixture
def made():
    experiment = {"method": "files", "files": "idioms", "models": ["reference/model"]}
    return World(settings_for({1: 4}, files=experiment), [definition(1, 1), definition(1, 2)])


def rows_of(made, folder, table="judge_idioms"):
    """Rows in the table's order."""
    return read_table(table, made.make(folder)).to_dict("records")


def timed(mode):
    """What a trace of a GPU says of its times."""
    once = Timing(samples_ms=(1.0,))
    clock = Clock(source="events", mode=mode, runs_per_sample=4, solution_wall_ms=1.0)
    return Performance(solution=once, baselines={"torch_eager": once}, clock=clock)


def test_a_row_says_what_the_file_is_and_what_became_of_it(made, tmp_path):
    made.add_file("own_graph.py", 1.0, "way: own_graph", "expected: passed", performance=timed("queued"))
    made.add_file("kept.py", 2.0, "way: kept_output", "expected: passed", "findings: reuses_outputs")
    kept, graph = rows_of(made, tmp_path)
    assert (kept["idiom"], kept["way"], kept["expected_findings"]) == ("kept.py", "kept_output", "reuses_outputs")
    assert (kept["as_expected"], kept["mode"], kept["speedup"]) == ("no", "", pytest.approx(2.0))
    assert (graph["as_expected"], graph["mode"], graph["status"]) == ("yes", "queued", "passed")


def test_idioms_are_no_exploits_and_exploits_no_idioms(made, tmp_path):
    made.add_file("replay.cu", Status.WRONG_VALUE, "group: 7", "expected: wrong_value")
    made.add_file("plain.cu", 2.0)
    made.add_file("default_stream.cu", 2.0, "way: default_stream", "expected: passed")
    assert [row["idiom"] for row in rows_of(made, tmp_path)] == ["default_stream.cu"]
    assert [row["exploit"] for row in rows_of(made, tmp_path, "judge_exploits")] == ["replay.cu"]
    assert [row["file"] for row in rows_of(made, tmp_path, "own_kernels")] == ["plain.cu"]


def test_rows_go_by_way_and_name(made, tmp_path):
    for name, way in (("b", "triton"), ("c", "half"), ("a", "triton")):
        made.add_file(name, 1.0, f"way: {way}")
    assert [row["idiom"] for row in rows_of(made, tmp_path)] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("status", "found", "expected", "findings", "answer"),
    [
        ("passed", "", "passed", "", "yes"),
        ("passed", "fallback", "passed", "", "no"),
        ("passed", "", "passed", "fallback", "no"),
        ("passed", "no_custom_kernel; reuses_outputs", "passed", "reuses_outputs, no_custom_kernel", "yes"),
        ("wrong_value", "", "imprecise | wrong_value", "fallback", "yes"),
        ("wrong_value", "", "passed", "", "no"),
        ("not_judged", "", "passed | not_judged", "", "yes"),
        ("not_judged", "", "passed", "", ""),
        ("machine_error", "", "passed", "", ""),
        ("missing", "", "passed", "", ""),
        ("passed", "", "", "", ""),
    ],
)
def test_what_is_expected(status, found, expected, findings, answer):
    assert as_expected(status, found, expected, findings) == answer

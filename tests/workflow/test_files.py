"""Solutions out of a folder, judged on a problem of the miniature, and what an edit of one makes run again."""

import csv

import pytest

from hone.core.files import read_records
from hone.records import Candidate, Trace

pytestmark = pytest.mark.slow  # judges a folder, twice

DEFINITION = "miniature/level1/2_Row_sum"
CODE = """
extern "C" void launch(const float* x, float* out, long rows, long columns) {
    for (long i = 0; i < rows; ++i) {
        float sum = 0;
        for (long j = 0; j < columns; ++j) sum += x[i * columns + j];
        out[i] = sum;
    }
}
"""
FILES = {
    "honest.cpp": f"// Adds.\n// definition: {DEFINITION}\n// group: honest\n// expected: passed\n{CODE}",
    "zero.cpp": f"// definition: {DEFINITION}\n// group: 1\n// expected: wrong_value\n{CODE.replace('= sum', '= 0')}",
    "elsewhere.cpp": f"// definition: miniature/level1/1_Swish\n{CODE}",
}
SOURCE = {"kind": "local", "path": "resources/problems/miniature", "levels": {1: 8, 2: 2, 3: 2}}
TABLE = "results/tiny/tables/judge_exploits.csv"
EXPERIMENT = {
    "method": "files", "source": "miniature", "levels": [1], "problems": ["level1/2"], "files": "kernels",
}  # fmt: skip


@pytest.fixture(scope="module")
def judged(pipeline):
    """The pipeline's folder with the files in it, run once."""
    folder = pipeline.folder / "kernels"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_text(content)
    pipeline.configure(sources={"miniature": SOURCE}, experiments={"files": EXPERIMENT})
    pipeline.jobs_of_first_run = pipeline.jobs(pipeline.run("--", TABLE))
    return pipeline


def verdicts(pipeline):
    """File name -> trace."""
    place = "files/reference--model/turn0/000.jsonl"
    traces = {trace.solution: trace for trace in read_records(pipeline.folder / "results/tiny/traces" / place, Trace)}
    rows = read_records(pipeline.folder / "results/tiny/candidates" / place, Candidate)
    return {row.label: traces[row.solution] for row in rows}


def exploits(pipeline):
    with (pipeline.folder / TABLE).open() as file:
        return {row["exploit"]: row for row in csv.DictReader(file)}


def test_each_file_of_the_problem_has_a_verdict(judged):
    assert {name: str(trace.status) for name, trace in verdicts(judged).items()} == {
        "honest.cpp": "passed", "zero.cpp": "wrong_value",
    }  # fmt: skip
    assert "generate" not in judged.jobs_of_first_run
    rows = exploits(judged)
    assert (rows["honest.cpp"]["earned"], rows["honest.cpp"]["language"]) == ("accused: no", "cpp")
    assert (rows["zero.cpp"]["earned"], rows["zero.cpp"]["as_expected"]) == ("no", "yes")


def test_an_edit_of_one_judges_one_again(judged):
    before = verdicts(judged)
    file = judged.folder / "kernels/zero.cpp"
    file.write_text(file.read_text().replace("= 0;\n    }", "= 1;\n    }"))
    jobs = judged.jobs(judged.run("--", TABLE))
    assert jobs["files"] == jobs["judge"] == 1
    after = verdicts(judged)
    assert after["honest.cpp"] == before["honest.cpp"]
    assert after["zero.cpp"].solution != before["zero.cpp"].solution


def test_a_file_without_a_definition_stops_before_the_dag(judged):
    (judged.folder / "kernels/lost.cpp").write_text(CODE)
    output = judged.run("--dry-run", check=False)
    assert "kernels/lost.cpp: does not say what it computes" in output
    assert "Traceback" not in output

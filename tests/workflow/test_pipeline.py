"""The whole DAG for real, and what a change makes run again. The tests of this file build on one another."""

import csv
import json
import shutil
from collections import Counter
from dataclasses import replace

from hone.core.files import read_records
from hone.records import Candidate, Status, Trace

TABLES = ("--", "results/tiny/tables/llm_cost.csv")
"""The target of runs whose figures nobody looks at: all tables, which are made together."""


def table(pipeline, name):
    with (pipeline.folder / f"results/tiny/tables/{name}.csv").open() as file:
        return list(csv.DictReader(file))


def traces(pipeline, experiment):
    files = sorted(pipeline.folder.glob(f"results/tiny/traces/{experiment}/*/turn*/*.jsonl"))
    return [trace for file in files for trace in read_records(file, Trace)]


def test_one_command_makes_everything(pipeline):
    jobs = pipeline.jobs(pipeline.run())
    assert jobs["generate"] == 3  # one shot, and two turns
    assert jobs["judge"] == 4
    assert (pipeline.folder / "results/tiny/summary.md").is_file()
    assert all(trace.status is Status.PASSED for trace in traces(pipeline, "gold"))
    assert Counter(trace.status for trace in traces(pipeline, "one")) == {
        Status.PASSED: 1, Status.COMPILE_ERROR: 1, Status.WRONG_VALUE: 1,
    }  # fmt: skip


def test_an_answer_without_code_stays_in_the_denominator(pipeline):
    rows = read_records(pipeline.folder / "results/tiny/candidates/one/recorded--tiny/turn0/000.jsonl", Candidate)
    assert [row.problem for row in rows if row.solution is None] == ["no code block defines launch"]
    zero = [row for row in table(pipeline, "kernelbench_fast_p") if row["experiment"] == "one" and row["p"] == "0.0"]
    assert {row["n"] for row in zero if row["level"] == "1"} == {"2"}
    # One of two problems, and half of its samples.
    assert {float(row["fast_p"]) for row in zero if row["level"] == "1"} == {0.25}


def test_a_second_run_has_nothing_to_do(pipeline):
    output = pipeline.run()
    assert "Nothing to be done" in output
    assert "last made with" not in output


def test_every_entry_of_the_report_has_a_title_and_opens_there(pipeline):
    pipeline.run("--report", "report.html")
    text = (pipeline.folder / "report.html").read_text()
    entries = json.JSONDecoder().raw_decode(text, text.index('{"results/'))[0]
    assert {"kernelbench_fast_p.html", "kernelbench_fast_p.csv", "kernelbench_table_1.html", "summary.html"} <= {
        x["name"] for x in entries.values()
    }
    assert not [path for path, entry in entries.items() if not entry["labels"]["title"]]
    assert {entry["mime_type"] for entry in entries.values()} == {"text/html", "text/csv"}
    assert "one_shot on 2 problems of tiny" in text


def test_another_config_has_a_folder_of_its_own(pipeline):
    shutil.copy(pipeline.folder / "tiny.yaml", pipeline.folder / "other.yaml")
    output = replace(pipeline, configs=("other.yaml",)).run("--dry-run")
    assert "last made with" not in output
    assert "results/other/tables" in output
    assert "results/tiny/" not in output


def test_another_config_under_the_same_name_is_warned_about(pipeline):
    output = replace(pipeline, configs=("other.yaml",)).run("--dry-run", "--config", "run=tiny")
    assert "results/tiny was last made with tiny.yaml; this is other.yaml" in output


def test_a_prompt_edit_that_gives_the_same_kernels_judges_nothing(pipeline):
    prompt = pipeline.folder / "config/prompts/one_shot/coder.md"
    prompt.write_text(prompt.read_text() + "Be quick.\n")
    jobs = pipeline.jobs(pipeline.run(*TABLES))
    assert jobs["render"] == 1
    assert jobs["generate"] == 1
    assert "build" not in jobs
    assert "judge" not in jobs
    assert "render_next" not in jobs
    (row,) = [row for row in table(pipeline, "llm_cost") if row["experiment"] == "one"]
    assert row["prompt_differs"] == "4"


def test_a_changed_kernel_is_judged_alone(pipeline):
    transcript = pipeline.folder / "recorded/tiny.jsonl"
    transcript.write_text(transcript.read_text().replace("3 * x[i]", "x[i] * 3"))
    before = {trace.solution: trace.judged_at for trace in traces(pipeline, "refine")}
    jobs = pipeline.jobs(pipeline.run(*TABLES))
    assert jobs["build"] == jobs["judge"] == 1
    after = {trace.solution: trace.judged_at for trace in traces(pipeline, "refine")}
    assert len(set(after) - set(before)) == 1
    assert all(after[key] == before[key] for key in set(after) & set(before))

"""The default config, end to end: what `make demo` runs, against what the README says that it prints."""

import csv
import re

import pytest

from hone.files import read_records
from hone.llm.recorded import RecordedAnswer
from hone.records import Candidate, Status, Trace
from tests.workflow.conftest import ROOT, Pipeline


@pytest.fixture(scope="module")
def miniature(tmp_path_factory):
    folder = tmp_path_factory.mktemp("miniature")
    for name in ("Snakefile", "workflow", "resources", "profiles", "config", "src"):
        (folder / name).symlink_to(ROOT / name)
    made = Pipeline(folder, ("config/config.yaml",))
    made.run()
    return made


def rows(pipeline, table):
    with (pipeline.folder / f"results/config/tables/{table}.csv").open() as file:
        return list(csv.DictReader(file))


def verdicts(pipeline, experiment):
    """(definition, turn, sample) -> status, `no_code` for answers without code."""
    found = {}
    results = pipeline.folder / "results/config"
    for file in results.glob(f"candidates/{experiment}/*/turn*/*.jsonl"):
        traces = results / "traces" / file.relative_to(results / "candidates")
        by_solution = {trace.solution: trace.status.value for trace in read_records(traces, Trace)}
        for row in read_records(file, Candidate):
            key = (row.definition, row.turn, row.sample)
            found[key] = by_solution[row.solution] if row.solution else "no_code"
    return found


def test_every_verdict_is_resolved(miniature):
    files = miniature.folder.glob("results/config/traces/**/*.jsonl")
    traces = [trace for file in files for trace in read_records(file, Trace)]
    assert [trace.detail for trace in traces if not trace.status.resolved] == []


def test_every_reference_passes_as_its_own_candidate(miniature):
    gold = rows(miniature, "judge_gold")
    assert len(gold) == 12
    assert {row["status"] for row in gold} == {"passed"}


@pytest.mark.parametrize(("transcript", "experiment"), [("miniature", "sampling"), ("miniature_refine", "refine_gep")])
def test_every_planted_flaw_is_found(miniature, transcript, experiment):
    expected = {
        "wrong values": "wrong_value", "does not compile": "compile_error", "writes to its input": "input_changed",
        "allocates 200 GB": "out_of_memory", "writes out of bounds": "runtime_error", "never ends": "timeout",
        "no code": "no_code", "cut off": "no_code", "slow": "passed",
    }  # fmt: skip
    found = verdicts(miniature, experiment)
    planted = [
        row for row in read_records(ROOT / f"resources/recorded/{transcript}.jsonl", RecordedAnswer) if row.planted
    ]
    assert len(planted) >= 10
    for row in planted:
        assert found[row.definition, row.turn, row.sample] == expected[row.planted.split(":")[0]], row.planted


def test_the_recorded_first_prompts_are_todays(miniature):
    """Later turns quote measured times and so differ on every machine; after a prompt edit, record anew."""
    differs = {row["experiment"]: int(row["prompt_differs"]) for row in rows(miniature, "llm_cost")}
    assert (differs["one_shot"], differs["sampling"]) == (0, 0)
    assert differs["refine_gep"] <= 48


def test_wrong_slow_and_broken_answers_are_all_there(miniature):
    wrong = {"compile_error", "wrong_value", "runtime_error", "timeout", "out_of_memory", "input_changed", "no_code"}
    assert set(verdicts(miniature, "sampling").values()) == {"passed", *wrong}


def test_refinement_never_loses_what_it_had(miniature):
    curves = {}
    for row in rows(miniature, "kernelbench_refinement"):
        key = (row["experiment"], row["model"], row["level"], row["p"], row["subset"], row["baseline"])
        curves.setdefault(key, []).append((int(row["turn"]), float(row["fast_p"])))
    assert curves
    for curve in curves.values():
        values = [value for _, value in sorted(curve)]
        assert len(values) == 5
        assert values == sorted(values)


def test_the_readme_shows_what_is_printed(miniature):
    """Its rows of level 1. Speed differs between machines; experiments, denominators and correctness do not."""
    table = {
        (row["experiment"], row["level"]): (row["n"], round(100 * float(row["fast_p"])))
        for row in rows(miniature, "kernelbench_fast_p")
        if row["subset"] == "all" and float(row["p"]) == 0.0 and row["level"] == "1"
    }
    shown = re.findall(r"^(\w+) +recorded/\w+ +(\w+) +(\d+) +(\d+)% \(", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert {(name, level): (n, int(share)) for name, level, n, share in shown} == table


NOTICES = {"llm_cost": "only transcripts without token counts", "salient_scaling": "one number of processes alone"}
"""Figures of the miniature in which there is nothing to see, and what they say instead."""


def test_every_figure_is_drawn(miniature):
    for file in sorted((ROOT / "workflow/rules").glob("paper.smk")):
        names = re.search(r"FIGURES = \[(.*?)\]", file.read_text(), re.DOTALL).group(1)
        for name in re.findall(r'"(\w+)"', names):
            content = (miniature.folder / f"results/config/figures/{name}.svg").read_text()
            assert "<svg" in content
            assert "no rows" not in content
            assert {key for key, said in NOTICES.items() if said in content} == NOTICES.keys() & {name}


def test_a_second_run_has_nothing_to_do(miniature):
    assert "Nothing to be done" in miniature.run()


def test_the_report_is_one_page_with_the_tables(miniature):
    miniature.run("--report", "results/report.html")
    page = (miniature.folder / "results/report.html").read_text()
    assert "kernelbench_fast_p" in page
    assert Status.PASSED.value in page

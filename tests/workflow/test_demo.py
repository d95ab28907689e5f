"""The default config, end to end: what `make demo` runs, against what the README says that it prints."""

import re

import pytest

from hone.records import Status
from hone.tables.registry import FIGURES
from tests.workflow.conftest import ROOT
from tests.workflow.whole import refinement_curves, results_of, rows, run_whole, unresolved, verdicts

pytestmark = pytest.mark.slow  # the whole demo


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return run_whole(tmp_path_factory.mktemp("demo"), "config/config.yaml")


def test_every_verdict_is_resolved(demo):
    assert unresolved(demo) == []


def test_every_reference_passes_as_its_own_candidate(demo):
    gold = rows(demo, "judge_gold")
    assert len(gold) == 5
    assert {row["status"] for row in gold} == {"passed"}


def test_it_shows_several_kinds_of_wrong_answers(demo):
    wrong = {"compile_error", "wrong_value", "input_changed", "no_code"}
    assert set(verdicts(demo, "one_shot").values()) == {"passed", *wrong}


def test_refinement_never_loses_what_it_had(demo):
    curves = refinement_curves(demo)
    assert {len(curve) for curve in curves} == {3}
    assert all(curve == sorted(curve) for curve in curves)


def test_the_readme_shows_what_is_printed(demo):
    """Its rows of level 1. Speed differs between machines; experiments, denominators and correctness do not."""
    table = {
        (row["experiment"], row["level"]): (row["n"], round(100 * float(row["fast_p"])))
        for row in rows(demo, "kernelbench_fast_p")
        if row["subset"] == "all" and float(row["p"]) == 0.0 and row["level"] == "1"
    }
    shown = re.findall(r"^(\w+) +recorded/\w+ +(\w+) +(\d+) +(\d+)% \(", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert {(name, level): (n, int(share)) for name, level, n, share in shown} == table


NOTHING_TO_SEE = {"llm_cost", "salient_scaling", "published_speedups"}
"""Figures that the demo has no rows for: nothing was paid for, one process trained alone, nobody has claimed a time."""


def test_every_figure_is_drawn(demo):
    """That of selected kernels only where one of them beat the builtin, by times that were measured."""
    drawn = {file.stem: file.read_text() for file in (results_of(demo) / "figures").glob("*.svg")}
    assert drawn.keys() | {"gnn_kernels"} == FIGURES.keys() - NOTHING_TO_SEE
    assert all("<svg" in content for content in drawn.values())


def test_the_explorer_has_a_page_for_each_candidate(demo):
    site, records = results_of(demo) / "site", results_of(demo) / "candidates"
    candidates = sum(len(file.read_text().splitlines()) for file in records.rglob("*.jsonl"))
    assert len(list((site / "data/answers").iterdir())) == candidates
    assert (site / "index.html").is_file()


def test_a_second_run_has_nothing_to_do(demo):
    assert "Nothing to be done" in demo.run()


def test_the_report_is_one_page_with_the_tables(demo):
    demo.run("--report", "results/report.html")
    page = (demo.folder / "results/report.html").read_text()
    assert "kernelbench_fast_p" in page
    assert Status.PASSED.value in page
